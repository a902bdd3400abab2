// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/config"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/im/message"
	"example.org/app/internal/link"
	"example.org/app/internal/plugin"
	"example.org/app/internal/presence"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
)

func TestMain(m *testing.M) { storetest.Main(complete{m}) }

// world is a service with real rules over a real store, in a cluster with two gateways that record
// their deliveries.
type world struct {
	*imtest.World
	notifier    *service.Notifier
	options     service.Options
	dispatcher  *service.Dispatcher
	nodes       map[string]*cluster.Node
	directories map[string]*presence.Directory // by node
	locations   presence.Locations
	nearby      presence.NearbyLimits
	killedLimit time.Duration

	mu       sync.Mutex
	sessions []session
	calls    map[string]int // by gateway
	inbox    map[session][]*wire.AppNotification
	held     map[string]chan struct{} // gateways that do not answer until it is closed
	unknown  []int64                  // users who cannot be located
	locating func()                   // called before users are located; may be nil
}

// session is a session of a user.
type session struct {
	gateway string
	user    int64
	device  wire.DeviceType
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, presence.Locations{Enabled: true})
}

func newWorldWith(t testing.TB, locations presence.Locations) *world {
	t.Helper()
	w := &world{
		locations: locations, nodes: make(map[string]*cluster.Node), directories: make(map[string]*presence.Directory),
		calls: make(map[string]int), inbox: make(map[session][]*wire.AppNotification),
	}
	db, clock := storetest.SQLite(t), func() time.Time { return w.Now }
	c := clustertest.Connect(t, clustertest.Embedded(t).Options)
	for _, id := range []string{"gateway1", "gateway2"} {
		node := clustertest.Join(t, c, cluster.NodeOptions{ID: id, Type: role.Gateway})
		if err := cluster.Handle(node, link.Deliver, w.gateway(id)); err != nil {
			t.Fatal(err)
		}
		w.nodes[id] = node
	}
	node := clustertest.Join(t, c, cluster.NodeOptions{ID: "service", Type: role.Service})
	w.nodes["service"] = node
	logger := slog.New(slog.DiscardHandler)
	w.notifier = service.NewNotifier(node, w, logger, clock)
	t.Cleanup(func() {
		if err := w.notifier.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.World = imtest.New(t, db, imtest.Changes{
		Messages: func(o *message.Options) {
			o.Deliverer = &service.Deliverer{Notifier: w.notifier, Settings: func() config.Notification { return w.Rules.Notification }}
		},
		Meetings: func(o *meeting.Options) {
			o.Provider = service.Conference{Plugins: func() *plugin.Calls { return w.options.Plugins }}
		},
	})
	w.options = service.Options{
		Node: node, Store: w.DB, Users: w.Users, Relationships: w.Relationships, Groups: w.Groups,
		Conversations: w.Conversations, Messages: w.Messages, Meetings: w.Meetings, Notifier: w.notifier, Settings: func() config.Service { return w.Rules }, Logger: logger, Clock: clock,
		Presence: w.directory("service"), NearbyLimits: func() presence.NearbyLimits { return w.nearby },
	}
	w.dispatcher = service.New(w.options)
	if err := w.dispatcher.Serve(); err != nil {
		t.Fatal(err)
	}
	return w
}

// gateway records the deliveries of a gateway.
func (w *world) gateway(id string) func(context.Context, *link.Delivery) (*link.Delivered, error) {
	return func(_ context.Context, d *link.Delivery) (*link.Delivered, error) {
		n := new(wire.AppNotification)
		if err := proto.Unmarshal(d.Notification, n); err != nil {
			return nil, err
		}
		w.mu.Lock()
		held := w.held[id]
		w.mu.Unlock()
		if held != nil {
			<-held
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls[id]++
		out := new(link.Delivered)
		for _, s := range w.sessions {
			excepted := d.Except != nil && *d.Except == link.Session{UserID: s.user, Device: s.device}
			if s.gateway == id && slices.Contains(d.Recipients, s.user) && !excepted {
				w.inbox[s] = append(w.inbox[s], n)
				out.Sessions++
			}
		}
		return out, nil
	}
}

// hold blocks a gateway until release is called.
func (w *world) hold(gateway string) (release func()) {
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	w.T.Cleanup(release)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = map[string]chan struct{}{gateway: held}
	return release
}

// Locate implements Locator.
func (w *world) Locate(_ context.Context, userIDs []int64) (places []presence.Destination, unknown []int64) {
	if w.locating != nil {
		w.locating()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range userIDs {
		if slices.Contains(w.unknown, id) {
			unknown = append(unknown, id)
		}
	}
	for _, s := range w.sessions {
		if !slices.Contains(userIDs, s.user) || slices.Contains(w.unknown, s.user) {
			continue
		}
		i := slices.IndexFunc(places, func(d presence.Destination) bool { return d.NodeID == s.gateway })
		if i < 0 {
			i, places = len(places), append(places, presence.Destination{NodeID: s.gateway})
		}
		if !slices.Contains(places[i].UserIDs, s.user) {
			places[i].UserIDs = append(places[i].UserIDs, s.user)
		}
	}
	return places, unknown
}

// online opens a session of a user.
func (w *world) online(userID int64, device wire.DeviceType, gateway string) session {
	w.notifier.Flush() // Notifications sent before must not arrive.
	w.mu.Lock()
	defer w.mu.Unlock()
	s := session{gateway, userID, device}
	w.sessions = append(w.sessions, s)
	return s
}

// advance advances the clock.
func (w *world) advance(d time.Duration) {
	w.notifier.Flush()
	w.Now = w.Now.Add(d)
}

// received returns and clears what a session received.
func (w *world) received(s session) []*wire.AppNotification {
	w.notifier.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.inbox[s]
	delete(w.inbox, s)
	return list
}

// wantNotified checks that exactly these sessions got one notification, with this relay, from the
// requester.
func (w *world) wantNotified(requester int64, relay proto.Message, sessions ...session) {
	w.T.Helper()
	w.notifier.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sessions {
		want := 0
		if slices.Contains(sessions, s) {
			want = 1
		}
		if got := w.inbox[s]; len(got) != want {
			w.T.Errorf("user %d on %s got %d notifications, want %d: %v", s.user, s.device, len(got), want, got)
		} else if want == 1 {
			if got[0].GetRequesterId() != requester || got[0].GetTimestamp() != w.Now.UnixMilli() {
				w.T.Errorf("user %d on %s got %v", s.user, s.device, got[0])
			}
			if relayed := bodyOf(got[0].GetRelayedRequest()); !proto.Equal(relayed, relay) {
				w.T.Errorf("user %d on %s got %v, want %v", s.user, s.device, relayed, relay)
			}
		}
	}
	clear(w.inbox)
}

// bodyOf returns the body of a request.
func bodyOf(r *wire.AppRequest) proto.Message {
	m := r.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if field == nil {
		return nil
	}
	return m.Get(field).Message().Interface()
}

// requestOf wraps a body.
func requestOf(id int64, body proto.Message) *wire.AppRequest {
	r := &wire.AppRequest{RequestId: &id}
	fields := r.ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message() == body.ProtoReflect().Descriptor() {
			r.ProtoReflect().Set(fields.Get(i), protoreflect.ValueOfMessage(body.ProtoReflect()))
			return r
		}
	}
	panic(fmt.Sprintf("%T is no request", body))
}

// answer is a decoded response.
type answer struct {
	Code   apierr.Code
	Reason string
	Data   *wire.AppNotification_Data
}

// request sends a request of a user on a desktop.
func (w *world) request(userID int64, body proto.Message) answer {
	w.T.Helper()
	return w.requestFrom(userID, wire.DeviceType_DESKTOP, requestOf(77, body))
}

// requestFrom sends a request of a user on a device.
func (w *world) requestFrom(userID int64, device wire.DeviceType, r *wire.AppRequest) answer {
	w.T.Helper()
	payload, err := proto.Marshal(r)
	if err != nil {
		w.T.Fatal(err)
	}
	response := w.dispatcher.Dispatch(w.T.Context(), &link.Request{
		UserID: userID, Device: device, SessionID: 5, IP: netip.MustParseAddr("192.0.2.1"), Payload: payload,
	}, nil)
	produced.note(wire.KindOf(r), apierr.Code(response.Code))
	a := answer{Code: apierr.Code(response.Code), Reason: response.Reason, Data: new(wire.AppNotification_Data)}
	if err := proto.Unmarshal(response.Data, a.Data); err != nil {
		w.T.Fatal(err)
	}
	return a
}

// want sends a request and checks the code of the response.
func (w *world) want(code apierr.Code, userID int64, body proto.Message) answer {
	w.T.Helper()
	a := w.request(userID, body)
	if a.Code != code {
		w.T.Fatalf("user %d requests %T: %v %q, want %v", userID, body, a.Code, a.Reason, code)
	}
	return a
}
