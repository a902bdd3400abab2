// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/ids"
	"example.org/app/internal/store"
	"example.org/app/internal/store/sqldb"
)

// messageTime is the base time of the tests of messages.
var messageTime = time.UnixMilli(1_700_000_000_000).UTC()

func messageAt(minutes int) time.Time { return messageTime.Add(time.Duration(minutes) * time.Minute) }

// fullMessage returns a message with a value in every field.
func fullMessage(id int64) store.Message {
	return store.Message{
		ID: id, ConversationID: []byte{0, 1, 255}, IsGroupMessage: true, IsSystemMessage: true, DeliveryDate: messageTime,
		ModificationDate: new(messageAt(1)), DeletionDate: new(messageAt(2)), RecallDate: new(messageAt(3)),
		Text: new("Grüße 👋 ' ? \\ $1"), SenderID: math.MaxInt64, SenderIP: netip.MustParseAddr("2001:db8::1"), TargetID: math.MinInt64,
		Records: [][]byte{{}, {0}, make([]byte, 300), []byte("?'\\x00")}, BurnAfter: new(int32(math.MaxInt32)),
		ReferenceID: new(int64(math.MinInt64)), PreMessageID: new(int64(0)), SequenceID: new(int32(1)),
	}
}

func plainMessage(id, sender, target int64, minutes int) store.Message {
	return store.Message{ID: id, SenderID: sender, TargetID: target, DeliveryDate: messageAt(minutes)}
}

func putMessages(t *testing.T, db *store.DB, messages ...store.Message) {
	t.Helper()
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, messages...) })
}

func findMessages(t *testing.T, db *store.DB, f store.MessageFilter, order store.MessageOrder, page store.Page) (found []store.Message) {
	t.Helper()
	read(t, db, func(ctx context.Context, r store.Reader) (err error) {
		found, err = store.FindMessages(ctx, r, f, order, page)
		return err
	})
	return found
}

func messageIDs(messages []store.Message) []int64 {
	list := []int64{}
	for _, m := range messages {
		list = append(list, m.ID)
	}
	return list
}

var compareAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func testMessageInsertFind(t *testing.T, db *store.DB) {
	want := []store.Message{plainMessage(math.MinInt64, 1, 2, 0), plainMessage(0, 0, 0, 1), fullMessage(math.MaxInt64)}
	want[1].SenderIP = netip.MustParseAddr("192.0.2.1")
	putMessages(t, db, want...)
	if diff := cmp.Diff(want, findMessages(t, db, store.MessageFilter{}, store.MessagesByID, store.Page{}), compareAddr); diff != "" {
		t.Errorf("messages differ (-want +got):\n%s", diff)
	}
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertMessages(ctx, tx, plainMessage(7, 1, 2, 0), plainMessage(0, 1, 2, 0))
	})
	if !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("a second message 0: %v", err)
	}
	mapped := plainMessage(8, 1, 2, 0)
	mapped.SenderIP = netip.MustParseAddr("::ffff:192.0.2.1")
	putMessages(t, db, mapped)
	if got := findMessages(t, db, store.MessageFilter{IDs: []int64{8, 7}}, store.MessagesByID, store.Page{}); len(got) != 1 || got[0].SenderIP != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("a mapped address is stored as %+v", got)
	}
	invalid := plainMessage(9, 1, 2, 0)
	invalid.Text = new("\xff")
	err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, invalid) })
	if !errors.Is(err, store.ErrInvalidValue) {
		t.Errorf("text that is no text: %v", err)
	}
}

