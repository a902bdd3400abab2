// SPDX-License-Identifier: Apache-2.0

package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is the rules about conversations over a real store with real neighbours.
type world struct{ *imtest.World }

func onBothEngines(t *testing.T, test func(*testing.T, *world)) {
	t.Run("SQLite", func(t *testing.T) { test(t, &world{imtest.New(t, storetest.SQLite(t), imtest.Changes{})}) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, &world{imtest.New(t, storetest.PostgreSQL(t), imtest.Changes{})}) })
}

// state shows the read dates of users and of groups as seconds after noon.
func (w *world) state(owners, groups []int64) string {
	w.T.Helper()
	private, found, err := w.Conversations.Find(w.T.Context(), conversation.Selection{OwnerIDs: owners, GroupIDs: groups})
	if err != nil {
		w.T.Fatal(err)
	}
	text := ""
	for _, c := range private {
		text += fmt.Sprintf("%d<%d:%v ", c.OwnerID, c.TargetID, c.ReadDate.Sub(imtest.Noon).Seconds())
	}
	for _, c := range found {
		for member := range int64(10) {
			if date, has := c.ReadDates[member]; has {
				text += fmt.Sprintf("%d:%v ", member, date.Sub(imtest.Noon).Seconds())
			}
		}
	}
	return text
}

func (w *world) want(owners, groups []int64, want string) {
	w.T.Helper()
	if got := w.state(owners, groups); got != want {
		w.T.Errorf("read %q, want %q", got, want)
	}
}

func (w *world) ago(seconds int) *time.Time {
	return new(w.Now.Add(-time.Duration(seconds) * time.Second))
}

func key(owner, target int64) store.PrivateConversationKey {
	return store.PrivateConversationKey{OwnerID: owner, TargetID: target}
}

func member(groupID, userID int64) store.GroupUserKey {
	return store.GroupUserKey{GroupID: groupID, UserID: userID}
}

func TestSetReadDate(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		set := func(what string, private []store.PrivateConversationKey, members []store.GroupUserKey, date *time.Time, want apierr.Code) {
			t.Helper()
			w.WantCode(what, w.Conversations.SetReadDate(t.Context(), private, members, date), want)
		}
		owners, groups := []int64{1, 2}, []int64{5}
		set("nothing", nil, nil, nil, 0)
		set("several", []store.PrivateConversationKey{key(1, 2), key(2, 1), key(1, 2)}, []store.GroupUserKey{member(5, 2), member(5, 1), member(5, 2)}, w.ago(10), 0)
		w.want(owners, groups, "1<2:-10 2<1:-10 1:-10 2:-10 ")
		set("later", []store.PrivateConversationKey{key(1, 2)}, nil, w.ago(9), 0)
		set("the same", []store.PrivateConversationKey{key(1, 2)}, nil, w.ago(9), apierr.MovingReadDateForwardIsDisabled)
		set("one of them earlier", []store.PrivateConversationKey{key(1, 3), key(1, 2), key(2, 1)}, []store.GroupUserKey{member(5, 1)}, w.ago(9), apierr.MovingReadDateForwardIsDisabled)
		w.want(owners, groups, "1<2:-9 2<1:-10 1:-10 2:-10 ")
		set("a member earlier", nil, []store.GroupUserKey{member(5, 1)}, w.ago(20), 0)
		set("in the future", nil, []store.GroupUserKey{member(5, 1)}, w.ago(-1), apierr.IllegalArgument)
		set("now", []store.PrivateConversationKey{key(1, 2)}, []store.GroupUserKey{member(5, 2)}, nil, 0)
		set("now again", []store.PrivateConversationKey{key(1, 2)}, nil, nil, 0)
		w.want(owners, groups, "1<2:0 2<1:-10 1:-20 2:0 ")
		w.Rules.Conversation.ReadReceipt.AllowMoveReadDateForward = true
		set("earlier where it is allowed", []store.PrivateConversationKey{key(1, 2)}, nil, w.ago(30), 0)
		w.want(owners, groups, "1<2:-30 2<1:-10 1:-20 2:0 ")

		delete := func(s conversation.Selection, want int64) {
			t.Helper()
			if n, err := w.Conversations.Delete(t.Context(), s); err != nil || n != want {
				t.Errorf("deleted %d, want %d: %v", n, want, err)
			}
		}
		delete(conversation.Selection{}, 0)
		delete(conversation.Selection{PrivateKeys: []store.PrivateConversationKey{key(1, 2), key(9, 9)}, OwnerIDs: []int64{1}, GroupIDs: []int64{5, 6}}, 2)
		w.want(owners, groups, "2<1:-10 ")
	})
}

