// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"context"
	"errors"
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

// TestSendTogether sends messages concurrently, some of which are refused or cannot be stored: each
// has its own outcome.
func TestSendTogether(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.elsewhere, w.Rules.Message.AllowSendMessagesToOneself = true, false
		const senders = 90
		failures := make([]error, senders)
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() {
				c := message.Creation{SenderID: new(int64(i + 1)), TargetID: 1000, Text: new("hello")}
				switch i % 3 {
				case 1:
					c.TargetID = *c.SenderID
				case 2:
					c.Text = new("a\x00b")
				}
				_, failures[i] = w.Messages.Send(t.Context(), c)
			})
		}
		wg.Wait()
		for i, err := range failures {
			refused := err != nil && apierr.From(err).Code == apierr.SendingMessagesToOneselfIsDisabled
			if (err == nil) != (i%3 == 0) || refused != (i%3 == 1) {
				t.Errorf("message %d: the outcome is %v", i, err)
			}
		}
		found, err := w.Messages.Find(t.Context(), store.MessageFilter{}, store.MessagesByID, 2*senders, 0)
		if err != nil || len(found) != senders/3 {
			t.Errorf("%d messages are stored, want %d: %v", len(found), senders/3, err)
		}
	})
}

// TestStopWaitsForBatches proves that Stop waits for the current batches, within its limit, and
// that later messages are stored.
func TestStopWaitsForBatches(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t)) // It has one writer, which the test blocks.
	w.elsewhere = true
	send := func() error {
		_, err := w.Messages.Send(t.Context(), message.Creation{SenderID: new(int64(1)), TargetID: 2, Text: new("hello")})
		return err
	}
	stored := make(chan error, 1)
	err := w.DB.Write(t.Context(), func(context.Context, store.Tx) error {
		go func() { stored <- send() }()
		for !w.Messages.Storing() {
			time.Sleep(time.Millisecond)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Messages.Stop(over); !errors.Is(err, context.Canceled) {
			t.Errorf("stopping ended with %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Messages.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if w.Messages.Storing() {
		t.Error("something is stored after the end")
	}
	if err := <-stored; err != nil {
		t.Error(err)
	}
	if err := send(); err != nil {
		t.Error(err)
	}
	if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != 2 {
		t.Errorf("%d messages are stored: %v", n, err)
	}
}

// TestHotGroup has many members write to one group with sequence numbers: each number is assigned
// once, and hardly any transaction is retried.
func TestHotGroup(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.Rules.Message.SequenceID.UseSequenceIDForGroupConversation = true
		const members, each = 16, 20
		userIDs := make([]int64, members)
		for i := range userIDs {
			userIDs[i] = int64(i + 1)
		}
		w.People(userIDs...)
		g := w.Group(1, userIDs[1:]...)
		before := w.DB.Stats()
		var numbers [members*each + 1]atomic.Int64
		var wg sync.WaitGroup
		for _, id := range userIDs {
			wg.Go(func() {
				for range each {
					m, err := w.Messages.Send(t.Context(), toGroup(id, g, "x"))
					if err != nil {
						t.Error(err)
						return
					}
					numbers[*m.SequenceID].Add(1)
				}
			})
		}
		wg.Wait()
		for n := 1; n <= members*each; n++ {
			if times := numbers[n].Load(); times != 1 {
				t.Errorf("%d messages have number %d", times, n)
			}
		}
		if retries := w.DB.Stats().Retries - before.Retries; retries > members*each/10 {
			t.Errorf("%d transactions were repeated for %d messages", retries, members*each)
		}
	})
}

// TestSlowTransaction holds up the transaction of a message: those of other conversations do not
// wait for it, and the next one of its conversation does.
func TestSlowTransaction(t *testing.T) {
	w := newWorld(t, storetest.Open(t, store.Options{URL: storetest.MigratedURL(t), Timeout: time.Minute, LockTimeout: time.Minute}))
	w.elsewhere = true
	held, release := make(chan struct{}), make(chan struct{})
	holder := make(chan error, 1)
	go func() {
		holder <- w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			err := conversation.NotePrivate(ctx, tx, w.Now, store.PrivateConversationKey{OwnerID: 1, TargetID: 2})
			close(held)
			<-release
			return err
		})
	}()
	<-held
	send := func(sender, target int64) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := w.Messages.Send(t.Context(), message.Creation{SenderID: &sender, TargetID: target, Text: new("hello")})
			done <- err
		}()
		return done
	}
	first := send(1, 2)
	for !w.Messages.Storing() {
		time.Sleep(time.Millisecond)
	}
	second := send(2, 1)
	for sender := int64(3); sender < 10; sender++ {
		if err := <-send(sender, 2); err != nil {
			t.Errorf("a message of another conversation: %v", err)
		}
	}
	select {
	case err := <-first:
		t.Errorf("the message was stored although its row is locked: %v", err)
	case err := <-second:
		t.Errorf("the next message of the conversation was stored before it: %v", err)
	default:
	}
	close(release)
	for _, done := range []<-chan error{holder, first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