func testMessageFilter(t *testing.T, db *store.DB) {
	// 1 → 2, 2 → 1, 1 → group 2, the server → 2, 3 → 2 deleted, 1 → 3 recalled.
	list := []store.Message{
		plainMessage(10, 1, 2, 5), plainMessage(11, 2, 1, 4), plainMessage(12, 1, 2, 3), plainMessage(13, 0, 2, 2), plainMessage(14, 3, 2, 1), plainMessage(15, 1, 3, 1),
	}
	list[2].IsGroupMessage, list[3].IsSystemMessage = true, true
	list[4].DeletionDate, list[5].RecallDate = new(messageAt(20)), new(messageAt(30))
	putMessages(t, db, list...)
	upTo := func(from, to int) store.DateRange {
		return store.DateRange{Start: new(messageAt(from)), End: new(messageAt(to))}
	}
	for name, test := range map[string]struct {
		filter store.MessageFilter
		want   []int64
	}{
		"all":                 {store.MessageFilter{}, []int64{10, 11, 12, 13, 14, 15}},
		"ids":                 {store.MessageFilter{IDs: []int64{15, 10, 99}}, []int64{10, 15}},
		"senders":             {store.MessageFilter{SenderIDs: []int64{2, 3}}, []int64{11, 14}},
		"targets":             {store.MessageFilter{TargetIDs: []int64{1, 3}}, []int64{11, 15}},
		"sender and target":   {store.MessageFilter{SenderIDs: []int64{1}, TargetIDs: []int64{2}}, []int64{10, 12}},
		"both directions":     {store.MessageFilter{SenderIDs: []int64{1}, TargetIDs: []int64{2}, BothDirections: true, IsGroupMessage: new(false)}, []int64{10, 11}},
		"one direction only":  {store.MessageFilter{SenderIDs: []int64{1}, BothDirections: true}, []int64{10, 12, 15}},
		"group":               {store.MessageFilter{IsGroupMessage: new(true)}, []int64{12}},
		"system":              {store.MessageFilter{IsSystemMessage: new(true)}, []int64{13}},
		"private, no system":  {store.MessageFilter{IsGroupMessage: new(false), IsSystemMessage: new(false)}, []int64{14, 15, 11, 10}},
		"private":             {store.MessageFilter{IsGroupMessage: new(false)}, []int64{14, 15, 13, 11, 10}},
		"no system":           {store.MessageFilter{IsSystemMessage: new(false)}, []int64{14, 15, 12, 11, 10}},
		"private, in a range": {store.MessageFilter{IsGroupMessage: new(false), DeliveryDate: upTo(1, 3)}, []int64{14, 15, 13}},
		"deleted":             {store.MessageFilter{Deleted: new(true)}, []int64{14}},
		"neither":             {store.MessageFilter{Deleted: new(false), Recalled: new(false)}, []int64{10, 11, 12, 13}},
		"recalled":            {store.MessageFilter{Recalled: new(true)}, []int64{15}},
		"delivery date":       {store.MessageFilter{DeliveryDate: upTo(2, 4)}, []int64{13, 12}},
		"deletion date":       {store.MessageFilter{DeletionDate: upTo(20, 21)}, []int64{14}},
		"deletion date, none": {store.MessageFilter{DeletionDate: upTo(19, 20)}, []int64{}},
		"recall date":         {store.MessageFilter{RecallDate: store.DateRange{Start: new(messageAt(30))}}, []int64{15}},
	} {
		if got := messageIDs(findMessages(t, db, test.filter, store.MessagesByID, store.Page{})); !slices.Equal(got, test.want) {
			t.Errorf("%s: found %v, want %v", name, got, test.want)
		}
		if len(test.want) > 1 {
			page := store.Page{Limit: 1, Offset: 1}
			if got := messageIDs(findMessages(t, db, test.filter, store.MessagesByID, page)); !slices.Equal(got, test.want[1:2]) {
				t.Errorf("%s: the second one is %v, want %v", name, got, test.want[1:2])
			}
		}
		read(t, db, func(ctx context.Context, r store.Reader) error {
			n, err := store.CountMessages(ctx, r, test.filter)
			if err == nil && n != int64(len(test.want)) {
				t.Errorf("%s: counted %d, want %d", name, n, len(test.want))
			}
			return err
		})
	}
	for _, test := range []struct {
		order store.MessageOrder
		page  store.Page
		want  []int64
	}{
		{store.MessagesOldestFirst, store.Page{}, []int64{14, 15, 13, 12, 11, 10}},
		{store.MessagesNewestFirst, store.Page{}, []int64{10, 11, 12, 13, 15, 14}},
		{store.MessagesNewestFirst, store.Page{Limit: 2, Offset: 3}, []int64{13, 15}},
		{store.MessagesByID, store.Page{Limit: 2, Offset: 1}, []int64{11, 12}},
	} {
		if got := messageIDs(findMessages(t, db, store.MessageFilter{}, test.order, test.page)); !slices.Equal(got, test.want) {
			t.Errorf("order %d, page %+v: found %v, want %v", test.order, test.page, got, test.want)
		}
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		senders, err := store.CountMessageSenders(ctx, r, store.MessageFilter{IsSystemMessage: new(false)})
		targets, err2 := store.CountMessageTargets(ctx, r, store.MessageFilter{DeliveryDate: upTo(1, 3)})
		to2, err3 := store.HasPrivateMessage(ctx, r, 1, 2)
		to4, err4 := store.HasPrivateMessage(ctx, r, 1, 4)
		if senders != 3 || targets != 2 || !to2 || to4 {
			t.Errorf("%d senders, %d targets, messages %v %v", senders, targets, to2, to4)
		}
		return errors.Join(err, err2, err3, err4)
	})
	// The iteration of the clean-up returns each old message once.
	var last *store.Message
	var walked []int64
	for {
		var part []store.Message
		read(t, db, func(ctx context.Context, r store.Reader) (err error) {
			part, err = store.FindMessagesBefore(ctx, r, messageAt(4), last, 2)
			return err
		})
		if len(part) == 0 {
			break
		}
		walked, last = append(walked, messageIDs(part)...), &part[len(part)-1]
	}
	if !slices.Equal(walked, []int64{14, 15, 13, 12}) {
		t.Errorf("walked over %v", walked)
	}
}

