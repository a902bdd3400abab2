// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"strings"
	"testing"

	"example.org/app/internal/wire"
)

// WordFilterRejects checks that messages with forbidden words are refused.
func WordFilterRejects(t *testing.T, file string) {
	s := Start(t, file, "word-filter.words[0]=darn", "word-filter.words[1]=heck")
	sender, reader := LogIn(t, s, 5), LogIn(t, s, 6)
	n := sender.WantCode(Message(6, "what the HECK"), 5010)
	if n.GetReason() != "the message holds a word that is not allowed here" {
		t.Errorf("the reason is %q", n.GetReason())
	}
	sender.Request(Message(6, "darned heckler")) // Only whole words match.
	if got := Read(reader); got != "darned heckler" {
		t.Errorf("the message is %q", got)
	}
}

// WordFilterMasks checks that forbidden words are masked.
func WordFilterMasks(t *testing.T, file string) {
	s := Start(t, file, "word-filter.words[0]=darn", "word-filter.mode=mask")
	sender, reader := LogIn(t, s, 5), LogIn(t, s, 6)
	id := sender.Request(Message(6, "well, darn!")).GetData().GetLong()
	if got := Read(reader); got != "well, ****!" {
		t.Errorf("the message is %q", got)
	}
	text := "Darn, darn"
	sender.Request(&wire.UpdateMessageRequest{MessageId: id, Text: &text})
	if _, body := Admin(t, s, "GET", "/messages", ""); !strings.Contains(body, "****, ****") {
		t.Errorf("stored was %s", body)
	}
}
