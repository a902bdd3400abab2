// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// A sending is a message that a session sent.
type sending struct {
	session, conversation string
	text                  string
	acknowledged          bool
	// code is the response to the sender; 0 means none.
	code int32
	id   int64
	at   time.Time
}

// A history records what sessions sent, the responses they got, and what they received. Each
// message has a unique text.
type history struct {
	mu    sync.Mutex
	sent  []*sending
	texts map[string]*sending
	// got has the messages that each session received, in order; awaits the sessions that must
	// receive the messages of a conversation; told the sessions that were told to reconnect.
	got    map[string][]got
	awaits map[string][]string
	told   map[string]bool
	// since is the start of a session that need not receive earlier messages, and unordered has
	// those that may receive messages in another order.
	since     map[string]time.Time
	unordered map[string]bool

	acknowledgements stopwatch
}

// got is a message that a session received.
type got struct {
	conversation string
	id           int64
	text         string
}

// figures are the violations in a history.
type figures struct {
	sent, acknowledged                                        int
	lost, doubled, inverted, undelivered, late, disagreements int
	// inversions describes the first messages that are stored, or delivered, before an earlier one.
	inversions []string
	// unknown counts those of late whose senders were told that no service answered.
	unknown int
	// repeated counts deliveries of a message to a session that already had it.
	repeated int
}

func newHistory() *history {
	return &history{texts: map[string]*sending{}, got: map[string][]got{}, awaits: map[string][]string{}, told: map[string]bool{}, since: map[string]time.Time{}, unordered: map[string]bool{}}
}

// send records a message before it is sent.
func (h *history) send(session, conversation, text string) *sending {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &sending{session: session, conversation: conversation, text: text, at: time.Now()}
	h.sent = append(h.sent, s)
	h.texts[text] = s
	return s
}

// answer records the response to a message.
func (h *history) answer(s *sending, response *wire.AppNotification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.code = response.GetCode()
	if s.acknowledged = s.code == 1000; s.acknowledged {
		s.id = response.GetData().GetLong()
		h.acknowledgements.acknowledge()
	}
}

// expect requires a session that stays connected to receive the messages of others in a
// conversation.
func (h *history) expect(session, conversation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awaits[conversation] = append(h.awaits[conversation], session)
}

// begin is like expect, for messages sent from now on.
func (h *history) begin(session, conversation string) {
	h.expect(session, conversation)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since[session] = time.Now()
}

// receive records everything that a session has received so far.
func (h *history) receive(session string, client *chat.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got[session] = nil
	for _, n := range client.Inbox() {
		m := n.GetRelayedRequest().GetCreateMessageRequest()
		if s := h.texts[m.GetText()]; m != nil && s != nil {
			h.got[session] = append(h.got[session], got{s.conversation, m.GetMessageId(), m.GetText()})
		}
	}
}

// excuse records that a session was told to reconnect: it need not receive every message, because
// the client will query what it missed. The order still counts.
func (h *history) excuse(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told[session] = true
}

// disorder allows a session to receive messages in another order.
func (h *history) disorder(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unordered[session] = true
}

// complete reports whether all sessions received every acknowledged message.
func (h *history) complete() bool {
	f := h.figures(nil)
	return f.undelivered == 0
}

// undelivered describes the first acknowledged messages that sessions did not receive.
func (h *history) undelivered() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	const most = 20
	for session, received := range h.got {
		for _, s := range h.sent {
			if h.mustGet(session, s) && len(list) < most && !slices.ContainsFunc(received, func(g got) bool { return g.id == s.id }) {
				list = append(list, fmt.Sprintf("%s did not get %q, sent at %s", session, s.text, s.at.UTC().Format(time.RFC3339Nano)))
			}
		}
	}
	return list
}

// mustGet reports whether a session must have received a message.
func (h *history) mustGet(session string, s *sending) bool {
	return s.acknowledged && !h.told[session] && s.session != session && s.at.After(h.since[session]) && slices.Contains(h.awaits[s.conversation], session)
}

