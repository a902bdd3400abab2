// SPDX-License-Identifier: Apache-2.0

// Package client is a client of the protocol for tests and load generators: it connects, logs in,
// sends requests and waits for responses and notifications. It is not a library for applications,
// because it keeps every notification until it is read.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/wire"
)

// ErrClosed means that the connection has ended.
var ErrClosed = errors.New("the connection has ended")

// Options configure a connection. The zero value is valid.
type Options struct {
	// TLS is for wss and tls; nil uses the root certificates of the system.
	TLS *tls.Config
	// Header is added to the request that opens a WebSocket.
	Header http.Header
	// Preamble is sent first, as a proxy does.
	Preamble []byte
	// Stay keeps the connection open after the server has closed the session. Otherwise the client
	// disconnects, as clients should.
	Stay bool
	// Discard counts and drops notifications that are not responses.
	Discard bool
}

// A Client is a connection to a gateway. It is safe for concurrent use.
type Client struct {
	options Options
	pipe    pipe
	nextID  atomic.Int64
	// Discarded counts the notifications dropped by Options.Discard.
	Discarded atomic.Int64

	mu      sync.Mutex
	inbox   []*wire.AppNotification
	pending map[int64]chan *wire.AppNotification
	beats   []chan error
	// changed is closed and replaced when a notification arrives.
	changed chan struct{}
	err     error
	done    chan struct{}
}

// Dial connects to ws://, wss://, tcp:// or tls://host:port.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	p, err := dial(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", url, err)
	}
	c := &Client{options: o, pipe: p, pending: map[int64]chan *wire.AppNotification{}, changed: make(chan struct{}), done: make(chan struct{})}
	go c.read()
	return c, nil
}

// Close disconnects and waits until nothing more can arrive.
func (c *Client) Close() {
	c.pipe.close()
	<-c.done
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// read receives notifications until the connection ends.
func (c *Client) read() {
	var err error
	for err == nil {
		var payload []byte
		if payload, err = c.pipe.read(); err == nil {
			err = c.take(payload)
		}
	}
	c.pipe.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("%w: %w", ErrClosed, err)
	for _, n := range c.inbox {
		if n.CloseStatus != nil {
			c.err = fmt.Errorf("%w: the server closed the session with the status %d", ErrClosed, *n.CloseStatus)
		}
	}
	for _, beat := range c.beats {
		beat <- c.err
	}
	c.beats = nil
	c.announce()
	close(c.done)
}

func (c *Client) take(payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(payload) == 0 {
		return c.beat(nil)
	}
	n := &wire.AppNotification{}
	if err := proto.Unmarshal(payload, n); err != nil {
		return fmt.Errorf("decode a notification: %w", err)
	}
	switch {
	case n.GetRequestId() == wire.HeartbeatID:
		return c.beat(&Failure{n})
	case n.RequestId != nil && n.RelayedRequest == nil && c.pending[*n.RequestId] != nil:
		c.pending[*n.RequestId] <- n
		delete(c.pending, *n.RequestId)
		return nil
	case c.options.Discard && n.CloseStatus == nil:
		c.Discarded.Add(1)
		return nil
	}
	c.inbox = append(c.inbox, n)
	c.announce()
	if n.GetCloseStatus() != 0 && !c.options.Stay {
		c.pipe.close()
	}
	return nil
}

// A Failure is a response with a code other than success.
type Failure struct{ Notification *wire.AppNotification }

func (f *Failure) Error() string {
	return fmt.Sprintf("the server answered %d %s", f.Notification.GetCode(), f.Notification.GetReason())
}

// beat ends the oldest heartbeat.
func (c *Client) beat(err error) error {
	if len(c.beats) == 0 {
		return errors.New("a heartbeat was answered that was not sent")
	}
	c.beats[0] <- err
	c.beats = c.beats[1:]
	return nil
}

func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Payload encodes a request. The body is one of the messages that AppRequest can hold.
func Payload(id int64, body proto.Message) []byte {
	return payload(&wire.AppRequest{RequestId: &id}, body)
}

func payload(request *wire.AppRequest, body proto.Message) []byte {
	m := request.ProtoReflect()
	fields := m.Descriptor().Oneofs().ByName("kind").Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message() == body.ProtoReflect().Descriptor() {
			m.Set(fields.Get(i), protoreflect.ValueOfMessage(body.ProtoReflect()))
		}
	}
	encoded, err := proto.Marshal(request)
	if err != nil {
		panic(err) // Only text that is not UTF-8 can cause this.
	}
	return encoded
}

