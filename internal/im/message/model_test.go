// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// model is the expected state of the messages and read dates of a few users.
type model struct {
	messages map[int64]store.Message
	read     map[store.PrivateConversationKey]time.Time
}

// TestModel applies random operations to the rules and to a model.
func TestModel(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { runModel(t, newWorld(t, storetest.SQLite(t)), 2500) })
	t.Run("PostgreSQL", func(t *testing.T) { runModel(t, newWorld(t, storetest.PostgreSQL(t)), 500) })
}

func runModel(t *testing.T, w *world, steps int) {
	const users = 4
	random := rand.New(rand.NewPCG(uint64(steps), 7))
	w.People(1, 2, 3, 4)
	w.Rules.Message.MessageRetentionPeriodHours = 1
	m := model{map[int64]store.Message{}, map[store.PrivateConversationKey]time.Time{}}
	ids := func() []int64 { return slices.Sorted(maps.Keys(m.messages)) }
	some := func() int64 {
		if known := ids(); len(known) > 0 && random.IntN(10) > 0 {
			return known[random.IntN(len(known))]
		}
		return random.Int64()
	}
	for step := range steps {
		w.Now = w.Now.Add(time.Duration(random.IntN(60)) * time.Second)
		switch what := random.IntN(20); {
		case what < 9:
			sender, target := 1+random.Int64N(users), 1+random.Int64N(users)
			sent, err := w.Messages.Send(t.Context(), private(sender, target, fmt.Sprint(step)))
			if (err != nil) != (sender == target) {
				t.Fatalf("step %d: send: %v", step, err)
			}
			if err == nil {
				m.messages[sent.ID] = sent
				m.read[store.PrivateConversationKey{OwnerID: sender, TargetID: target}] = w.Now
			}
		case what < 11:
			id := some()
			old, exists := m.messages[id]
			text := fmt.Sprint(random.IntN(3))
			got, err := w.Messages.Update(t.Context(), []int64{id}, message.Change{Text: &text})
			want := store.UpdateResult{}
			if exists {
				want.Matched = 1
				if old.Text == nil || *old.Text != text {
					want.Modified = 1
					old.Text, old.ModificationDate = &text, new(w.Now)
					m.messages[id] = old
				}
			}
			if err != nil || got != want {
				t.Fatalf("step %d: update: %+v, want %+v: %v", step, got, want, err)
			}
		case what < 13:
			id := some()
			old, exists := m.messages[id]
			mayRecall := exists && old.DeletionDate == nil && !old.IsSystemMessage && w.Now.Sub(old.DeliveryDate) <= 300*time.Second
			err := w.Messages.UpdateBySender(t.Context(), old.SenderID, "", id, message.Edit{RecallDate: new(w.Now)})
			if (err == nil) != mayRecall {
				t.Fatalf("step %d: recall of %+v: %v", step, old, err)
			}
			if err == nil && (old.RecallDate == nil || !old.RecallDate.Equal(w.Now)) {
				old.RecallDate, old.ModificationDate = new(w.Now), new(w.Now)
				m.messages[id] = old
				notice := w.delivered[len(w.delivered)-1].Message
				m.messages[notice.ID] = notice
			}
		case what < 15:
			list := slices.Compact(slices.Sorted(slices.Values([]int64{some(), some()})))
			logically := random.IntN(2) == 0
			want := int64(0)
			for _, id := range list {
				old, exists := m.messages[id]
				if !exists {
					continue
				}
				if !logically {
					delete(m.messages, id)
					want++
				} else if old.DeletionDate == nil || !old.DeletionDate.Equal(w.Now) {
					old.DeletionDate = new(w.Now)
					m.messages[id] = old
					want++
				}
			}
			if got, err := w.Messages.Delete(t.Context(), list, &logically); err != nil || got != want {
				t.Fatalf("step %d: deleted %d, want %d: %v", step, got, want, err)
			}
		case what < 16:
			key := store.PrivateConversationKey{OwnerID: 1 + random.Int64N(users), TargetID: 1 + random.Int64N(users)}
			date := w.Now.Add(-time.Duration(random.IntN(600)) * time.Second)
			old, exists := m.read[key]
			err := w.Conversations.SetReadDate(t.Context(), []store.PrivateConversationKey{key}, nil, &date)
			if allowed := !exists || date.After(old); allowed != (err == nil) {
				t.Fatalf("step %d: read date %v after %v: %v", step, date, old, err)
			} else if allowed {
				m.read[key] = date
			}
		case what < 17 && step%5 == 0:
			want := int64(0)
			for id, old := range m.messages {
				if old.DeliveryDate.Before(w.Now.Add(-time.Hour)) {
					delete(m.messages, id)
					want++
				}
			}
			if got, err := w.Messages.DeleteExpired(t.Context(), w.DB); err != nil || got != want {
				t.Fatalf("step %d: expired %d, want %d: %v", step, got, want, err)
			}
		default:
			m.compareQuery(t, w, random, step)
		}
		w.delivered, w.reached = w.delivered[max(0, len(w.delivered)-1):], nil
	}
	m.compareAll(t, w)
}

// compareQuery compares what a user can read.
func (m model) compareQuery(t *testing.T, w *world, random *rand.Rand, step int) {
	t.Helper()
	userID := 1 + random.Int64N(4)
	from := []int64{1 + random.Int64N(4)}
	start := w.Now.Add(-time.Duration(random.IntN(3600)) * time.Second)
	want := []int64{}
	for _, message := range m.messages {
		if message.TargetID == userID && message.SenderID == from[0] && message.DeletionDate == nil && message.RecallDate == nil && !message.DeliveryDate.Before(start) {
			want = append(want, message.ID)
		}
	}
	found, err := w.Messages.Query(t.Context(), userID, message.Query{FromIDs: from, DeliveryDate: store.DateRange{Start: &start}})
	if err != nil {
		t.Fatal(err)
	}
	got := []int64{}
	for i, message := range found {
		if i > 0 && message.DeliveryDate.Before(found[i-1].DeliveryDate) {
			t.Fatalf("step %d: the order is wrong", step)
		}
		got = append(got, message.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("step %d: queried %v, want %v", step, got, want)
	}
}

// compareAll compares everything that is stored.
func (m model) compareAll(t *testing.T, w *world) {
	t.Helper()
	found, err := w.Messages.Find(t.Context(), store.MessageFilter{}, store.MessagesByID, 0, 0)
	if err != nil || len(found) != len(m.messages) {
		t.Fatalf("%d messages, want %d: %v", len(found), len(m.messages), err)
	}
	for _, got := range found {
		if want := m.messages[got.ID]; describe(got) != describe(want) {
			t.Errorf("stored %s, want %s", describe(got), describe(want))
		}
	}
	private, _, err := w.Conversations.Find(t.Context(), conversation.Selection{OwnerIDs: []int64{1, 2, 3, 4}})
	if err != nil || len(private) != len(m.read) {
		t.Fatalf("%d conversations, want %d: %v", len(private), len(m.read), err)
	}
	for _, c := range private {
		if want := m.read[c.PrivateConversationKey]; !c.ReadDate.Equal(want) {
			t.Errorf("%+v was read at %v, want %v", c.PrivateConversationKey, c.ReadDate, want)
		}
	}
}

func describe(m store.Message) string {
	date := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	text := "-"
	if m.Text != nil {
		text = *m.Text
	}
	return fmt.Sprint(m.ID, m.SenderID, m.TargetID, m.IsSystemMessage, text, m.Records, date(&m.DeliveryDate), date(m.ModificationDate), date(m.DeletionDate), date(m.RecallDate))
}