func testMessagesOfNode(t *testing.T, db *store.DB) {
	id := func(millis, node, sequence int64) int64 {
		return ids.First(messageAt(0)) + (millis*(ids.MaxNode+1)+node)*ids.NodeUnit + sequence
	}
	putMessages(t, db, plainMessage(id(1, 5, 0), 1, 2, 0), plainMessage(id(1, 5, ids.NodeUnit-1), 1, 2, 0), plainMessage(id(1, 6, 0), 1, 2, 0),
		plainMessage(id(2, 0, 0), 1, 2, 0), plainMessage(id(2, 5, 1), 1, 2, 0), plainMessage(id(3, ids.MaxNode, 0), 1, 2, 0), plainMessage(id(4, 5, 0), 1, 2, 0))
	for _, test := range []struct {
		node          int
		after, before int64
		limit         int
		want          []int64
	}{
		{5, 0, math.MaxInt64, 10, []int64{id(1, 5, 0), id(1, 5, ids.NodeUnit-1), id(2, 5, 1), id(4, 5, 0)}},
		{5, id(1, 5, 0), id(4, 5, 0), 10, []int64{id(1, 5, ids.NodeUnit-1), id(2, 5, 1)}},
		{5, 0, math.MaxInt64, 1, []int64{id(1, 5, 0)}},
		{0, 0, math.MaxInt64, 10, []int64{id(2, 0, 0)}},
		{ids.MaxNode, 0, math.MaxInt64, 10, []int64{id(3, ids.MaxNode, 0)}},
		{7, 0, math.MaxInt64, 10, nil},
	} {
		read(t, db, func(ctx context.Context, r store.Reader) error {
			found, err := store.FindMessagesOfNode(ctx, r, test.node, test.after, test.before, test.limit)
			if got := messageIDs(found); !slices.Equal(got, test.want) {
				t.Errorf("node %d between %d and %d: %v, want %v", test.node, test.after, test.before, got, test.want)
			}
			return err
		})
	}
}

