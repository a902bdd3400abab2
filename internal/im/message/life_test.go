// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestUpdateByAdministrators(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		m := w.send(private(1, 2, "x"))
		inGroup := w.send(toGroup(1, w.Group(1, 2), "y"))
		w.delivered, w.reached = nil, nil
		update := func(what string, c message.Change, matched, modified int64) {
			t.Helper()
			got, err := w.Messages.Update(t.Context(), []int64{m.ID, inGroup.ID, 99}, c)
			if want := (store.UpdateResult{Matched: matched, Modified: modified}); err != nil || got != want {
				t.Errorf("%s: %+v, want %+v: %v", what, got, want, err)
			}
		}
		update("nothing", message.Change{SenderID: new(int64(1)), SenderDevice: "IOS"}, 0, 0)
		update("a text", message.Change{Text: new("x")}, 2, 1)
		w.Now = w.Now.Add(time.Minute)
		update("all", message.Change{IsSystemMessage: new(false), Text: new("z"), Records: &[][]byte{{1}}, BurnAfter: new(int32(1)), SenderIP: new(netip.MustParseAddr("::1"))}, 2, 2)
		if got, _ := w.stored(m.ID); *got.Text != "z" || got.Records[0][0] != 1 || *got.BurnAfter != 1 || got.SenderIP != netip.MustParseAddr("::1") || !got.ModificationDate.Equal(w.Now) {
			t.Errorf("stored %+v", got)
		}
		if len(w.delivered) != 0 {
			t.Errorf("delivered %+v", w.delivered)
		}
		w.Now = w.Now.Add(time.Minute)
		update("recall", message.Change{RecallDate: &w.Now, SenderID: new(int64(1)), SenderDevice: "IOS"}, 2, 2)
		update("recall again", message.Change{RecallDate: &w.Now, Text: new("still")}, 2, 2)
		if len(w.delivered) != 2 {
			t.Fatalf("delivered %+v", w.delivered)
		}
		for _, d := range w.delivered {
			notice, exists := w.stored(d.Message.ID)
			of := m
			if notice.IsGroupMessage {
				of = inGroup
			}
			want := []byte{}
			for shift := 56; shift >= 0; shift -= 8 {
				want = append(want, byte(of.ID>>shift))
			}
			if !exists || !notice.IsSystemMessage || notice.SenderID != 1 || notice.TargetID != of.TargetID || d.SenderDevice != "IOS" ||
				len(notice.Records) != 2 || !slices.Equal(notice.Records[0], []byte{1}) || !slices.Equal(notice.Records[1], want) {
				t.Errorf("notice %+v of %d", notice, of.ID)
			}
		}
		if !slices.Equal(w.reached[0], []int64{2}) || !slices.Equal(w.reached[1], []int64{2}) {
			t.Errorf("reached %v", w.reached)
		}
		for name, c := range map[string]message.Change{
			"a long text": {Text: new(string(make([]byte, 501)))}, "a negative burn time": {BurnAfter: new(int32(-1))},
			"a future recall": {RecallDate: new(w.Now.Add(time.Second))}, "big records": {Records: &[][]byte{make([]byte, 15728641)}},
		} {
			_, err := w.Messages.Update(t.Context(), []int64{m.ID}, c)
			w.WantCode(name, err, apierr.IllegalArgument)
		}
	})
}

