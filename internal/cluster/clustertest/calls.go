// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
)

type greeting struct{ Text string }

var greet = cluster.Endpoint[greeting, greeting]{Name: "test.greet", Role: role.Service}

func handle(t testing.TB, n *cluster.Node, fn func(ctx context.Context, req *greeting) (*greeting, error)) {
	t.Helper()
	if err := cluster.Handle(n, greet, fn); err != nil {
		t.Fatal(err)
	}
}

// named returns a handler that answers with the id of the node.
func named(n *cluster.Node) func(context.Context, *greeting) (*greeting, error) {
	return func(context.Context, *greeting) (*greeting, error) { return &greeting{Text: n.ID()}, nil }
}

// gateway joins a node that calls.
func (s *suite) gateway(t testing.TB, id string, change func(o *cluster.Options)) *cluster.Node {
	t.Helper()
	return Join(t, s.connect(t, change), cluster.NodeOptions{ID: id, Type: role.Gateway})
}

// awaitCall repeats the call until it succeeds: subscriptions of other connections propagate with a
// delay.
func awaitCall(t testing.TB, n *cluster.Node) {
	t.Helper()
	Await(t, n.Cluster(), "a call that succeeds", func() bool {
		_, err := cluster.Call(context.Background(), n, greet, &greeting{})
		return err == nil
	})
}

func wantCode(t testing.TB, err error, code apierr.Code, target error) {
	t.Helper()
	business, ok := errors.AsType[*apierr.Error](err)
	if !ok || business.Code != code || target != nil && !errors.Is(err, target) {
		t.Errorf("error is %#v (%v), want code %v around %v", err, err, code, target)
	}
}

// both runs the test with a handler in another process's connection and with one in the caller's.
func (s *suite) both(t *testing.T, change func(o *cluster.Options), test func(t *testing.T, caller, callee *cluster.Node)) {
	t.Run("Remote", func(t *testing.T) {
		test(t, s.gateway(t, "remote-caller", change), s.service(t, "remote-callee", change))
	})
	t.Run("Local", func(t *testing.T) {
		c := s.connect(t, change)
		caller := Join(t, c, cluster.NodeOptions{ID: "local-caller", Type: role.Gateway})
		test(t, caller, Join(t, c, cluster.NodeOptions{ID: "local-callee", Type: role.Service}))
	})
}

