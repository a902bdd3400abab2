// SPDX-License-Identifier: Apache-2.0

// Package limit is a minimal messaging server that does only what no messenger can omit: it reads
// the frames of clients, stores each message in a durable commit that waiting messages share, and
// writes responses and notifications. It checks nothing and has no plugins, devices or other nodes.
// Its throughput is what the machine can do; a messenger is measured by its share of that. It is
// only for benchmarks.
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

// Options configure the server.
type Options struct {
	// Listener accepts the connections of clients; Serve closes it. URL is the database, in the
	// format of the server.
	Listener net.Listener
	URL      string
	// Members is the number of users in each group, starting with user 1.
	Members int64
}

// codeOK is the status of a successful request.
const codeOK = 1000

// server has the logged-in clients by user.
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

// stop closes the connections and stops the lanes.
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

// A client is a connection. Lanes append frames to out and write it.
type client struct {
	conn net.Conn
	user int64

	mu  sync.Mutex
	out []byte
}

// serve reads the frames of a client until it disconnects.
func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 1<<10)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	// Load generators always send the same key.
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

// appendFrame appends a frame with a payload.
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

// receive carries out a request, or passes it to a lane.
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

// A message is a message of a client until it is acknowledged.
type message struct {
	sender  *client
	request *wire.AppRequest
	body    *wire.CreateMessageRequest
	target  int64
	toGroup bool
	// id and date, in milliseconds, are set when it is stored.
	id, date int64
}

// A lane stores messages that wait at the same time together, those of one sender in order.
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

// maxBatch limits how many messages share a commit, as the server does.
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

// deliver sends responses and notifications, with one system call for each client.
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
		// Errors of closed connections do not matter.
		_, _ = c.conn.Write(c.out)
		c.out = c.out[:0]
		c.mu.Unlock()
	}
}