// TestReading checks which read dates users may set.
func TestReading(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return store.InsertMessages(ctx, tx, store.Message{ID: 1, SenderID: 2, TargetID: 1, DeliveryDate: w.Now}, store.Message{ID: 2, SenderID: 3, TargetID: 1, IsGroupMessage: true, DeliveryDate: w.Now})
		})
		if err != nil {
			t.Fatal(err)
		}
		g, err := w.Groups.Create(t.Context(), group.Creation{CreatorID: 1})
		if err != nil {
			t.Fatal(err)
		}
		read := func(what string, userID, peerID int64, said *time.Time, done bool, want apierr.Code) {
			t.Helper()
			got, _, err := w.Conversations.ReadPrivate(t.Context(), userID, peerID, *said)
			if w.WantCode(what, err, want); got != done {
				t.Errorf("%s: done %v", what, got)
			}
		}
		readGroup := func(what string, userID, groupID int64, said *time.Time, want apierr.Code) {
			t.Helper()
			_, err := w.Conversations.ReadGroup(t.Context(), userID, groupID, *said)
			w.WantCode(what, err, want)
		}
		read("the server's time", 1, 2, w.ago(99), true, 0)
		read("the server's time again", 1, 2, w.ago(99), true, 0)
		read("of somebody who never wrote", 1, 3, w.ago(0), false, 0)
		read("of somebody who only wrote to groups", 1, 3, w.ago(0), false, 0)
		readGroup("the owner", 1, g.ID, w.ago(99), 0)
		w.want([]int64{1}, []int64{g.ID}, "1<2:0 1:0 ")
		w.Rules.Conversation.ReadReceipt.UseServerTime = false
		w.Now = w.Now.Add(10 * time.Second)
		read("the user's time", 1, 2, w.ago(4), true, 0)
		read("earlier", 1, 2, w.ago(5), false, apierr.MovingReadDateForwardIsDisabled)
		read("in the future", 1, 2, w.ago(-1), false, apierr.IllegalArgument)
		readGroup("the user's time", 1, g.ID, w.ago(3), 0)
		readGroup("earlier", 1, g.ID, w.ago(4), apierr.MovingReadDateForwardIsDisabled)
		readGroup("no member", 2, g.ID, w.ago(0), apierr.NotGroupMemberToUpdateReadDateOfGroupConversation)
		readGroup("no group", 1, 99, w.ago(0), apierr.UpdatingReadDateOfNonexistentGroupConversation)
		w.Rules.Conversation.ReadReceipt.AllowMoveReadDateForward = true
		read("earlier where it is allowed", 1, 2, w.ago(5), true, 0)
		w.want([]int64{1}, []int64{g.ID}, "1<2:5 1:7 ")
		if _, err := w.Groups.Types.Update(t.Context(), []int64{0}, store.GroupTypeChange{EnableReadReceipt: new(false)}); err != nil {
			t.Fatal(err)
		}
		readGroup("a type without receipts", 1, g.ID, w.ago(0), apierr.UpdatingReadDateIsDisabledByGroup)
		w.Rules.Conversation.ReadReceipt.Enabled = false
		read("switched off", 1, 2, w.ago(0), false, apierr.UpdatingReadDateIsDisabled)
		readGroup("switched off", 1, g.ID, w.ago(0), apierr.UpdatingReadDateIsDisabled)
	})
}

func TestMayType(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.Relate(1, 2, false)
		w.Relate(1, 3, true)
		g := w.Group(1)
		mayType := func(what string, userID int64, isGroup bool, target int64, want apierr.Code) {
			t.Helper()
			w.WantCode(what, w.Conversations.MayType(t.Context(), userID, isGroup, target), want)
		}
		mayType("to a friend", 2, false, 1, 0)
		mayType("to somebody who blocks", 3, false, 1, apierr.NotFriendToSendTypingStatus)
		mayType("to a stranger", 1, false, 2, apierr.NotFriendToSendTypingStatus)
		mayType("to one's group", 1, true, g, 0)
		mayType("to another group", 2, true, g, apierr.NotGroupMemberToSendTypingStatus)
		w.Rules.Conversation.TypingStatus.Enabled = false
		mayType("switched off", 2, false, 1, apierr.UpdatingTypingStatusIsDisabled)
	})
}

// TestConcurrency proves that the latest of many dates wins, that every refused date is earlier,
// and that callers with many keys do not block each other.
func TestConcurrency(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		const writers = 8
		keys := []store.PrivateConversationKey{key(1, 2), key(2, 1), key(3, 1), key(4, 1)}
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				own := append(keys[i%4:len(keys):len(keys)], keys[:i%4]...)
				for n := range 10 {
					err := w.Conversations.SetReadDate(t.Context(), own, []store.GroupUserKey{member(1, int64(i))}, w.ago(1000-n*writers-i))
					if e, ok := errors.AsType[*apierr.Error](err); err != nil && (!ok || e.Code != apierr.MovingReadDateForwardIsDisabled) {
						t.Errorf("set a read date: %v", err)
					}
				}
			})
		}
		all.Wait()
		w.want([]int64{1, 2, 3, 4}, nil, "1<2:-921 2<1:-921 3<1:-921 4<1:-921 ")
	})
}