func testCall(t *testing.T, s *suite) {
	s.both(t, nil, func(t *testing.T, caller, callee *cluster.Node) {
		handle(t, callee, func(_ context.Context, req *greeting) (*greeting, error) {
			if req.Text == "nothing" {
				return nil, nil
			}
			return &greeting{Text: "hello " + req.Text}, nil
		})
		awaitCall(t, caller)
		resp, err := cluster.Call(t.Context(), caller, greet, &greeting{Text: "you"})
		if err != nil || resp.Text != "hello you" {
			t.Errorf("response is %v, %v", resp, err)
		}
		if resp, err := cluster.Call(t.Context(), caller, greet, &greeting{Text: "nothing"}); err != nil || resp == nil || resp.Text != "" {
			t.Errorf("response is %v, %v", resp, err)
		}
		if resp, err := cluster.CallNode(t.Context(), caller, callee.ID(), greet, &greeting{Text: "node"}); err != nil || resp.Text != "hello node" {
			t.Errorf("response of the named node is %v, %v", resp, err)
		}
		double := cluster.Endpoint[wrapperspb.Int64Value, wrapperspb.Int64Value]{Name: "test.double", Role: role.Service, Codec: cluster.Protobuf}
		err = cluster.Handle(callee, double, func(_ context.Context, req *wrapperspb.Int64Value) (*wrapperspb.Int64Value, error) {
			return wrapperspb.Int64(2 * req.Value), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		Await(t, caller.Cluster(), "a protobuf call", func() bool {
			resp, err := cluster.Call(t.Context(), caller, double, wrapperspb.Int64(21))
			return err == nil && resp.Value == 42
		})
		if err := cluster.Handle(callee, greet, named(callee)); err == nil {
			t.Error("an endpoint was handled twice")
		}
		if err := cluster.Handle(caller, greet, named(caller)); err == nil {
			t.Error("a gateway handled an endpoint of services")
		}
		leave(t, callee)
	})
}

func testCallBalance(t *testing.T, s *suite) {
	caller := s.gateway(t, "caller", nil)
	for _, id := range []string{"a", "b", "c"} {
		n := s.service(t, id, nil)
		handle(t, n, named(n))
	}
	seen := map[string]int{}
	Await(t, caller.Cluster(), "calls to all three nodes", func() bool {
		resp, err := cluster.Call(t.Context(), caller, greet, &greeting{})
		if err == nil {
			seen[resp.Text]++
		}
		return seen["a"] > 10 && seen["b"] > 10 && seen["c"] > 10
	})
}

func testCallDeadline(t *testing.T, s *suite) {
	s.both(t, func(o *cluster.Options) { o.CallTimeout = 20 * time.Second }, func(t *testing.T, caller, callee *cluster.Node) {
		type state struct {
			left  time.Duration
			cause error
		}
		states := make(chan state, 1)
		handle(t, callee, func(ctx context.Context, req *greeting) (*greeting, error) {
			if req.Text == "" {
				return nil, nil
			}
			deadline, _ := ctx.Deadline()
			left := time.Until(deadline)
			if req.Text == "wait" {
				<-ctx.Done()
			}
			states <- state{left, ctx.Err()}
			return nil, ctx.Err()
		})
		awaitCall(t, caller)
		if _, err := cluster.Call(t.Context(), caller, greet, &greeting{Text: "default"}); err != nil {
			t.Error(err)
		}
		if got := receive(t, "the default deadline", states); got.left < 10*time.Second || got.left > 20*time.Second {
			t.Errorf("the handler of a call without deadline has %v left, want some of 20s", got.left)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := cluster.Call(ctx, caller, greet, &greeting{Text: "wait"})
		wantCode(t, err, apierr.ServerUnavailable, cluster.ErrTimeout)
		if got := receive(t, "the end of the handler", states); got.left > 200*time.Millisecond || got.cause == nil {
			t.Errorf("the handler had %v left and ended with %v", got.left, got.cause)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if _, err := cluster.Call(ctx, caller, greet, &greeting{Text: "never"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
		leave(t, callee)
	})
}

func testCallRetry(t *testing.T, s *suite) {
	caller := s.gateway(t, "caller", nil)
	_, err := cluster.Call(t.Context(), caller, greet, &greeting{})
	wantCode(t, err, apierr.ServerUnavailable, cluster.ErrNoNode)
	_, err = cluster.CallNode(t.Context(), caller, "nobody", greet, &greeting{})
	wantCode(t, err, apierr.ServerUnavailable, cluster.ErrNoNode)
	var count atomic.Int64
	callee := s.service(t, "callee", nil)
	// The node does not accept calls yet. A call with an order calls Route.To before each attempt.
	AwaitMembers(t, caller.Cluster(), "callee", "caller")
	var steps []string
	_, err = cluster.CallBy(t.Context(), caller, greet, cluster.Route{
		Key: 1,
		To: func(_ context.Context, _ string, again bool) error {
			steps = append(steps, fmt.Sprintf("turn, again %t", again))
			return nil
		},
		Sent: func() { steps = append(steps, "sent") },
	}, &greeting{})
	wantCode(t, err, apierr.ServerUnavailable, cluster.ErrNoNode)
	if want := []string{"turn, again false", "sent", "turn, again true", "sent"}; !slices.Equal(steps, want) {
		t.Errorf("a call whose order matters took the steps %q, want %q", steps, want)
	}
	handle(t, callee, func(ctx context.Context, req *greeting) (*greeting, error) {
		if req.Text == "" {
			return nil, nil
		}
		count.Add(1)
		return nil, apierr.New(apierr.ServerUnavailable, "not now")
	})
	awaitCall(t, caller)
	if _, err := cluster.Call(t.Context(), caller, greet, &greeting{Text: "x"}); err == nil || count.Load() != 1 {
		t.Errorf("a call that failed at the handler was delivered %d times, error %v", count.Load(), err)
	}
}

// testCallReady joins a node with Preparing: it accepts calls to its role only after Ready.
func testCallReady(t *testing.T, s *suite) {
	caller := s.gateway(t, "caller", nil)
	callee := Join(t, s.connect(t, nil), cluster.NodeOptions{ID: "callee", Type: role.Service, Preparing: true})
	handle(t, callee, named(callee))
	AwaitMembers(t, caller.Cluster(), "callee", "caller")
	if _, err := cluster.CallNode(t.Context(), caller, "callee", greet, &greeting{}); err != nil {
		t.Errorf("a call by name: %v", err)
	}
	for name, route := range map[string]cluster.Route{"any": {}, "key": {Key: 1}} {
		_, err := cluster.CallBy(t.Context(), caller, greet, route, &greeting{})
		if wantCode(t, err, apierr.ServerUnavailable, cluster.ErrNoNode); callee.Accepting() {
			t.Errorf("%s: the node accepts calls", name)
		}
	}
	if list := cluster.Candidates(caller.Cluster(), role.Service); len(list) != 0 {
		t.Errorf("candidates: %v", list)
	}
	callee.Ready()
	awaitCall(t, caller)
	Await(t, caller.Cluster(), "the node as a candidate", func() bool { return len(cluster.Candidates(caller.Cluster(), role.Service)) == 1 })
}

func testCallSize(t *testing.T, s *suite) {
	const limit = 4096
	caller := s.gateway(t, "caller", func(o *cluster.Options) { o.MaxPayload = limit })
	callee := s.service(t, "callee", func(o *cluster.Options) { o.MaxPayload = limit })
	handle(t, callee, func(_ context.Context, req *greeting) (*greeting, error) {
		return &greeting{Text: req.Text + req.Text}, nil
	})
	awaitCall(t, caller)
	for _, test := range []struct {
		size int
		ok   bool
	}{{1000, true}, {3000, false}, {5000, false}} {
		_, err := cluster.Call(t.Context(), caller, greet, &greeting{Text: strings.Repeat("x", test.size)})
		if test.ok && err != nil {
			t.Errorf("%d bytes: %v", test.size, err)
		}
		if !test.ok {
			wantCode(t, err, apierr.ServerInternalError, cluster.ErrTooLarge)
			if sizeErr, ok := errors.AsType[*cluster.SizeError](err); !ok || sizeErr.Limit != limit || sizeErr.Size <= limit {
				t.Errorf("%d bytes: size error %+v", test.size, sizeErr)
			}
		}
	}
	if err := caller.Publish(t.Context(), "test", make([]byte, limit+1)); !errors.Is(err, cluster.ErrTooLarge) {
		t.Errorf("publish: %v", err)
	}
}

func testCallProtocol(t *testing.T, s *suite) {
	callee := s.service(t, "callee", func(o *cluster.Options) { o.Protocol = cluster.Protocol{Major: 3, Minor: 5} })
	handle(t, callee, named(callee))
	// A caller with a compatible protocol shows when the subscription is known.
	awaitCall(t, s.gateway(t, "same", func(o *cluster.Options) { o.Protocol = cluster.Protocol{Major: 3, Minor: 5} }))
	for _, test := range []struct {
		id       string
		protocol cluster.Protocol
		ok       bool
	}{
		{"newer", cluster.Protocol{Major: 3, Minor: 6}, true},
		{"older", cluster.Protocol{Major: 3, Minor: 4}, true},
		{"too-new", cluster.Protocol{Major: 3, Minor: 7}, false},
		{"too-old", cluster.Protocol{Major: 3, Minor: 3}, false},
		{"other", cluster.Protocol{Major: 4, Minor: 5}, false},
	} {
		caller := s.gateway(t, test.id, func(o *cluster.Options) { o.Protocol = test.protocol })
		_, err := cluster.Call(t.Context(), caller, greet, &greeting{})
		if test.ok && err != nil {
			t.Errorf("%v: %v", test.protocol, err)
		}
		if !test.ok {
			wantCode(t, err, apierr.ServerUnavailable, cluster.ErrProtocol)
			if protocolErr, ok := errors.AsType[*cluster.ProtocolError](err); !ok || protocolErr.Caller != test.protocol {
				t.Errorf("%v: protocol error %+v", test.protocol, protocolErr)
			}
		}
	}
}

func testCallErrors(t *testing.T, s *suite) {
	s.both(t, nil, func(t *testing.T, caller, callee *cluster.Node) {
		handle(t, callee, func(_ context.Context, req *greeting) (*greeting, error) {
			switch req.Text {
			case "business":
				return nil, &apierr.Error{Code: apierr.ResourceNotFound, Status: 418, Reason: "no such thing", Err: errors.New("secret")}
			case "inside":
				return nil, errors.New("secret")
			case "panic":
				panic("secret")
			}
			return nil, nil
		})
		awaitCall(t, caller)
		for _, test := range []struct {
			text string
			want apierr.Error
		}{
			{"business", apierr.Error{Code: apierr.ResourceNotFound, Status: 418, Reason: "no such thing"}},
			{"inside", apierr.Error{Code: apierr.ServerInternalError, Reason: apierr.ServerInternalError.Text()}},
			{"panic", apierr.Error{Code: apierr.ServerInternalError, Reason: apierr.ServerInternalError.Text()}},
		} {
			_, err := cluster.Call(t.Context(), caller, greet, &greeting{Text: test.text})
			if got, ok := errors.AsType[*apierr.Error](err); !ok || *got != test.want {
				t.Errorf("%s: error %#v, want %#v", test.text, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: error %q tells of the inside", test.text, err)
			}
		}
		leave(t, callee)
	})
}

func testCallBusy(t *testing.T, s *suite) {
	s.both(t, func(o *cluster.Options) { o.MaxConcurrentCalls = 2 }, func(t *testing.T, caller, callee *cluster.Node) {
		started, release := make(chan struct{}), make(chan struct{})
		handle(t, callee, func(_ context.Context, req *greeting) (*greeting, error) {
			if req.Text == "block" {
				started <- struct{}{}
				<-release
			}
			return nil, nil
		})
		awaitCall(t, caller)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if _, err := cluster.Call(context.Background(), caller, greet, &greeting{Text: "block"}); err != nil {
					t.Errorf("a call within the bound: %v", err)
				}
			})
			receive(t, "the start of a handler", started)
		}
		_, err := cluster.Call(t.Context(), caller, greet, &greeting{})
		wantCode(t, err, apierr.ServerUnavailable, cluster.ErrBusy)
		close(release)
		group.Wait()
		awaitCall(t, caller)
		leave(t, callee)
	})
}

func testCallState(t *testing.T, s *suite) {
	s.both(t, nil, func(t *testing.T, caller, callee *cluster.Node) {
		handle(t, callee, named(callee))
		awaitCall(t, caller)
		var unhealthy atomic.Bool
		callee.SetHealth(func(context.Context) error {
			if unhealthy.Load() {
				return errors.New("no database")
			}
			return nil
		})
		refused := func() bool {
			_, err := cluster.Call(t.Context(), caller, greet, &greeting{})
			return errors.Is(err, cluster.ErrNoNode)
		}
		unhealthy.Store(true)
		callee.CheckHealth()
		Await(t, caller.Cluster(), "no calls to an unhealthy node", refused)
		if _, err := cluster.CallNode(t.Context(), caller, callee.ID(), greet, &greeting{}); err != nil {
			t.Errorf("call the unhealthy node itself: %v", err)
		}
		unhealthy.Store(false)
		callee.CheckHealth()
		awaitCall(t, caller)
		off, on := false, true
		if err := caller.Cluster().UpdateMember(t.Context(), callee.ID(), cluster.MemberChange{Active: &off}); err != nil {
			t.Fatal(err)
		}
		Await(t, caller.Cluster(), "no calls to an inactive node", refused)
		if err := caller.Cluster().UpdateMember(t.Context(), callee.ID(), cluster.MemberChange{Active: &on}); err != nil {
			t.Fatal(err)
		}
		awaitCall(t, caller)
		leave(t, callee)
		if !refused() {
			t.Error("a node that left took a call")
		}
	})
}

func testCallDrain(t *testing.T, s *suite) {
	caller, callee := s.gateway(t, "caller", nil), s.service(t, "callee", nil)
	started, release := make(chan struct{}), make(chan struct{})
	handle(t, callee, func(_ context.Context, req *greeting) (*greeting, error) {
		if req.Text == "block" {
			close(started)
			<-release
		}
		return req, nil
	})
	awaitCall(t, caller)
	done := make(chan error, 1)
	go func() {
		_, err := cluster.Call(context.Background(), caller, greet, &greeting{Text: "block"})
		done <- err
	}()
	receive(t, "the start of the handler", started)
	left := make(chan error, 1)
	go func() { left <- callee.Leave(context.Background()) }()
	Await(t, caller.Cluster(), "no new calls", func() bool {
		_, err := cluster.Call(t.Context(), caller, greet, &greeting{})
		return errors.Is(err, cluster.ErrNoNode)
	})
	close(release)
	if err := receive(t, "the answer of the running call", done); err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := receive(t, "the end of the node", left); err != nil {
		t.Error(err)
	}
}
