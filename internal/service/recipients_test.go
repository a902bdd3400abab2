// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// sendAndFail sends a message to a group of 1, 2 and 3 whose members cannot be read when it is
// delivered. repair ends that.
func (w *world) sendAndFail() (repair func()) {
	w.T.Helper()
	w.crowd(1, 2, 3)
	groupID := w.Group(1, 2, 3)
	send := func() {
		if a := w.request(1, &wire.CreateMessageRequest{GroupId: &groupID, Text: proto.String("hi")}); a.Code != apierr.OK {
			w.T.Errorf("a message is answered with %v", a.Code)
		}
	}
	w.notifier.Flush()
	// The first message keeps the lane busy until the store fails.
	reached, failed := make(chan struct{}), make(chan struct{})
	w.locating = sync.OnceFunc(func() {
		close(reached)
		<-failed
	})
	var senders sync.WaitGroup
	defer senders.Wait()
	senders.Go(send)
	<-reached
	senders.Go(send)
	w.eventually(func() bool { return w.notifier.Queued(groupID) == 1 })
	w.rename("group_version", "group_version_gone")
	close(failed)
	return func() { w.rename("group_version_gone", "group_version") }
}

// TestTransientNotifications lets the store fail before a typing status is delivered: nobody is
// disconnected because of that.
func TestTransientNotifications(t *testing.T) {
	w := newWorld(t)
	closed := w.disconnections()
	w.crowd(1, 2)
	groupID := w.Group(1, 2)
	reached, failed := make(chan struct{}), make(chan struct{})
	w.locating = sync.OnceFunc(func() {
		close(reached)
		<-failed
	})
	w.want(apierr.OK, 1, &wire.UpdateTypingStatusRequest{IsGroupMessage: true, ToId: groupID})
	<-reached // The first one keeps the lane busy.
	w.want(apierr.OK, 1, &wire.UpdateTypingStatusRequest{IsGroupMessage: true, ToId: groupID})
	w.rename("group_member", "group_member_gone")
	close(failed)
	w.notifier.Flush()
	w.rename("group_member_gone", "group_member")
	if list := w.received(session{"gateway1", 2, desktop}); len(list) != 1 {
		t.Errorf("%d notifications arrived, not 1", len(list))
	}
	w.want(apierr.OK, 1, &wire.CreateMessageRequest{GroupId: &groupID, Text: proto.String("hi")})
	w.notifier.Flush()
	if list := closed(); len(list) > 0 {
		t.Errorf("gateways were told to close %+v", list)
	}
}

func (w *world) rename(from, to string) {
	w.T.Helper()
	err := w.DB.Write(w.T.Context(), func(ctx context.Context, tx store.Tx) error {
		return storetest.Exec(ctx, tx, "ALTER TABLE "+from+" RENAME TO "+to)
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// TestRecipientsAreReadAgain lets the store fail for a moment between a message and its delivery:
// all members get it.
func TestRecipientsAreReadAgain(t *testing.T) {
	w := newWorld(t)
	repair := w.sendAndFail()
	time.Sleep(300 * time.Millisecond)
	repair()
	w.notifier.Flush()
	for _, s := range other(1, 2, 3) {
		if list := w.received(s); len(list) != 2 {
			t.Errorf("%v received %d messages, not 2", s, len(list))
		}
	}
}

// TestLostRecipients lets the store fail for so long that the lane does not wait for it: when the
// store is back, the members' sessions are closed, so that their clients query what they missed.
func TestLostRecipients(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	closed := w.disconnections()
	repair := w.sendAndFail()
	w.notifier.Flush() // The lane has given up.
	if list := closed(); len(list) != 0 {
		t.Errorf("before the members are known, gateways were told to close %+v", list)
	}
	repair()
	told := map[int64]int{}
	w.eventually(func() bool {
		for _, d := range closed() {
			for _, id := range d.UserIDs {
				told[id]++
				if id == 1 && slices.Contains(d.Devices, wire.DeviceType_DESKTOP) {
					t.Error("the session of the sender must be closed")
				}
			}
		}
		return told[1] >= 2 && told[2] >= 2 && told[3] >= 2
	})
}