func testMessageUpdate(t *testing.T, db *store.DB) {
	putMessages(t, db, plainMessage(1, 1, 2, 0), fullMessage(2))
	update := func(change store.MessageChange, want ...int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			change.ModificationDate = messageAt(50)
			got, err := store.UpdateMessages(ctx, tx, []int64{1, 2, 3}, change)
			slices.Sort(got)
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("modified %v, want %v", got, want)
			}
			return err
		})
	}
	update(store.MessageChange{})
	update(store.MessageChange{Text: new("new")}, 1, 2)
	update(store.MessageChange{Text: new("new")})
	update(store.MessageChange{IsSystemMessage: new(true), BurnAfter: new(int32(math.MaxInt32))}, 1)
	update(store.MessageChange{Records: &[][]byte{{1}, {2, 3}}}, 1, 2)
	update(store.MessageChange{Records: &[][]byte{{1}, {2, 3}}})
	update(store.MessageChange{RecallDate: new(messageAt(9)), SenderIP: new(netip.MustParseAddr("192.0.2.7"))}, 1, 2)
	want := plainMessage(1, 1, 2, 0)
	want.Text, want.IsSystemMessage, want.BurnAfter, want.Records = new("new"), true, new(int32(math.MaxInt32)), [][]byte{{1}, {2, 3}}
	want.RecallDate, want.SenderIP, want.ModificationDate = new(messageAt(9)), netip.MustParseAddr("192.0.2.7"), new(messageAt(50))
	if diff := cmp.Diff([]store.Message{want}, findMessages(t, db, store.MessageFilter{IDs: []int64{1}}, store.MessagesByID, store.Page{}), compareAddr); diff != "" {
		t.Errorf("the updated message differs (-want +got):\n%s", diff)
	}
	update(store.MessageChange{Records: &[][]byte{}}, 1, 2)

	write(t, db, func(ctx context.Context, tx store.Tx) error {
		marked, err := store.MarkMessagesDeleted(ctx, tx, []int64{1, 2, 3}, messageAt(2))
		again, err2 := store.MarkMessagesDeleted(ctx, tx, []int64{1, 2, 3}, messageAt(3))
		deleted, err3 := store.DeleteMessages(ctx, tx, []int64{1, 3})
		if marked != 1 || again != 2 || deleted != 1 {
			t.Errorf("marked %d and %d, deleted %d", marked, again, deleted)
		}
		return errors.Join(err, err2, err3)
	})
	if got := messageIDs(findMessages(t, db, store.MessageFilter{}, store.MessagesByID, store.Page{})); !slices.Equal(got, []int64{2}) {
		t.Errorf("left are %v", got)
	}
}

// testMessageSequence proves that many concurrent writers get all numbers, each once.
func testMessageSequence(t *testing.T, db *store.DB) {
	const writers, each = 8, 10
	numbers := make([][]int32, writers)
	parallel(writers, func(i int) {
		for range each {
			var private, group int32
			write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
				a, b := int64(1), int64(2)
				if i%2 == 1 {
					a, b = b, a
				}
				if private, err = store.NextPrivateSequence(ctx, tx, a, b); err != nil {
					return err
				}
				group, err = store.NextGroupSequence(ctx, tx, 1)
				return err
			})
			if private != group {
				t.Errorf("private number %d, number of the group %d", private, group)
			}
			numbers[i] = append(numbers[i], private)
		}
	})
	all := slices.Sorted(slices.Values(slices.Concat(numbers...)))
	for i, number := range all {
		if number != int32(i+1) {
			t.Fatalf("the numbers are %v", all)
		}
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		other, err := store.NextPrivateSequence(ctx, tx, 3, 1)
		err2 := store.DeletePrivateSequences(ctx, tx, []int64{2})
		again, err3 := store.NextPrivateSequence(ctx, tx, 2, 1)
		next, err4 := store.NextPrivateSequence(ctx, tx, 1, 3)
		group, err5 := store.NextGroupSequence(ctx, tx, 1)
		err6 := store.DeleteGroupSequences(ctx, tx, []int64{1})
		first, err7 := store.NextGroupSequence(ctx, tx, 1)
		if got := []int32{other, again, next, group, first}; !slices.Equal(got, []int32{1, 1, 2, writers*each + 1, 1}) {
			t.Errorf("after deletions the numbers are %v", got)
		}
		return errors.Join(err, err2, err3, err4, err5, err6, err7)
	})
}

