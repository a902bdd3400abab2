// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/config"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/link"
	"example.org/app/internal/metrics"
	"example.org/app/internal/presence"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. It is long because of the race detector.
const patience = 60 * time.Second

// A world is a cluster with a service and any number of gateways.
type world struct {
	t       testing.TB
	fabric  *clustertest.Fabric
	db      *store.DB
	service *cluster.Node
	// release continues blocked requests.
	release chan struct{}

	mu       sync.Mutex
	requests []*link.Request
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, fabric: clustertest.Embedded(t), db: storetest.SQLite(t), release: make(chan struct{})}
	w.service = clustertest.Join(t, clustertest.Connect(t, clustertest.Fast(w.fabric.Options)), cluster.NodeOptions{ID: "service", Type: role.Service})
	if err := cluster.Handle(w.service, link.HandleRequest, w.answer); err != nil {
		t.Fatal(err)
	}
	return w
}

// answer is the handler of the service. The text of a message selects what it does.
func (w *world) answer(ctx context.Context, r *link.Request) (*link.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	var request wire.AppRequest
	if err := proto.Unmarshal(r.Payload, &request); err != nil {
		return &link.Response{Code: int32(apierr.InvalidRequest), Corrupted: true}, nil
	}
	command, argument, _ := strings.Cut(request.GetCreateMessageRequest().GetText(), " ")
	switch command {
	case "wait":
		select {
		case <-w.release:
		case <-ctx.Done():
		}
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "fail":
		return nil, errors.New("secret")
	case "refuse":
		return &link.Response{Code: 5001, Reason: "because"}, nil
	case "big":
		n, _ := strconv.Atoi(argument)
		data, _ := proto.Marshal(&wire.AppNotification_Data{Kind: &wire.AppNotification_Data_String_{String_: strings.Repeat("x", n)}})
		return &link.Response{Code: 1000, Data: data}, nil
	}
	data, _ := proto.Marshal(&wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Long{Long: r.UserID}})
	return &link.Response{Code: 1000, Data: data}, nil
}

// deliver sends a notification to users on a gateway, as a service does.
func (w *world) deliver(to *member, text string, except *link.Session, users ...int64) *link.Delivered {
	w.t.Helper()
	payload, _ := proto.Marshal(&wire.AppNotification{
		Timestamp: 1, RequesterId: proto.Int64(9),
		RelayedRequest: &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: &text}}},
	})
	d, err := cluster.CallNode(w.t.Context(), w.service, to.options.Node.ID(), link.Deliver, &link.Delivery{Notification: payload, Recipients: users, Except: except})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// say returns a request whose text selects what the service does.
func say(text string) *wire.CreateMessageRequest { return &wire.CreateMessageRequest{Text: &text} }

// A member is a running gateway.
type member struct {
	*Gateway
	live      *config.Live
	directory *presence.Directory
	ws, tcp   string
	events    *journal
	lines     journal // lines of the request log
}

// Write adds a line of a log.
func (e *journal) Write(line []byte) (int, error) {
	e.add(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// journal records the calls of the functions in the options.
type journal struct {
	mu   sync.Mutex
	list []string
}

func (e *journal) add(parts ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, strings.Join(parts, " "))
}

func (e *journal) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.list...)
}

// gateway starts a gateway. set changes its configuration.
func (w *world) gateway(id string, set ...func(*config.Config)) *member {
	w.t.Helper()
	return w.gatewayOn(w.fabric.Options, id, set...)
}

func (w *world) gatewayOn(o cluster.Options, id string, set ...func(*config.Config)) *member {
	t := w.t
	t.Helper()
	c := config.Default()
	g := &c.Gateway
	g.WebSocket.Host, g.TCP.Host, g.UDP.Host = "127.0.0.1", "127.0.0.1", "127.0.0.1"
	g.WebSocket.Port, g.TCP.Port, g.UDP.Port = 0, 0, 0
	g.Session.IdentityAccessManagement.Type = config.LoginNoop
	g.ClientAPI.RateLimiting = config.RateLimiting{Capacity: 1e6, InitialTokens: 1e6, TokensPerPeriod: 1e6, RefillIntervalMillis: 1}
	for _, change := range set {
		change(c)
	}
	live := config.NewLive(c)
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ports, err := OpenPorts(ctx, portOptions(g))
	if err != nil {
		t.Fatal(err)
	}
	node := clustertest.Join(t, clustertest.Connect(t, clustertest.Fast(o)), cluster.NodeOptions{ID: id, Type: role.Gateway})
	directory, err := presence.Start(ctx, node, presence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(directory.Stop)
	authenticator, err := login.New(ctx, login.Options{
		Settings: func() config.IdentityAccessManagement { return live.Current().Gateway.Session.IdentityAccessManagement },
		Node:     node, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(authenticator.Close)
	rates := requestlog.GatewayRatesOf(g.ClientAPI.Logging)
	m := &member{live: live, directory: directory, events: &journal{}}
	options := Options{
		Node: node, Ports: ports, Settings: func() *config.Gateway { return &live.Current().Gateway },
		Presence: directory, Authenticator: authenticator, Metrics: metrics.New(metrics.BuildInfo{}).Gateway(), Logger: logger,
		Online: func(s *Session, _ []*Session) {
			m.events.add("online", strconv.FormatInt(s.UserID, 10), s.Device.String())
		},
		Offline: func(s *Session, left []*Session, why CloseReason) {
			m.events.add("offline", strconv.FormatInt(s.UserID, 10), s.Device.String(), strconv.Itoa(len(left)), strconv.Itoa(int(why.Status)))
		},
		Requests: requestlog.New(slog.New(slog.NewTextHandler(&m.lines, nil)), func() *requestlog.Rates { return rates }),
		Notified: func(d *link.Delivery, missed []int64) {
			m.events.add("notified", strconv.Itoa(len(d.Recipients)), strconv.Itoa(len(missed)))
		},
	}
	w.blocklists(ctx, &options)
	m.Gateway, err = Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	m.ws, m.tcp = ports.WebSocketURL("127.0.0.1"), ports.TCPURL("127.0.0.1")
	return m
}

// blocklists creates the blocklists of a gateway, which block after five offences.
func (w *world) blocklists(ctx context.Context, o *Options) {
	w.t.Helper()
	list := blocklist.Options{Store: w.db, Enabled: func() bool { return true }, Logger: o.Logger}
	var err error
	if o.BlockedIPs, err = blocklist.NewIPs(ctx, list); err != nil {
		w.t.Fatal(err)
	}
	if o.BlockedUsers, err = blocklist.NewUsers(ctx, list); err != nil {
		w.t.Fatal(err)
	}
	auto := blocklist.AutoOptions{Logger: o.Logger, Rule: func(blocklist.Cause) blocklist.Rule {
		return blocklist.Rule{Enabled: true, Levels: []blocklist.Level{{Duration: time.Hour, Threshold: 5}}}
	}}
	o.AutoIPs, o.AutoUsers = blocklist.NewAutoBlocker(o.BlockedIPs, auto), blocklist.NewAutoBlocker(o.BlockedUsers, auto)
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not happen", what)
		}
		time.Sleep(time.Millisecond)
	}
}

var loopback = netip.MustParseAddr("127.0.0.1")
