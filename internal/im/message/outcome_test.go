// SPDX-License-Identifier: Apache-2.0

//go:build unix

package message_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestUnknownOutcome breaks the database connection before or after the commit of messages: each is
// stored and delivered once, and its sender succeeds.
func TestUnknownOutcome(t *testing.T) {
	cutter := storetest.NewCutter(t, storetest.MigratedURL(t))
	w := newWorld(t, storetest.Open(t, store.Options{URL: cutter.URL(), Timeout: time.Minute, LockTimeout: time.Minute}))
	w.People(1, 2)
	stored, delivered := int64(0), 0
	for name, cut := range map[string]func(int32){"before": cutter.CutBefore, "after": cutter.CutAfter} {
		for _, keyed := range []bool{true, false} {
			for _, together := range []int{1, 8} {
				t.Run(fmt.Sprintf("%s the commit of %d, key %v", name, together, keyed), func(t *testing.T) {
					cut(1)
					var senders sync.WaitGroup
					for i := range together {
						senders.Go(func() {
							c := message.Creation{SenderID: new(int64(1)), TargetID: 2, Text: new(fmt.Sprintf("%s %d", t.Name(), i)), Deliver: true}
							if keyed {
								c.Key = &message.Key{Value: fmt.Appendf(nil, "%s %d", t.Name(), i), Lifetime: time.Hour}
							}
							m, err := w.Messages.Send(t.Context(), c)
							if err != nil {
								t.Errorf("the sender is told %v", err)
								return
							}
							found, err := w.Messages.Count(t.Context(), store.MessageFilter{IDs: []int64{m.ID}})
							if err != nil || found != 1 {
								t.Errorf("the message %d is stored %d times: %v", m.ID, found, err)
							}
						})
					}
					senders.Wait()
					stored, delivered = stored+int64(together), delivered+together
					if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != stored {
						t.Errorf("%d messages are stored, want %d: %v", n, stored, err)
					}
					if len(w.delivered) != delivered {
						t.Errorf("%d messages were delivered, want %d", len(w.delivered), delivered)
					}
				})
			}
		}
	}
	if w.sent != stored {
		t.Errorf("%d messages count as sent, want %d", w.sent, stored)
	}
}