// testMessagePlans proves that each filter uses an index.
func testMessagePlans(t *testing.T, db *store.DB) {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]store.Message, 16000)
	for i := range list {
		// Half of them are in the first partition on PostgreSQL, half in the last one: few rows
		// would be scanned.
		m := plainMessage(random.Int64N(1<<59)+int64(i%2)<<62, random.Int64N(10000), random.Int64N(10000), random.IntN(10000))
		m.IsGroupMessage, m.IsSystemMessage = i%3 == 0, i%50 == 0
		if i%20 == 0 {
			m.DeletionDate = new(messageAt(random.IntN(10000)))
		}
		if i%30 == 0 {
			m.RecallDate = new(messageAt(random.IntN(10000)))
		}
		list[i] = m
	}
	putMessages(t, db, list...)
	analyze(t, db)
	short := store.DateRange{Start: new(messageAt(10)), End: new(messageAt(100))}
	many := make([]int64, 200)
	for i := range many {
		many[i] = int64(i)
	}
	for name, f := range map[string]store.MessageFilter{
		"ids": {IDs: []int64{1, 2}}, "many ids": {IDs: many}, "senders": {SenderIDs: []int64{1, 2}}, "many senders": {SenderIDs: many}, "targets": {TargetIDs: []int64{1, 2}},
		"senders and targets": {SenderIDs: []int64{1}, TargetIDs: []int64{2}},
		"both directions":     {SenderIDs: []int64{1}, TargetIDs: []int64{2}, BothDirections: true, IsGroupMessage: new(false)},
		"group messages":      {IsGroupMessage: new(true)}, "system messages": {IsSystemMessage: new(true)},
		"kinds":         {IsGroupMessage: new(false), IsSystemMessage: new(true), DeliveryDate: short},
		"delivery date": {DeliveryDate: short}, "delivery start": {DeliveryDate: store.DateRange{Start: new(messageAt(9900))}},
		"deletion date": {DeletionDate: short}, "recall date": {RecallDate: short},
	} {
		WantIndex(t, db, "count by "+name, func(ctx context.Context, r store.Reader) error {
			_, err := store.CountMessages(ctx, r, f)
			return err
		})
		for _, order := range []store.MessageOrder{store.MessagesByID, store.MessagesOldestFirst, store.MessagesNewestFirst} {
			WantIndex(t, db, fmt.Sprintf("find by %s in order %d", name, order), func(ctx context.Context, r store.Reader) error {
				_, err := store.FindMessages(ctx, r, f, order, store.Page{})
				return err
			})
			if f.IsGroupMessage == nil && f.IsSystemMessage == nil {
				continue
			}
			WantPage(t, db, fmt.Sprintf("page by %s in order %d", name, order), 10, func(ctx context.Context, r store.Reader) error {
				_, err := store.FindMessages(ctx, r, f, order, store.Page{Limit: 5, Offset: 5})
				return err
			})
		}
	}
	for name, find := range map[string]func(ctx context.Context, r store.Reader) error{
		"senders": func(ctx context.Context, r store.Reader) error {
			_, err := store.CountMessageSenders(ctx, r, store.MessageFilter{IsSystemMessage: new(false), DeliveryDate: short})
			return err
		},
		"groups": func(ctx context.Context, r store.Reader) error {
			_, err := store.CountMessageTargets(ctx, r, store.MessageFilter{IsGroupMessage: new(true), DeliveryDate: short})
			return err
		},
		"private message": func(ctx context.Context, r store.Reader) error {
			_, err := store.HasPrivateMessage(ctx, r, 1, 2)
			return err
		},
		"old messages": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindMessagesBefore(ctx, r, messageAt(50), &list[0], 10)
			return err
		},
	} {
		WantIndex(t, db, name, find)
	}
}

// testMessageOptimize proves that a filter with a good and a bad index uses the good one after
// Optimize, including on older connections.
func testMessageOptimize(t *testing.T, db *store.DB) {
	if db.Engine() != store.SQLite { // PostgreSQL analyzes automatically.
		if err := db.Optimize(t.Context()); err != nil {
			t.Error(err)
		}
		return
	}
	list := make([]store.Message, 5000)
	for i := range list {
		list[i] = plainMessage(int64(i+1), int64(i%500+1), int64(i%700+1), i)
		list[i].IsGroupMessage = i%10 == 0
	}
	putMessages(t, db, list...)
	plan := func() (lines []string) {
		err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			var err error
			_, lines, err = sqldb.Explain(ctx, r, func(ctx context.Context, r store.Reader) error {
				_, err := store.FindMessages(ctx, r, store.MessageFilter{SenderIDs: []int64{5, 6, 7}, IsGroupMessage: new(true)}, store.MessagesByID, store.Page{Limit: 20})
				return err
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	before := strings.Join(plan(), "; ")
	for range 2 {
		if err := db.Optimize(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := strings.Join(plan(), "; "); !strings.Contains(after, "message_sender_id_idx") || strings.Contains(before, "message_sender_id_idx") {
		t.Errorf("before the plan is %s, afterwards %s", before, after)
	}
}

// analyze updates the engine's statistics of tables.
func analyze(t *testing.T, db *store.DB) {
	t.Helper()
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return Exec(ctx, tx, "ANALYZE")
	})
}
