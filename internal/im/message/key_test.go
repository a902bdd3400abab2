// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestKey sends requests more than once: each makes one message.
func TestKey(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		w.Rules.Message.AllowSendMessagesToOneself = true
		creation := func(key string) message.Creation {
			return message.Creation{
				SenderID: new(int64(1)), TargetID: 2, Text: new(key), Records: [][]byte{{1}}, Deliver: true,
				Key: &message.Key{Value: []byte(key), Lifetime: time.Hour},
			}
		}
		send := func(c message.Creation) store.Message {
			t.Helper()
			m, err := w.Messages.Send(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		stored := func(want int64) {
			t.Helper()
			if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != want {
				t.Errorf("%d messages are stored, want %d: %v", n, want, err)
			}
		}
		delivered := func(want int) {
			t.Helper()
			if len(w.delivered) != want {
				t.Errorf("%d messages were delivered, want %d", len(w.delivered), want)
			}
		}
		first := send(creation("a"))
		if again := send(creation("a")); again.ID != first.ID || !again.DeliveryDate.Equal(first.DeliveryDate) {
			t.Errorf("sent again, the message is %+v, want %+v", again, first)
		}
		stored(1)
		delivered(1)
		if w.sent != 1 {
			t.Errorf("%d messages count as sent", w.sent)
		}
		repeated := creation("a")
		repeated.Key.Repeated = true
		if again := send(repeated); again.ID != first.ID || len(again.Records) != 1 {
			t.Errorf("repeated, the message is %+v", again)
		}
		stored(1)
		delivered(1)
		// Another process does not know whether the one that stored it delivered it.
		if again, err := message.New(w.options).Send(t.Context(), repeated); err != nil || again.ID != first.ID {
			t.Errorf("repeated elsewhere, the message is %+v, %v", again, err)
		}
		stored(1)
		delivered(2)
		if m := w.delivered[1].Message; m.ID != first.ID || len(m.Records) != 1 {
			t.Errorf("delivered again: %+v", m)
		}

		other := creation("a")
		other.TargetID = 3
		if _, err := w.Messages.Send(t.Context(), other); apierr.From(err).Code != apierr.IllegalArgument {
			t.Errorf("the key of another conversation: %v", err)
		}
		// The same keys of another sender are different keys.
		other.SenderID = new(int64(2))
		send(other)
		stored(2)

		// Some of the concurrent ones have the same key.
		var group sync.WaitGroup
		ids := make([]int64, 40)
		for i := range ids {
			group.Go(func() {
				m, err := w.Messages.Send(t.Context(), creation(string(rune('b'+i%10))))
				if err != nil {
					t.Error(err)
				}
				ids[i] = m.ID
			})
		}
		group.Wait()
		for i, id := range ids {
			if id != ids[i%10] {
				t.Errorf("message %d is %d, want %d", i, id, ids[i%10])
			}
		}
		stored(12)

		forwarded := creation("forward")
		forwarded.ReferenceID = &first.ID
		if a, b := send(forwarded), send(forwarded); a.ID != b.ID || *b.Text != "a" {
			t.Errorf("forwarded twice, the messages are %+v and %+v", a, b)
		}
		stored(13)
		refused := creation("refused")
		refused.TargetID = 99
		for range 2 {
			if _, err := w.Messages.Send(t.Context(), refused); apierr.From(err).Code != apierr.MessageRecipientNotActive {
				t.Errorf("a refused message: %v", err)
			}
		}

		w.Now = w.Now.Add(time.Hour)
		if n, err := w.Messages.DeleteExpiredKeys(t.Context(), w.DB); n != 0 || err != nil {
			t.Errorf("%d keys expired early: %v", n, err)
		}
		w.Now = w.Now.Add(time.Millisecond)
		if n, err := w.Messages.DeleteExpiredKeys(t.Context(), w.DB); n != 13 || err != nil {
			t.Errorf("%d keys expired: %v", n, err)
		}
		if later := send(creation("a")); later.ID == first.ID {
			t.Error("a key is remembered for too long")
		}
		stored(14)

		w.Rules.Message.PersistMessage = false
		a, b := send(creation("unkept")), send(creation("unkept"))
		if a.ID != b.ID {
			t.Errorf("messages that are not kept are %d and %d", a.ID, b.ID)
		}
		stored(14)
	})
}

