// SPDX-License-Identifier: Apache-2.0

// Command goclient is a chat of one user with another in the terminal: what is typed is sent, what
// arrives is printed.
//
//	go run ./examples/goclient -user 1 -password 123 -to 2
//
// Package wire is generated from proto/ by scripts/generate-wire. A client in another module
// generates its own with protoc or buf; docs/protocol.md describes what is used here.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

// heartbeatInterval is the interval of heartbeats. The server closes sessions that are silent for
// three minutes.
const heartbeatInterval = time.Minute

func main() {
	server := flag.String("server", "ws://localhost:10510", "URL of app-gateway")
	user := flag.Int64("user", 0, "id of the user who logs in")
	password := flag.String("password", "", "password of the user")
	to := flag.Int64("to", 0, "id of the user to chat with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := chat(ctx, *server, *user, *password, *to, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "goclient:", err)
		os.Exit(1)
	}
}

// chat logs in, sends each line of in to a user and prints received messages to out, until in ends
// or the server closes the session.
func chat(ctx context.Context, server string, user int64, password string, to int64, in io.Reader, out io.Writer) error {
	c, err := dial(ctx, server, func(from int64, text string) { fmt.Fprintf(out, "%d: %s\n", from, text) })
	if err != nil {
		return err
	}
	defer c.close()
	if _, err := c.do(ctx, &wire.AppRequest{Kind: &wire.AppRequest_CreateSessionRequest{CreateSessionRequest: &wire.CreateSessionRequest{
		Version: wire.Version, UserId: user, Password: &password, DeviceType: wire.DeviceType_DESKTOP,
	}}}); err != nil {
		return fmt.Errorf("log in as user %d: %w", user, err)
	}
	go c.heartbeats(ctx)
	fmt.Fprintf(out, "logged in as %d\n", user)
	typed := lines(in)
	for {
		select {
		case text, more := <-typed:
			if !more {
				return nil
			}
			_, err := c.do(ctx, &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
				RecipientId: &to, Text: &text,
			}}})
			switch refused := (*refusal)(nil); {
			case errors.As(err, &refused):
				fmt.Fprintf(out, "not sent: %v\n", refused) // The session goes on.
			case err != nil:
				return err
			}
		case <-c.done:
			return c.err
		case <-ctx.Done():
			return nil
		}
	}
}

// lines returns the lines of the input. The channel is closed at the end of the input.
func lines(in io.Reader) <-chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			typed <- scanner.Text()
		}
	}()
	return typed
}

// A refusal is a response other than success.
type refusal struct {
	code   int32
	reason string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.code, r.reason) }

// A client is a connection to a gateway. It is safe for concurrent use.
type client struct {
	conn      *websocket.Conn
	onMessage func(from int64, text string)
	// done is closed when the connection has ended, after err was set.
	done chan struct{}
	err  error

	mu      sync.Mutex
	lastID  int64
	pending map[int64]chan *wire.AppNotification
}

func dial(ctx context.Context, server string, onMessage func(from int64, text string)) (*client, error) {
	conn, resp, err := websocket.Dial(ctx, server, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	conn.SetReadLimit(16 << 20)
	c := &client{conn: conn, onMessage: onMessage, done: make(chan struct{}), pending: map[int64]chan *wire.AppNotification{}}
	go func() {
		defer close(c.done)
		c.err = c.read(context.WithoutCancel(ctx))
	}()
	return c, nil
}

// close disconnects and waits until nothing more arrives.
func (c *client) close() {
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	<-c.done
}

// do sends a request and returns its response.
func (c *client) do(ctx context.Context, r *wire.AppRequest) (*wire.AppNotification, error) {
	answer := make(chan *wire.AppNotification, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.pending[id] = answer
	c.mu.Unlock()
	r.RequestId = &id
	payload, err := proto.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := c.conn.Write(ctx, websocket.MessageBinary, payload); err != nil {
		return nil, err
	}
	select {
	case n := <-answer:
		if n.GetCode() < 1000 || n.GetCode() >= 1100 {
			return nil, &refusal{n.GetCode(), n.GetReason()}
		}
		return n, nil
	case <-c.done:
		return nil, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read reads from the server until the connection ends, and returns why it ended.
func (c *client) read(ctx context.Context) error {
	for {
		_, payload, err := c.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("the connection ended: %w", err)
		}
		if len(payload) == 0 {
			continue // The response to a heartbeat.
		}
		n := &wire.AppNotification{}
		if err := proto.Unmarshal(payload, n); err != nil {
			return fmt.Errorf("decode a notification: %w", err)
		}
		switch {
		case n.GetCloseStatus() != 0:
			_ = c.conn.Close(websocket.StatusNormalClosure, "")
			return fmt.Errorf("the server closed the session with the status %d", n.GetCloseStatus())
		case n.RelayedRequest != nil:
			if m := n.RelayedRequest.GetCreateMessageRequest(); m != nil {
				c.onMessage(n.GetRequesterId(), m.GetText())
			}
		case n.RequestId != nil:
			c.mu.Lock()
			answer := c.pending[*n.RequestId]
			delete(c.pending, *n.RequestId)
			c.mu.Unlock()
			if answer != nil {
				answer <- n
			}
		}
	}
}

// heartbeats sends heartbeats, which keep the session open. An empty message is a heartbeat.
func (c *client) heartbeats(ctx context.Context) {
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if c.conn.Write(ctx, websocket.MessageBinary, nil) != nil {
				return
			}
		case <-c.done:
			return
		}
	}
}
