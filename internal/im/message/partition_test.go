// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// partitionWorld is a world on PostgreSQL without BeforeDelete.
func partitionWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, storetest.PostgreSQL(t))
	w.Now = time.Now().UTC().Truncate(time.Millisecond)
	w.options.AsksBeforeDelete = func() bool { return w.before != nil }
	w.Messages = message.New(w.options)
	return w
}

// put stores a message with the current delivery date.
func (w *world) put(id int64) store.Message {
	w.T.Helper()
	m := store.Message{ID: id, SenderID: 1, TargetID: 2, DeliveryDate: w.Now}
	if err := w.DB.Write(w.T.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, m) }); err != nil {
		w.T.Fatal(err)
	}
	return m
}

func (w *world) partitions() (list []store.MessagePartition) {
	w.T.Helper()
	err := w.DB.Read(w.T.Context(), func(ctx context.Context, r store.Reader) (err error) {
		list, err = store.FindMessagePartitions(ctx, r)
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return list
}

// rows returns the ids of the messages of a table.
func (w *world) rows(table string) (list []int64) {
	w.T.Helper()
	err := w.DB.Read(w.T.Context(), func(ctx context.Context, r store.Reader) error {
		found, err := storetest.Rows(ctx, r, "SELECT id FROM "+table+" ORDER BY id")
		for _, row := range found {
			list = append(list, row["id"].(int64))
		}
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return list
}

func (w *world) prepare() {
	w.T.Helper()
	if _, err := w.Messages.PreparePartitions(w.T.Context(), w.DB); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) expire() {
	w.T.Helper()
	if _, err := w.Messages.DeleteExpired(w.T.Context(), w.DB); err != nil {
		w.T.Fatal(err)
	}
}

// TestPartitions simulates three weeks in which messages are kept for eighty hours. Younger ones
// stay, whatever their ids are, and those that are older by more than a partition are deleted.
func TestPartitions(t *testing.T) {
	const retention, width, step = 80 * time.Hour, 10 * time.Hour, 5 * time.Hour
	w := partitionWorld(t)
	w.Rules.Message.MessageRetentionPeriodHours = int32(retention.Hours())
	var sent []store.Message
	seen := map[string]bool{}
	for i := range int64(21 * 24 * time.Hour / step) {
		w.prepare()
		sent = append(sent, w.put(ids.First(w.Now)+i), w.put(i+1))
		if i%7 == 0 {
			sent = append(sent, w.put(math.MaxInt64-i))
		}
		w.expire()
		var must, may []int64
		for _, m := range sent {
			if !m.DeliveryDate.Before(w.Now.Add(-retention - width)) {
				may = append(may, m.ID)
			}
			if !m.DeliveryDate.Before(w.Now.Add(-retention)) {
				must = append(must, m.ID)
			}
		}
		found := w.rows("message")
		for _, id := range must {
			if !slices.Contains(found, id) {
				t.Fatalf("step %d: message %d is gone before its time", i, id)
			}
		}
		for _, id := range found {
			if !slices.Contains(may, id) {
				t.Fatalf("step %d: message %d is there although it is too old", i, id)
			}
		}
		list := w.partitions()
		// Eight for the retained messages, the expiring one, the current one, three ahead.
		if len(list) > 13 {
			t.Fatalf("step %d: %d partitions: %v", i, len(list), list)
		}
		for k := 2; k < len(list); k++ { // The first one stays as long as there are young messages with small ids.
			if list[k-1].To != list[k].From {
				t.Fatalf("step %d: a gap between %v and %v", i, list[k-1], list[k])
			}
		}
		for _, p := range list {
			seen[p.Name] = true
		}
		w.Now = w.Now.Add(step)
	}
	if left := w.partitions(); len(seen) < len(left)+30 {
		t.Errorf("of %d partitions %d are left", len(seen), len(left))
	}
	for _, id := range w.rows("message_part_rest") {
		if at := ids.Time(id); at.After(w.Now.Add(-retention)) && at.Before(w.Now) {
			t.Errorf("message %d is in no partition of its time", id)
		}
	}
}

// TestPartitionLate proves that messages without a partition are stored, and moved when it is
// created.
func TestPartitionLate(t *testing.T) {
	w := partitionWorld(t)
	w.Rules.Message.MessageRetentionPeriodHours = 80
	end := ids.Time(w.partitions()[0].To)
	w.Now = end.Add(time.Hour)
	m := w.put(ids.First(w.Now) + 1)
	if got := w.rows("message_part_rest"); !slices.Equal(got, []int64{m.ID}) {
		t.Fatalf("without a partition are %v", got)
	}
	w.prepare()
	list := w.partitions()
	if got := w.rows("message_part_rest"); len(got) != 0 || !slices.Equal(w.rows(list[1].Name), []int64{m.ID}) || !slices.Equal(w.rows("message"), []int64{m.ID}) {
		t.Errorf("without a partition are %v", got)
	}
	w.prepare()
	if again := w.partitions(); !slices.Equal(again, list) {
		t.Errorf("the partitions are %v, then %v", list, again)
	}
	// A server that was off for long creates no partitions for that time.
	w.Now = w.Now.Add(300 * 24 * time.Hour)
	w.prepare()
	if again := w.partitions(); len(again) > len(list)+3 {
		t.Errorf("after a long time there are %d partitions", len(again))
	}
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, m) })
	var duplicate *store.DuplicateKeyError
	if !errors.As(err, &duplicate) || duplicate.Table != "message" || duplicate.Constraint != "message_pkey" {
		t.Errorf("an id that exists: %v", err)
	}
}

// TestPartitionsDecided proves that partitions with messages that a plugin keeps stay, and that
// empty ones are dropped.
func TestPartitionsDecided(t *testing.T) {
	w := partitionWorld(t)
	w.Rules.Message.MessageRetentionPeriodHours = 80
	kept := w.put(5)
	w.Now = ids.Time(w.partitions()[0].To)
	for range 20 {
		w.prepare()
		w.put(ids.First(w.Now) + 1)
		w.Now = w.Now.Add(10 * time.Hour)
	}
	before := len(w.partitions())
	w.before = func(list []store.Message) ([]store.Message, error) {
		return slices.DeleteFunc(slices.Clone(list), func(m store.Message) bool { return m.ID == kept.ID }), nil
	}
	w.expire()
	list := w.partitions()
	if _, found := w.stored(kept.ID); !found || list[0].From != math.MinInt64 || len(list) != before-12 {
		t.Errorf("the message is there: %v; of %d partitions %v are left", found, before, list)
	}
}

// TestPartitionInterrupted proves that a clean-up that was interrupted between detaching and
// dropping a partition is finished, and that young messages stay.
func TestPartitionInterrupted(t *testing.T) {
	w := partitionWorld(t)
	w.Rules.Message.MessageRetentionPeriodHours = 80
	w.put(5)
	first := w.partitions()[0]
	w.Now = ids.Time(first.To).Add(100 * time.Hour)
	young := w.put(6)
	w.expire() // It holds a young one.
	if got := w.rows(first.Name); !slices.Equal(got, []int64{6}) {
		t.Errorf("the first partition has %v", got)
	}
	old := w.put(7)
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.DetachMessagePartition(ctx, tx, first) })
	if err != nil || len(w.rows("message")) != 0 {
		t.Fatal(err, w.rows("message"))
	}
	w.expire()
	if got := w.rows("message"); !slices.Equal(got, []int64{young.ID, old.ID}) {
		t.Errorf("the messages are %v", got)
	}
	err = w.DB.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		left, err := storetest.Rows(ctx, r, "SELECT CAST(relname AS TEXT) AS name FROM pg_class WHERE relname LIKE 'message_expired%'")
		if len(left) > 0 {
			t.Errorf("left are %v", left)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPartitionPruned proves that a query by id scans only one partition.
func TestPartitionPruned(t *testing.T) {
	w := partitionWorld(t)
	w.Rules.Message.MessageRetentionPeriodHours = 80
	w.Now = ids.Time(w.partitions()[0].To)
	w.prepare()
	list := w.partitions()
	if len(list) < 3 {
		t.Fatalf("partitions %v", list)
	}
	err := w.DB.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		plan, err := storetest.Rows(ctx, r, fmt.Sprintf("EXPLAIN SELECT * FROM message WHERE id = %d", list[1].From+1))
		for _, line := range plan {
			for _, text := range line {
				if strings.Contains(text.(string), "Append") {
					t.Errorf("the plan is %v", plan)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