func TestUpdateBySenders(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		g := w.Group(1, 2, 3)
		m, inGroup := w.send(private(1, 2, "x")), w.send(toGroup(1, g, "x"))
		w.delivered, w.reached = nil, nil
		edit, recall := message.Edit{Text: new("y")}, message.Edit{RecallDate: &w.Now}
		update := func(what string, sender, id int64, e message.Edit, want apierr.Code) {
			t.Helper()
			w.WantCode(what, w.Messages.UpdateBySender(t.Context(), sender, "IOS", id, e), want)
		}
		update("edit", 1, m.ID, edit, 0)
		if got, _ := w.stored(m.ID); *got.Text != "y" || got.ModificationDate == nil {
			t.Errorf("stored %+v", got)
		}
		if d := w.delivered[0]; d.Event != message.Updated || *d.Message.Text != "y" || !slices.Equal(w.reached[0], []int64{2}) {
			t.Errorf("delivered %+v to %v", d, w.reached[0])
		}
		update("edit what another sent", 2, m.ID, edit, apierr.NotSenderToUpdateMessage)
		update("edit what is not there", 1, 99, edit, apierr.NotSenderToUpdateMessage)
		update("recall what another sent", 2, m.ID, recall, apierr.NotSenderToRecallMessage)
		update("recall what is not there", 1, 99, recall, apierr.NotSenderToRecallMessage)
		update("recall in the future", 1, m.ID, message.Edit{RecallDate: new(w.Now.Add(time.Hour))}, apierr.IllegalArgument)
		update("nothing", 1, m.ID, message.Edit{}, 0)
		w.Now = w.Now.Add(300 * time.Second)
		update("recall just in time", 1, m.ID, message.Edit{RecallDate: &w.Now}, 0)
		if last := w.delivered[len(w.delivered)-1]; !last.Message.IsSystemMessage || last.Message.SenderID != 1 {
			t.Errorf("delivered %+v", last)
		}
		update("edit in the group", 1, inGroup.ID, edit, 0)
		if last := w.reached[len(w.reached)-1]; !slices.Equal(last, []int64{2, 3}) {
			t.Errorf("reached %v", last)
		}
		w.Now = w.Now.Add(time.Millisecond)
		update("recall too late", 1, inGroup.ID, recall, apierr.MessageRecallTimeout)
		w.Rules.Message.AvailableRecallDurationSeconds = 3600
		if _, err := w.Groups.Types.Update(t.Context(), []int64{0}, store.GroupTypeChange{MessageEditable: new(false)}); err != nil {
			t.Fatal(err)
		}
		update("edit where it is not allowed", 1, inGroup.ID, edit, apierr.UpdatingGroupMessageBySenderIsDisabled)
		w.UpdateGroup(g, store.GroupChange{IsActive: new(false)})
		update("edit in an inactive group", 1, inGroup.ID, edit, apierr.UpdateMessageOfNonexistentGroup)
		update("recall in an inactive group", 1, inGroup.ID, recall, apierr.RecallMessageOfNonexistentGroup)
		w.Rules.Message.AllowEditMessageBySender, w.Rules.Message.AllowRecallMessage = false, false
		update("edit switched off", 1, m.ID, edit, apierr.UpdatingMessageBySenderIsDisabled)
		update("recall switched off", 1, m.ID, recall, apierr.RecallingMessageIsDisabled)
	})
}

func TestQueryByUsers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		g, other := w.Group(1, 2), w.Group(3)
		names := map[int64]string{}
		send := func(name string, c message.Creation) store.Message {
			w.Now = w.Now.Add(time.Second)
			m := w.send(c)
			names[m.ID] = name
			return m
		}
		send("1to2", private(1, 2, "x"))
		send("2to1", private(2, 1, "x"))
		recalled := send("recalled", private(3, 2, "x"))
		send("3to2", private(3, 2, "x"))
		deleted := send("deleted", private(1, 2, "x"))
		send("group", toGroup(1, g, "x"))
		send("other", toGroup(3, other, "x"))
		if _, err := w.Messages.Delete(t.Context(), []int64{deleted.ID}, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Messages.UpdateBySender(t.Context(), 3, "", recalled.ID, message.Edit{RecallDate: &w.Now}); err != nil {
			t.Fatal(err)
		}
		query := func(what string, userID int64, q message.Query, want ...string) {
			t.Helper()
			found, err := w.Messages.Query(t.Context(), userID, q)
			got := []string{}
			for _, m := range found {
				if !m.IsSystemMessage {
					got = append(got, names[m.ID])
				}
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v: %v", what, got, want, err)
			}
		}
		query("private", 2, message.Query{}, "1to2", "3to2")
		query("newest first", 2, message.Query{Descending: true, AreSystemMessages: new(false)}, "3to2", "1to2")
		query("from one", 2, message.Query{FromIDs: []int64{1}}, "1to2")
		query("one", 2, message.Query{MaxCount: new(int32(1)), AreSystemMessages: new(false)}, "1to2")
		query("by id", 2, message.Query{IDs: []int64{recalled.ID, deleted.ID}})
		query("of others", 1, message.Query{FromIDs: []int64{3}})
		query("joined groups", 2, message.Query{AreGroupMessages: true}, "group")
		query("no groups", 9, message.Query{AreGroupMessages: true})
		query("a group", 2, message.Query{AreGroupMessages: true, FromIDs: []int64{g}}, "group")
		_, err := w.Messages.Query(t.Context(), 2, message.Query{AreGroupMessages: true, FromIDs: []int64{g, other}})
		w.WantCode("a group of others", err, apierr.NotGroupMemberToQueryGroupMessages)
		w.Rules.Message.MaxAvailableMessagesNumberWithoutTotal = 1
		query("at most", 2, message.Query{MaxCount: new(int32(50)), AreSystemMessages: new(false)}, "1to2")
		w.Rules.Message.MaxAvailableMessagesNumberWithoutTotal = 1000
		w.Rules.Message.IsRecalledMessageVisible, w.Rules.Message.UseConversationID = true, true
		query("recalled ones", 2, message.Query{FromIDs: []int64{3}}, "recalled", "3to2")
		query("both directions", 2, message.Query{FromIDs: []int64{1}}, "1to2", "2to1")
		w.Rules.Message.UseConversationID = false

		parts, err := w.Messages.QueryWithTotal(t.Context(), 2, message.Query{MaxCount: new(int32(10)), AreSystemMessages: new(false)})
		if got := fmt.Sprint(len(parts), parts[0].FromID, parts[0].Total, len(parts[0].Messages), parts[1].FromID, parts[1].Total); err != nil || got != "2 1 1 1 3 2" {
			t.Errorf("parts %s: %v", got, err)
		}
		parts, err = w.Messages.QueryWithTotal(t.Context(), 2, message.Query{AreGroupMessages: true})
		if err != nil || len(parts) != 1 || parts[0].FromID != g || parts[0].Total != 1 {
			t.Errorf("parts %+v: %v", parts, err)
		}

		w.Rules.Conversation.ReadReceipt.UpdateReadDateWhenUserQueryingMessage = true
		w.Now = w.Now.Add(time.Hour)
		query("that reads", 2, message.Query{FromIDs: []int64{3}, AreSystemMessages: new(false)}, "recalled", "3to2")
		query("that reads a group", 2, message.Query{AreGroupMessages: true}, "group")
		got, groups, err := w.Conversations.Find(t.Context(), conversation.Selection{PrivateKeys: []store.PrivateConversationKey{{OwnerID: 2, TargetID: 3}}, GroupIDs: []int64{g}})
		if err != nil || len(got) != 1 || !got[0].ReadDate.Equal(w.Now) || !groups[0].ReadDates[2].Equal(w.Now) {
			t.Errorf("conversations %v %v: %v", got, groups, err)
		}
	})
}