// TestRepeatedWhileStored repeats a request whose first attempt is still being stored by an
// unresponsive service: the sender does not get an error while the outcome is unknown.
func TestRepeatedWhileStored(t *testing.T) {
	url := storetest.MigratedURL(t)
	w := newWorld(t, storetest.Open(t, store.Options{URL: url, Timeout: time.Minute, LockTimeout: time.Minute}))
	w.People(1, 2)
	first := store.Message{ID: 77, SenderID: 1, TargetID: 2, Text: new("once"), DeliveryDate: w.Now}
	key := []byte("key")
	stored, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			err := store.InsertMessages(ctx, tx, first)
			if err == nil {
				err = store.InsertMessageKey(ctx, tx, store.MessageKey{SenderID: 1, Key: key, MessageID: first.ID, ExpiryDate: w.Now.Add(time.Hour)})
			}
			close(stored)
			<-release
			return err
		})
	}()
	<-stored

	// The other service waits for the first transaction until its own times out. It reads the clock
	// in each attempt.
	other := w.options
	other.Store = storetest.Open(t, store.Options{URL: url, Timeout: 200 * time.Millisecond, LockTimeout: time.Minute})
	var times atomic.Int64
	other.Clock = func() time.Time {
		if times.Add(1) == 20 {
			close(release)
		}
		return w.Now
	}
	again, err := message.New(other).Send(t.Context(), message.Creation{
		SenderID: new(int64(1)), TargetID: 2, Text: new("once"), Key: &message.Key{Value: key, Lifetime: time.Hour, Repeated: true},
	})
	if err != nil || again.ID != first.ID {
		t.Errorf("repeated, the message is %+v, %v", again, err)
		close(release)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != 1 {
		t.Errorf("%d messages are stored: %v", n, err)
	}
}

// TestStoredElsewhereMeanwhile sends two messages. Another service concurrently stores the first
// with a greater id: the second is still ordered after it.
func TestStoredElsewhereMeanwhile(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		var turns message.Turns
		creation := func(text string) message.Creation {
			return message.Creation{
				SenderID: new(int64(1)), TargetID: 2, Text: &text, Turn: turns.Take(1),
				Key: &message.Key{Value: []byte(text), Lifetime: time.Hour},
			}
		}
		// The other service has the transaction until both messages have their ids here.
		var group sync.WaitGroup
		var sent [2]store.Message
		var elsewhere store.Message
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			if w.DB.Engine() == store.PostgreSQL {
				if err := storetest.Exec(ctx, tx, "LOCK TABLE message_key IN EXCLUSIVE MODE"); err != nil {
					return err
				}
			}
			for i, text := range []string{"one", "two"} {
				c := creation(text)
				group.Go(func() {
					defer c.Turn.End()
					var err error
					if sent[i], err = w.Messages.Send(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
			}
			last := turns.Take(1)
			defer last.End()
			if err := last.Enter(ctx); err != nil {
				return err
			}
			elsewhere = store.Message{ID: w.IDs.Next(), SenderID: 1, TargetID: 2, Text: new("one"), DeliveryDate: w.Now.Add(time.Second)}
			keys := []store.MessageKey{{SenderID: 1, Key: []byte("one"), MessageID: elsewhere.ID, ExpiryDate: w.Now.Add(time.Hour)}}
			return store.SaveMessages(ctx, tx, []store.Message{elsewhere}, store.ReadDates{}, keys)
		})
		if err != nil {
			t.Fatal(err)
		}
		group.Wait()
		if sent[0].ID != elsewhere.ID || sent[1].ID < elsewhere.ID || sent[1].DeliveryDate.Before(elsewhere.DeliveryDate) {
			t.Errorf("the other service stored %d at %v; here the messages are %d and %d at %v",
				elsewhere.ID, elsewhere.DeliveryDate, sent[0].ID, sent[1].ID, sent[1].DeliveryDate)
		}
	})
}
