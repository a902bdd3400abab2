// SPDX-License-Identifier: Apache-2.0

// Package limit is a server that does what no messenger can leave out, and nothing else: it reads the frames of clients, stores each
// message in a commit that is on disk and that those share who wait, and writes the answer and the notifications. It checks nothing
// and knows no plugins, devices or other nodes. What it reaches is what the machine can do; a messenger is measured by its share of
// that. It is no server for anybody else.
package limit

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

// Options say what is served.
type Options struct {
	// Listener is where clients connect; Serve closes it. URL is the database, as the server itself takes it.
	Listener net.Listener
	URL      string
	// Members is how many users each group has, beginning with the user 1.
	Members int64
}

// codeOK is the status of a request that was carried out.
const codeOK = 1000

// server has the clients that are logged in, by their users.
type server struct {
	members int64
	lanes   []*lane

	mu    sync.RWMutex
	users map[int64]*client
}

// Serve creates the tables and serves clients until ctx ends.
func Serve(ctx context.Context, o Options) (err error) {
	defer o.Listener.Close()
	savers, closeAll, err := openSavers(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	s := &server{members: o.Members, users: map[int64]*client{}}
	var lanes sync.WaitGroup
	failed := make(chan error, len(savers))
	for _, save := range savers {
		l := &lane{server: s, save: save}
		l.filled.L = &l.mu
		s.lanes = append(s.lanes, l)
		lanes.Go(func() { failed <- l.run() })
	}
	defer lanes.Wait()
	defer s.stop()
	go func() {
		for {
			conn, err := o.Listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// stop ends the connections and the lanes.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.users {
		c.conn.Close()
	}
	for _, l := range s.lanes {
		l.stop()
	}
}

// A client is a connection. Lanes add frames to out and write it.
type client struct {
	conn net.Conn
	user int64

	mu  sync.Mutex
	out []byte
}

// serve reads the frames of a client until it goes.
func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 1<<10)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	// The key that load generators send is always the same.
	_, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
	c := &client{conn: conn}
	for err == nil {
		var payload []byte
		if payload, err = readFrame(r); err == nil {
			err = s.receive(c, payload)
		}
	}
}

// readFrame returns the payload of the next frame.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var head [14]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return nil, err
	}
	length, more := uint64(head[1]&0x7f), 4
	switch length {
	case 126:
		more = 6
	case 127:
		more = 12
	}
	if _, err := io.ReadFull(r, head[2:2+more]); err != nil {
		return nil, err
	}
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(head[2:]))
	case 127:
		length = binary.BigEndian.Uint64(head[2:])
	}
	if length > 1<<20 {
		return nil, fmt.Errorf("a frame of %d bytes is too long", length)
	}
	payload, mask := make([]byte, length), head[more-2:]
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, err
	}
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return payload, nil
}

// appendFrame appends the frame of a payload.
func appendFrame(b, payload []byte) []byte {
	const binaryFrame, twoBytes = 0x82, 126
	b = append(b, binaryFrame)
	if n := len(payload); n < twoBytes {
		b = append(b, byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, twoBytes), uint16(n))
	}
	return append(b, payload...)
}

var errKind = errors.New("only logins and messages are served")

// receive carries a request out, or lets a lane do so.
func (s *server) receive(c *client, payload []byte) error {
	request := new(wire.AppRequest)
	if err := proto.Unmarshal(payload, request); err != nil {
		return err
	}
	switch {
	case request.GetCreateSessionRequest() != nil:
		c.user = request.GetCreateSessionRequest().GetUserId()
		s.mu.Lock()
		s.users[c.user] = c
		s.mu.Unlock()
		_, err := c.conn.Write(appendFrame(nil, encode(&wire.AppNotification{RequestId: request.RequestId, Code: proto.Int32(codeOK)})))
		return err
	case request.GetCreateMessageRequest() != nil:
		m := &message{sender: c, request: request, body: request.GetCreateMessageRequest()}
		m.target, m.toGroup = m.body.GetRecipientId(), m.body.GroupId != nil
		if m.toGroup {
			m.target = m.body.GetGroupId()
		}
		s.lanes[uint64(c.user)%uint64(len(s.lanes))].add(m)
		return nil
	}
	return errKind
}

func encode(n *wire.AppNotification) []byte {
	n.Timestamp = time.Now().UnixMilli()
	payload, err := wire.MarshalOptions.Marshal(n)
	if err != nil {
		panic(err) // All texts were read as UTF-8.
	}
	return payload
}

// A message is on its way from a client.
type message struct {
	sender  *client
	request *wire.AppRequest
	body    *wire.CreateMessageRequest
	target  int64
	toGroup bool
	// id and date, in milliseconds, are given when it is stored.
	id, date int64
}

// A lane stores messages together that wait at the same time, those of one sender in their order.
type lane struct {
	server *server
	save   func([]*message) error

	mu      sync.Mutex
	filled  sync.Cond
	waiting []*message
	stopped bool
}

func (l *lane) add(m *message) {
	l.mu.Lock()
	l.waiting = append(l.waiting, m)
	l.mu.Unlock()
	l.filled.Signal()
}

func (l *lane) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.filled.Signal()
}

// maxBatch bounds how many messages share a commit, as the server does.
const maxBatch = 256

// take waits for messages; it returns none when the lane stops.
func (l *lane) take() []*message {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.stopped {
		l.filled.Wait()
	}
	n := min(len(l.waiting), maxBatch)
	taken := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return taken
}

func (l *lane) run() error {
	for {
		batch := l.take()
		if len(batch) == 0 {
			return nil
		}
		for _, m := range batch {
			m.date = time.Now().UnixMilli()
			m.id = nextID(m.date)
		}
		if err := l.save(batch); err != nil {
			return fmt.Errorf("store messages: %w", err)
		}
		l.deliver(batch)
	}
}

// deliver answers and notifies, with one call of the system for each client.
func (l *lane) deliver(batch []*message) {
	var written []*client
	add := func(c *client, payload []byte) {
		c.mu.Lock()
		if len(c.out) == 0 {
			written = append(written, c)
		}
		c.out = appendFrame(c.out, payload)
		c.mu.Unlock()
	}
	s := l.server
	s.mu.RLock()
	for _, m := range batch {
		m.body.MessageId, m.body.DeliveryDate = &m.id, &m.date
		notification := encode(&wire.AppNotification{RequesterId: &m.sender.user, RelayedRequest: m.request})
		if !m.toGroup {
			if c := s.users[m.target]; c != nil {
				add(c, notification)
			}
		}
		for user := int64(1); m.toGroup && user <= s.members; user++ {
			if c := s.users[user]; c != nil && c != m.sender {
				add(c, notification)
			}
		}
		add(m.sender, encode(&wire.AppNotification{
			RequestId: m.request.RequestId, Code: proto.Int32(codeOK),
			Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Long{Long: m.id}},
		}))
	}
	s.mu.RUnlock()
	for _, c := range written {
		c.mu.Lock()
		// A client that is gone has no need of it.
		_, _ = c.conn.Write(c.out)
		c.out = c.out[:0]
		c.mu.Unlock()
	}
}
