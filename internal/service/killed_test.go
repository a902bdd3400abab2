// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/link"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// lookForKilled runs KilledServices until the end of the test, and sends the lines of its log to a
// channel, unless that is nil.
func (w *world) lookForKilled(lines logLines, holders func() []cluster.Holder) {
	logger := slog.New(slog.DiscardHandler)
	if lines != nil {
		logger = slog.New(slog.NewTextHandler(lines, nil))
	}
	k := &service.KilledServices{
		Notifier: w.notifier, Messages: w.Messages, Store: w.DB, Limit: w.killedLimit, Logger: logger,
		Settings: func() config.Notification { return w.Rules.Notification },
		Holders:  func(context.Context, time.Duration) ([]cluster.Holder, error) { return holders(), nil },
	}
	ctx, cancel := context.WithCancel(w.T.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil {
			w.T.Error(err)
		}
	})
	w.T.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// former is the holder of a node number that an earlier incarnation of the service did not release.
func former(number int, renewed time.Time) cluster.Holder {
	return cluster.Holder{NodeID: "service", Incarnation: "former", Number: number, Renewed: renewed, Until: renewed.Add(time.Minute)}
}

// TestKilledServicesWithoutDatabase lets the database fail while the messages of a killed service
// are read: they are checked as soon as it works, and the log has one line about the failures.
func TestKilledServicesWithoutDatabase(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	w.People(1, 2)
	w.online(2, desktop, "gateway1")
	const number = 7
	renewed := time.Now()
	message := store.Message{ID: ids.First(renewed) + number*ids.NodeUnit, SenderID: 1, TargetID: 2, DeliveryDate: renewed}
	if err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, message) }); err != nil {
		t.Fatal(err)
	}
	asked := make(chan []link.UndeliveredConversation, 100)
	for _, id := range []string{"gateway1", "gateway2"} {
		err := cluster.Handle(w.nodes[id], link.CloseUnaware, func(_ context.Context, u *link.Undelivered) (*link.Disconnected, error) {
			if len(u.Conversations) > 0 {
				asked <- u.Conversations
			}
			return &link.Disconnected{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.rename("message", "message_gone")
	lines := make(logLines, 100)
	var looks atomic.Int64
	w.lookForKilled(lines, func() []cluster.Holder {
		looks.Add(1)
		return []cluster.Holder{former(number, renewed)}
	})
	if line := <-lines; !strings.Contains(line, "level=WARN") || !strings.Contains(line, "could not check") {
		t.Errorf("the log has %s", line)
	}
	for last := looks.Load(); looks.Load() < last+2; {
		time.Sleep(10 * time.Millisecond)
	}
	if len(asked) > 0 {
		t.Errorf("a gateway was asked about %v", <-asked)
	}
	w.rename("message_gone", "message")
	if list := <-asked; len(list) != 1 || !slices.Equal(list[0].MessageIDs, []int64{message.ID}) || !slices.Equal(list[0].UserIDs, []int64{2}) {
		t.Errorf("the gateway was asked about %v", list)
	}
	if line := <-lines; !strings.Contains(line, "told users who missed some") {
		t.Errorf("the log also has %s", line)
	}
}

// TestKilledServicesBesideEarlierGateway has a gateway of an earlier version, which does not know
// the call: the other one closes sessions, and the log names the one that could not be asked.
func TestKilledServicesBesideEarlierGateway(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	w.killedLimit = time.Second
	w.People(1, 2, 3)
	w.online(2, desktop, "gateway1")
	w.online(3, desktop, "gateway2")
	const number = 7
	renewed := time.Now()
	first := ids.First(renewed) + number*ids.NodeUnit
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertMessages(ctx, tx,
			store.Message{ID: first, SenderID: 1, TargetID: 2, DeliveryDate: renewed}, store.Message{ID: first + 1, SenderID: 1, TargetID: 3, DeliveryDate: renewed})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = cluster.Handle(w.nodes["gateway2"], link.CloseUnaware, func(_ context.Context, u *link.Undelivered) (*link.Disconnected, error) {
		return &link.Disconnected{Sessions: len(u.Conversations)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := make(logLines, 100)
	w.lookForKilled(lines, func() []cluster.Holder { return []cluster.Holder{former(number, renewed)} })
	if line := <-lines; !strings.Contains(line, "level=WARN") || !strings.Contains(line, "could not ask a gateway") || !strings.Contains(line, "gateway=gateway1") {
		t.Errorf("the log has %s", line)
	}
	if line := <-lines; !strings.Contains(line, "messages=2 sessions=1") {
		t.Errorf("the log has %s", line)
	}
}

// logLines are the lines of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestKilledServicesBesideSilentGateway lets a gateway not respond until the other one was asked
// about messages of the next page: nobody waits for it.
func TestKilledServicesBesideSilentGateway(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	w.People(1, 2, 3)
	w.online(2, desktop, "gateway1")
	w.online(3, desktop, "gateway2")
	const number = 7
	renewed := time.Now()
	first := ids.First(renewed) + number*ids.NodeUnit
	list := []store.Message{{ID: first, SenderID: 1, TargetID: 2, DeliveryDate: renewed}}
	for i := range int64(1500) {
		list = append(list, store.Message{ID: first + 1 + i, SenderID: 1, TargetID: 3, DeliveryDate: renewed})
	}
	last := list[len(list)-1].ID
	if err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, list...) }); err != nil {
		t.Fatal(err)
	}
	askedAboutLast, responded := make(chan struct{}), make(chan struct{})
	err := errors.Join(
		cluster.Handle(w.nodes["gateway1"], link.CloseUnaware, func(ctx context.Context, u *link.Undelivered) (*link.Disconnected, error) {
			if len(u.Conversations) == 0 {
				return &link.Disconnected{}, nil
			}
			select {
			case <-askedAboutLast:
				close(responded)
			case <-ctx.Done():
				t.Error("the other gateway was not asked while this one did not respond")
			}
			return &link.Disconnected{}, nil
		}),
		cluster.Handle(w.nodes["gateway2"], link.CloseUnaware, func(_ context.Context, u *link.Undelivered) (*link.Disconnected, error) {
			if slices.ContainsFunc(u.Conversations, func(c link.UndeliveredConversation) bool { return slices.Contains(c.MessageIDs, last) }) {
				close(askedAboutLast)
			}
			return &link.Disconnected{}, nil
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	w.lookForKilled(nil, func() []cluster.Holder { return []cluster.Holder{former(number, renewed)} })
	w.eventually(func() bool {
		select {
		case <-responded:
			return true
		default:
			return t.Failed()
		}
	})
}

// TestKilledServices leaves messages of a service that has ended in the store: the gateways of
// their users are asked whether they were delivered, and nobody else.
func TestKilledServices(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	w.Rules.Notification.MessageCreated.NotifyRequesterOtherOnlineSessions = true
	w.People(1, 2, 3, 4)
	group := w.Group(1, 2, 3)
	for user, gateway := range map[int64]string{1: "gateway1", 2: "gateway1", 3: "gateway2", 4: "gateway2"} {
		w.online(user, desktop, gateway)
	}
	var mu sync.Mutex
	asked := map[string][]link.UndeliveredConversation{}
	for _, id := range []string{"gateway1", "gateway2"} {
		err := cluster.Handle(w.nodes[id], link.CloseUnaware, func(_ context.Context, u *link.Undelivered) (*link.Disconnected, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[id] = append(asked[id], u.Conversations...)
			return &link.Disconnected{Sessions: 1}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := w.nodes["service"].Cluster()
	dead := clustertest.Join(t, c, cluster.NodeOptions{ID: "victim", Type: role.Service})
	const number = 7
	renewed := time.Now()
	idAt := func(at time.Time, node int64) int64 { return ids.First(at) + node*ids.NodeUnit }
	toUser, toGroup := idAt(renewed, number), idAt(renewed, number)+1
	list := []store.Message{
		{ID: toUser, SenderID: 1, TargetID: 4, DeliveryDate: renewed},
		{ID: toGroup, SenderID: 3, TargetID: group, IsGroupMessage: true, DeliveryDate: renewed},
		// These are of another node, or were stored long before.
		{ID: idAt(renewed, number+1), SenderID: 1, TargetID: 2, DeliveryDate: renewed},
		{ID: idAt(renewed.Add(-time.Minute), number), SenderID: 1, TargetID: 2, DeliveryDate: renewed},
	}
	if err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertMessages(ctx, tx, list...) }); err != nil {
		t.Fatal(err)
	}
	looked := make(chan struct{}, 1000)
	w.lookForKilled(nil, func() []cluster.Holder {
		looked <- struct{}{}
		return []cluster.Holder{
			{NodeID: "victim", Incarnation: dead.Incarnation(), Number: number, Renewed: renewed, Until: renewed.Add(time.Minute)},
			{NodeID: "service", Incarnation: w.nodes["service"].Incarnation(), Number: number + 1, Renewed: renewed, Until: renewed.Add(time.Minute)},
		}
	})
	<-looked // The service is alive.
	mu.Lock()
	if len(asked) > 0 {
		t.Errorf("gateways are asked about messages of a running service: %v", asked)
	}
	mu.Unlock()
	if err := dead.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	private, inGroup := wire.PrivateConversationKey(1, 4), wire.GroupConversationKey(group)
	want := map[string]map[uint64][]int64{ // A negative number is the sender with one gateway.
		"gateway1": {private: {-1}, inGroup: {1, 2}},
		"gateway2": {private: {4}, inGroup: {-3}},
	}
	w.eventually(func() bool {
		mu.Lock()
		defer mu.Unlock()
		got := map[string]map[uint64][]int64{}
		for gateway, conversations := range asked {
			got[gateway] = map[uint64][]int64{}
			for _, u := range conversations {
				if message := map[uint64]int64{private: toUser, inGroup: toGroup}[u.Conversation]; !slices.Equal(u.MessageIDs, []int64{message}) {
					t.Errorf("%s is asked about the messages %v of the conversation %d", gateway, u.MessageIDs, u.Conversation)
				}
				users := append(got[gateway][u.Conversation], u.UserIDs...)
				if u.SenderID != 0 {
					users = append(users, -u.SenderID)
				}
				got[gateway][u.Conversation] = slices.Sorted(slices.Values(users))
			}
		}
		return maps.EqualFunc(got, want, func(a, b map[uint64][]int64) bool { return maps.EqualFunc(a, b, slices.Equal) })
	})
}