// figures compares the history with the stored messages; nil checks only deliveries. Ids define the
// order of a conversation: those of the messages of one session must rise, and every session must
// receive the messages of a conversation with rising ids.
func (h *history) figures(all []stored) (f figures) {
	h.mu.Lock()
	defer h.mu.Unlock()
	byText := map[string][]stored{}
	for _, m := range all {
		byText[m.text] = append(byText[m.text], m)
	}
	type lane struct{ session, conversation string }
	last := map[lane]stored{}
	for _, s := range h.sent {
		f.sent++
		if s.acknowledged {
			f.acknowledged++
		}
		if all == nil {
			continue
		}
		found := byText[s.text]
		switch {
		case len(found) > 1:
			f.doubled++
		case len(found) == 0 && s.acknowledged, len(found) == 1 && s.acknowledged && found[0].id != s.id:
			f.lost++
		}
		if len(found) == 0 {
			continue
		}
		switch s.code {
		case 0, 1000:
		case int32(apierr.ServerInternalError):
			f.unknown++
			fallthrough
		default:
			f.late++
		}
		key := lane{s.session, s.conversation}
		if before := last[key]; found[0].id < before.id {
			f.inverted++
			if len(f.inversions) < 10 {
				f.inversions = append(f.inversions, fmt.Sprintf("%q has the id %d, %q before it %d", s.text, found[0].id, before.text, before.id))
			}
		} else {
			last[key] = found[0]
		}
	}
	for session, list := range h.got {
		last := map[string]got{}
		seen := map[int64]bool{}
		for _, m := range list {
			if seen[m.id] {
				f.repeated++
				continue
			}
			seen[m.id] = true
			if before := last[m.conversation]; m.id < before.id && !h.unordered[session] {
				f.disagreements++
				if len(f.inversions) < 10 {
					f.inversions = append(f.inversions, fmt.Sprintf("%s got %q with the id %d after %q with %d", session, m.text, m.id, before.text, before.id))
				}
			} else {
				last[m.conversation] = m
			}
		}
		for _, s := range h.sent {
			if h.mustGet(session, s) && !seen[s.id] {
				f.undelivered++
			}
		}
	}
	return f
}

func (f figures) String() string {
	return fmt.Sprintf("%d sent, %d acknowledged, %d lost, %d doubled, %d stored in another order, %d delivered in another order, %s delivered again, %s undelivered, %d stored although they failed, of %d of them the senders know that the outcome is open",
		f.sent, f.acknowledged, f.lost, f.doubled, f.inverted, f.disagreements, counted(f.repeated), counted(f.undelivered), f.late, f.unknown)
}

// A rule relaxes a check of a history.
type rule int

// mayBeUnknown allows messages to be stored although their senders were told that no service
// answered in time, because the service that stored them could not respond.
const mayBeUnknown rule = 1

// check fails the test if a message was lost, doubled, inverted or not delivered. Repeated
// deliveries are allowed only if a service did not answer, so that the gateway called another one,
// too.
func (h *history) check(t *testing.T, all []stored, gateways []*process, rules ...rule) figures {
	t.Helper()
	slices.SortFunc(all, func(a, b stored) int { return cmp.Compare(a.id, b.id) })
	f := h.figures(all)
	t.Log(f)
	record(t, f, len(h.told), h.acknowledgements.stop())
	late := f.late
	if slices.Contains(rules, mayBeUnknown) {
		late -= f.unknown
	}
	if f.lost+f.doubled+f.inverted+f.disagreements+f.undelivered+late > 0 {
		t.Errorf("the history is not that of an ordered conversation: %v %q", f, f.inversions)
	}
	silent := func(p *process) bool { return strings.Contains(p.log.String(), "a node does not answer") }
	if f.repeated > 0 && !slices.ContainsFunc(gateways, silent) {
		t.Errorf("messages were delivered again although all services answered: %v", f)
	}
	return f
}