// Send sends a request and returns its id. The response arrives as a notification.
func (c *Client) Send(body proto.Message) (int64, error) {
	id := c.nextID.Add(1)
	return id, c.SendPayload(Payload(id, body))
}

// Begin sends a request with an idempotency key. answer waits for the response. Without a response,
// the caller may send the same request again, also over another connection.
func (c *Client) Begin(key string, body proto.Message) (answer func(context.Context) (*wire.AppNotification, error), err error) {
	id := c.nextID.Add(1)
	text := func(s string) *wire.Value { return &wire.Value{Kind: &wire.Value_StringValue{StringValue: s}} }
	request := &wire.AppRequest{RequestId: &id, CustomAttributes: []*wire.Value{{ListValue: []*wire.Value{text("idempotency-key"), text(key)}}}}
	return c.begin(id, payload(request, body))
}

// SendPayload sends any payload in a frame.
func (c *Client) SendPayload(payload []byte) error { return c.pipe.write(payload) }

// SendBytes sends bytes that need not be a frame.
func (c *Client) SendBytes(b []byte) error { return c.pipe.writeRaw(b) }

// Do sends a request and returns the response, whatever its code.
func (c *Client) Do(ctx context.Context, body proto.Message) (*wire.AppNotification, error) {
	id := c.nextID.Add(1)
	answer, err := c.begin(id, Payload(id, body))
	if err != nil {
		return nil, err
	}
	n, err := answer(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("await the response to %T: %w", body, err)
	}
	return n, err
}

// begin sends a request. await waits for the response.
func (c *Client) begin(id int64, payload []byte) (await func(context.Context) (*wire.AppNotification, error), err error) {
	answer := make(chan *wire.AppNotification, 1)
	c.mu.Lock()
	c.pending[id] = answer
	c.mu.Unlock()
	if err := c.SendPayload(payload); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*wire.AppNotification, error) {
		select {
		case n := <-answer:
			return n, nil
		case <-c.done:
			select {
			case n := <-answer:
				return n, nil
			default:
				return nil, c.Err()
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, nil
}

// Login opens a session. A response other than success is a *Failure.
func (c *Client) Login(ctx context.Context, r *wire.CreateSessionRequest) error {
	n, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	if n.GetCode() < 1000 || n.GetCode() >= 1100 {
		return &Failure{n}
	}
	return nil
}

// Heartbeat sends a heartbeat and waits for the response.
func (c *Client) Heartbeat(ctx context.Context) error {
	beat := make(chan error, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.beats = append(c.beats, beat)
	c.mu.Unlock()
	if err := c.SendPayload(nil); err != nil {
		return err
	}
	select {
	case err := <-beat:
		return err
	case <-ctx.Done():
		return fmt.Errorf("await the answer to a heartbeat: %w", ctx.Err())
	}
}

// Await waits for the first notification that match accepts, removes and returns it. Earlier ones
// stay.
func (c *Client) Await(ctx context.Context, match func(*wire.AppNotification) bool) (*wire.AppNotification, error) {
	for {
		c.mu.Lock()
		for i, n := range c.inbox {
			if match(n) {
				c.inbox = append(c.inbox[:i:i], c.inbox[i+1:]...)
				c.mu.Unlock()
				return n, nil
			}
		}
		changed, err := c.changed, c.err
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Inbox returns the unread notifications.
func (c *Client) Inbox() []*wire.AppNotification {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*wire.AppNotification(nil), c.inbox...)
}
