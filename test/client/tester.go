// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

// patience limits every wait of a test. It is long because the race detector makes everything slow.
const patience = 60 * time.Second

// A Tester is a client that fails the test on any error or unexpected response.
type Tester struct {
	*Client
	t testing.TB
}

// Connect connects. The client disconnects when the test ends.
func Connect(t testing.TB, url string, options ...Options) *Tester {
	t.Helper()
	var o Options
	for _, given := range options {
		o = given
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := Dial(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Tester{c, t}
}

// LogIn connects and logs a user in; set may change the request.
func LogIn(t testing.TB, url string, userID int64, set ...func(*wire.CreateSessionRequest)) *Tester {
	t.Helper()
	c := Connect(t, url)
	c.MustLogin(userID, set...)
	return c
}

// With returns an option for a login: the device type.
func With(device wire.DeviceType) func(*wire.CreateSessionRequest) {
	return func(r *wire.CreateSessionRequest) { r.DeviceType = device }
}

// WithPassword returns an option for a login: the password.
func WithPassword(password string) func(*wire.CreateSessionRequest) {
	return func(r *wire.CreateSessionRequest) { r.Password = &password }
}

func loginRequest(userID int64, set []func(*wire.CreateSessionRequest)) *wire.CreateSessionRequest {
	r := &wire.CreateSessionRequest{Version: wire.Version, UserId: userID}
	for _, change := range set {
		change(r)
	}
	return r
}

// MustLogin logs a user in.
func (c *Tester) MustLogin(userID int64, set ...func(*wire.CreateSessionRequest)) {
	c.t.Helper()
	c.WantCode(loginRequest(userID, set), 1000)
}

// RefusedLogin tries to log in and expects a code.
func (c *Tester) RefusedLogin(code int32, userID int64, set ...func(*wire.CreateSessionRequest)) {
	c.t.Helper()
	c.WantCode(loginRequest(userID, set), code)
}

// Request sends a request, which must succeed.
func (c *Tester) Request(body proto.Message) *wire.AppNotification {
	c.t.Helper()
	n := c.Response(body)
	if n.GetCode() < 1000 || n.GetCode() >= 1100 {
		c.t.Fatalf("%T was answered with %d %q", body, n.GetCode(), n.GetReason())
	}
	return n
}

// Response sends a request and returns the response, whatever its code.
func (c *Tester) Response(body proto.Message) *wire.AppNotification {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	n, err := c.Do(ctx, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// WantCode sends a request and expects a code.
func (c *Tester) WantCode(body proto.Message, code int32) *wire.AppNotification {
	c.t.Helper()
	n := c.Response(body)
	if n.GetCode() != code {
		c.t.Fatalf("%T was answered with %d %q, want %d", body, n.GetCode(), n.GetReason(), code)
	}
	return n
}

// Expect waits for a notification that match accepts.
func (c *Tester) Expect(match func(*wire.AppNotification) bool) *wire.AppNotification {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	n, err := c.Await(ctx, match)
	if err != nil {
		c.t.Fatalf("the notification did not come: %v; what came: %s", err, c.summary())
	}
	return n
}

// summary returns the unread notifications, each shortened.
func (c *Tester) summary() string {
	const length = 200
	var all []string
	for _, n := range c.Inbox() {
		text := n.String()
		all = append(all, text[:min(len(text), length)])
	}
	return strings.Join(all, "; ")
}

// Relayed waits for a notification that relays a request of the kind.
func (c *Tester) Relayed(kind wire.Kind) *wire.AppNotification {
	c.t.Helper()
	return c.Expect(func(n *wire.AppNotification) bool {
		return n.RelayedRequest != nil && wire.KindOf(n.RelayedRequest) == kind
	})
}

// SessionInfo waits for the notification with the ids of session and server.
func (c *Tester) SessionInfo() *wire.UserSession {
	c.t.Helper()
	return c.Expect(func(n *wire.AppNotification) bool { return n.GetData().GetUserSession() != nil }).Data.GetUserSession()
}

// Beat sends a heartbeat, which must succeed.
func (c *Tester) Beat() {
	c.t.Helper()
	if code := c.BeatCode(); code != 0 {
		c.t.Fatalf("the heartbeat was answered with %d", code)
	}
}

// BeatCode sends a heartbeat and returns the code of the failure, or 0.
func (c *Tester) BeatCode() int32 {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	err := c.Heartbeat(ctx)
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return failure.Notification.GetCode()
	case err != nil:
		c.t.Fatal(err)
	}
	return 0
}

// Closed waits until the server closes the session, and expects the status.
func (c *Tester) Closed(status wire.CloseStatus) *wire.AppNotification {
	c.t.Helper()
	n := c.Expect(func(n *wire.AppNotification) bool { return n.CloseStatus != nil })
	if got := wire.CloseStatus(n.GetCloseStatus()); got != status {
		c.t.Fatalf("the session was closed with the status %d, want %d", got, status)
	}
	return n
}

// Dropped waits until the connection has ended, and expects no notification about it.
func (c *Tester) Dropped() {
	c.t.Helper()
	c.Gone()
	for _, n := range c.Inbox() {
		if n.CloseStatus != nil {
			c.t.Fatalf("the session was closed with the status %d", n.GetCloseStatus())
		}
	}
}

// Gone waits until the connection has ended.
func (c *Tester) Gone() {
	c.t.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		c.t.Fatal("the connection is still open")
	}
}

// Must fails the test if a step did.
func (c *Tester) Must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *Tester) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.t.Context()), patience)
}