func TestDeleteExpired(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		var old []store.Message
		for i := range int64(1203) {
			w.Now = w.Now.Add(time.Duration(i%2) * time.Second)
			old = append(old, store.Message{ID: i, SenderID: 1, TargetID: 2, DeliveryDate: w.Now})
		}
		if err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, old...) }); err != nil {
			t.Fatal(err)
		}
		w.Now = w.Now.Add(2 * time.Hour)
		young := w.send(private(1, 2, "x"))
		expire := func(want int64) {
			t.Helper()
			if n, err := w.Messages.DeleteExpired(t.Context(), w.DB); err != nil || n != want {
				t.Errorf("deleted %d, want %d: %v", n, want, err)
			}
		}
		expire(0)
		w.Rules.Message.MessageRetentionPeriodHours = math.MaxInt32
		expire(0)
		w.Rules.Message.MessageRetentionPeriodHours = 1
		var kept []int64
		w.before = func(list []store.Message) ([]store.Message, error) {
			if len(list) > 500 {
				t.Errorf("a batch of %d", len(list))
			}
			kept = append(kept, list[0].ID)
			return list[1:], nil
		}
		expire(1200)
		if n, err := w.Messages.Count(t.Context(), store.MessageFilter{IDs: append(kept, young.ID)}); err != nil || n != 4 {
			t.Errorf("left are %d: %v", n, err)
		}
		w.before = func([]store.Message) ([]store.Message, error) { return nil, errors.New("ask later") }
		if _, err := w.Messages.DeleteExpired(t.Context(), w.DB); err == nil {
			t.Error("an error is lost")
		}
		w.before = nil
		expire(3)
		expire(0)
	})
}

// TestCascades checks what is deleted with users and groups.
func TestCascades(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		w.Rules.Message.SequenceID.UseSequenceIDForGroupConversation, w.Rules.Message.SequenceID.UseSequenceIDForPrivateConversation = true, true
		g := w.Group(2, 1)
		for range 2 {
			w.send(private(1, 2, "x"))
			w.send(private(2, 1, "x"))
			w.send(toGroup(1, g, "x"))
			w.send(toGroup(2, g, "x"))
		}
		state := func() string {
			private, groups, err := w.Conversations.Find(t.Context(), conversation.Selection{OwnerIDs: []int64{1, 2}, GroupIDs: []int64{g}})
			if err != nil {
				t.Fatal(err)
			}
			n, err := w.Messages.Count(t.Context(), store.MessageFilter{})
			if err != nil {
				t.Fatal(err)
			}
			members := 0
			for _, c := range groups {
				members += len(c.ReadDates)
			}
			return fmt.Sprint(len(private), members, n)
		}
		if got := state(); got != "2 2 8" {
			t.Fatalf("before: %s", got)
		}
		if _, err := w.Users.Delete(t.Context(), []int64{1}, new(true)); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != "2 2 8" {
			t.Errorf("after a logical deletion: %s", got)
		}
		if _, err := w.Users.Delete(t.Context(), []int64{1}, new(false)); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != "1 1 8" {
			t.Errorf("after the deletion of a user: %s", got)
		}
		if _, err := w.Groups.Delete(t.Context(), []int64{g}, new(true)); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != "1 0 8" {
			t.Errorf("after the deletion of the group: %s", got)
		}
		w.People(1)
		if m := w.send(private(2, 1, "x")); *m.SequenceID != 1 {
			t.Errorf("the numbers go on with %d", *m.SequenceID)
		}
		system := toGroup(2, g, "x")
		system.IsSystemMessage = true
		if m := w.send(system); *m.SequenceID != 1 {
			t.Errorf("the numbers of the group go on with %d", *m.SequenceID)
		}
	})
}

