// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"sync"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
)

// TestSendTogether sends messages at the same time, some of which are refused or cannot be stored: each has its own
// outcome.
func TestSendTogether(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.elsewhere, w.rules.AllowSendMessagesToOneself = true, false
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
				_, failures[i] = w.messages.Send(t.Context(), c)
			})
		}
		wg.Wait()
		for i, err := range failures {
			refused := err != nil && apierr.From(err).Code == apierr.SendingMessagesToOneselfIsDisabled
			if (err == nil) != (i%3 == 0) || refused != (i%3 == 1) {
				t.Errorf("message %d: the outcome is %v", i, err)
			}
		}
		found, err := w.messages.Find(t.Context(), store.MessageFilter{}, store.MessagesByID, 2*senders, 0)
		if err != nil || len(found) != senders/3 {
			t.Errorf("%d messages are stored, want %d: %v", len(found), senders/3, err)
		}
	})
}