func TestStatistics(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		g := w.Group(1, 2)
		start := w.Now
		for range 3 {
			w.send(private(1, 2, "x"))
		}
		w.send(private(2, 1, "x"))
		system := private(3, 1, "x")
		system.IsSystemMessage = true
		w.send(system)
		w.Now = w.Now.Add(time.Hour)
		end := w.Now
		w.send(toGroup(2, g, "x"))
		first, all := store.DateRange{Start: &start, End: &end}, store.DateRange{Start: &start}
		var got []int64
		for _, n := range []func() (int64, error){
			func() (int64, error) { return w.Messages.CountSenders(t.Context(), first) },
			func() (int64, error) { return w.Messages.CountSenders(t.Context(), store.DateRange{}) },
			func() (int64, error) { return w.Messages.CountAddressedGroups(t.Context(), first) },
			func() (int64, error) { return w.Messages.CountAddressedGroups(t.Context(), all) },
			func() (int64, error) { return w.Messages.Count(t.Context(), store.MessageFilter{DeliveryDate: first}) },
			func() (int64, error) {
				return w.Messages.CountOnAverage(t.Context(), store.MessageFilter{IsSystemMessage: new(false)})
			},
			func() (int64, error) {
				return w.Messages.CountOnAverage(t.Context(), store.MessageFilter{SenderIDs: []int64{9}})
			},
		} {
			number, err := n()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, number)
		}
		if want := []int64{2, 2, 0, 1, 5, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("numbers %v, want %v", got, want)
		}
	})
}

// TestConcurrency has many senders write to one group and recall one message.
func TestConcurrency(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		const writers, each = 8, 12
		w.People(1, 2)
		g := w.Group(1, 2)
		w.Rules.Message.SequenceID.UseSequenceIDForGroupConversation = true
		target := w.send(private(1, 2, "x"))
		var group sync.WaitGroup
		var duplicates atomic.Int32
		for i := range writers {
			group.Go(func() {
				for n := range each {
					if _, err := w.Messages.Send(t.Context(), toGroup(int64(1+i%2), g, "x")); err != nil {
						t.Errorf("send: %v", err)
					}
					c := private(1, 2, "x")
					c.ID = new(int64(n + 1))
					if _, err := w.Messages.Send(t.Context(), c); errors.Is(err, store.ErrDuplicateKey) {
						duplicates.Add(1)
					} else if err != nil {
						t.Errorf("send with an id: %v", err)
					}
				}
				if err := w.Messages.UpdateBySender(t.Context(), 1, "", target.ID, message.Edit{RecallDate: &w.Now}); err != nil {
					t.Errorf("recall: %v", err)
				}
			})
		}
		group.Wait()
		found, err := w.Messages.Find(t.Context(), store.MessageFilter{IsGroupMessage: new(true)}, store.MessagesByID, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int
		for _, m := range found {
			numbers = append(numbers, int(*m.SequenceID))
		}
		slices.Sort(numbers)
		for i, number := range numbers {
			if number != i+1 {
				t.Fatalf("the numbers are %v", numbers)
			}
		}
		notices, err := w.Messages.Count(t.Context(), store.MessageFilter{IsSystemMessage: new(true)})
		if err != nil || notices != 1 || len(numbers) != writers*each || duplicates.Load() != (writers-1)*each {
			t.Errorf("%d notices, %d numbers, %d duplicates: %v", notices, len(numbers), duplicates.Load(), err)
		}
	})
}

// TestWithoutOptions proves that the optional options are optional.
func TestWithoutOptions(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.People(1, 2)
	w.Messages = message.New(message.Options{Store: w.DB, Members: w.Groups.Members, Settings: w.options.Settings, ReadReceipts: w.options.ReadReceipts})
	c := private(1, 2, "x")
	c.ID = new(int64(1))
	w.send(c)
	if n, err := w.Messages.DeleteExpired(t.Context(), w.DB); n != 0 || err != nil {
		t.Error(n, err)
	}
}
