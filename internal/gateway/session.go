// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/presence"
	"example.org/app/internal/wire"
)

// A CloseReason is why a session ended.
type CloseReason struct {
	Status wire.CloseStatus
	// Code and Reason are those of the error that ended the session; Code is 0 if there was none.
	Code   apierr.Code
	Reason string
}

// A Session is the login of a user on a device. Its exported fields are immutable.
type Session struct {
	// ID is positive. The client knows it.
	ID      int32
	UserID  int64
	Device  wire.DeviceType
	Version int32
	// IP is the address of the client at the login.
	IP            netip.Addr
	LoginDate     time.Time
	Location      *wire.UserLocation
	DeviceDetails map[string]string

	permissions *login.Permissions
	// began is when the login was requested, by the clock of the cluster.
	began time.Time
	// heartbeat and request are the times of the last heartbeat and request; shown is the last
	// published heartbeat.
	heartbeat, request, shown moment
	// beaten is true once there was a heartbeat.
	beaten atomic.Bool

	mu sync.Mutex
	// conn is nil while the heartbeats come over UDP.
	conn   *connection
	closed bool
	// udp is the source of the last heartbeat over UDP; called is true if the client was asked to
	// reconnect.
	udp    netip.AddrPort
	called bool
}

// key returns the key of the session in the cluster.
func (s *Session) key() presence.SessionKey {
	return presence.SessionKey{UserID: s.UserID, Device: s.Device, ID: s.ID}
}

// newSessionID returns an unpredictable positive number.
func newSessionID() int32 {
	var b [4]byte
	for {
		// Never fails.
		_, _ = rand.Read(b[:])
		if id := int32(binary.BigEndian.Uint32(b[:]) >> 1); id > 0 {
			return id
		}
	}
}

// origin is a whole millisecond with a reading of the monotonic clock.
var origin = func() time.Time {
	now := time.Now()
	return now.Add(-time.Duration(now.Nanosecond() % int(time.Millisecond)))
}()

// A moment is a time in milliseconds since origin, measured by the monotonic clock, so that changes
// of the machine's clock do not affect differences.
type moment struct{ millis atomic.Int64 }

func (m *moment) set(t time.Time) { m.millis.Store(int64(t.Sub(origin) / time.Millisecond)) }

// time returns the moment with a reading of the monotonic clock.
func (m *moment) time() time.Time {
	return origin.Add(time.Duration(m.millis.Load()) * time.Millisecond)
}

// touch sets the time to now.
func (s *Session) touch(at *moment) { at.set(time.Now()) }

// beat records a heartbeat. It is published if the last published one is old enough or there was
// none.
func (s *Session) beat(interval time.Duration) {
	now := time.Now()
	s.heartbeat.set(now)
	if !s.beaten.Load() || now.Sub(s.shown.time()) >= interval {
		s.shown.set(now)
		s.beaten.Store(true)
	}
}

// active returns when the client was last active.
func (s *Session) active() time.Time {
	heartbeat, request := s.heartbeat.time(), s.request.time()
	if heartbeat.After(request) {
		return heartbeat
	}
	return request
}

// connection returns the connection, which may be nil, and whether the session is open.
func (s *Session) connection() (c *connection, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn, !s.closed
}

// end marks the session as closed. The boolean is false if it already was.
func (s *Session) end() (*connection, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.closed = true
	return s.conn, true
}

// attach attaches a connection to a session on UDP. It reports false if the session is closed.
func (s *Session) attach(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.conn != nil {
		return false
	}
	s.conn, s.called = c, false
	return true
}

// detach detaches the connection. It reports false if the session has another one or is closed.
func (s *Session) detach(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.conn != c {
		return false
	}
	s.conn = nil
	return true
}

// sessions are the sessions of this gateway.
type sessions struct {
	shards [64]sessionShard
	count  atomic.Int64
	users  atomic.Int64
}

type sessionShard struct {
	mu sync.RWMutex
	// users maps users to their sessions. The slices are immutable.
	users map[int64][]*Session
}

func newSessions() *sessions {
	s := &sessions{}
	for i := range s.shards {
		s.shards[i].users = map[int64][]*Session{}
	}
	return s
}

func (s *sessions) shard(userID int64) *sessionShard {
	// Ids are often consecutive or multiples of something; the golden ratio spreads both.
	return &s.shards[uint64(userID)*0x9E3779B97F4A7C15>>58]
}

// of returns the sessions of a user, which are read only.
func (s *sessions) of(userID int64) []*Session {
	shard := s.shard(userID)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	return shard.users[userID]
}

// find returns the session of a user and a device type, or nil.
func (s *sessions) find(userID int64, device wire.DeviceType) *Session {
	for _, session := range s.of(userID) {
		if session.Device == device {
			return session
		}
	}
	return nil
}

// add adds a session and returns the one that must be closed: the older one on the same device
// type, or the new one if keep reports true for the older one; nil if there is none.
func (s *sessions) add(session *Session, keep func(older *Session) bool) (goes *Session) {
	shard := s.shard(session.UserID)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	before := shard.users[session.UserID]
	after := make([]*Session, 0, len(before)+1)
	for _, other := range before {
		if other.Device != session.Device {
			after = append(after, other)
			continue
		}
		if keep(other) {
			return session
		}
		goes = other
	}
	shard.users[session.UserID] = append(after, session)
	if goes == nil {
		s.count.Add(1)
	}
	if len(before) == 0 {
		s.users.Add(1)
	}
	return goes
}

// remove removes a session and returns the user's remaining ones.
func (s *sessions) remove(session *Session) []*Session {
	shard := s.shard(session.UserID)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	before := shard.users[session.UserID]
	var after []*Session
	for _, other := range before {
		if other != session {
			after = append(after, other)
		}
	}
	s.count.Add(int64(len(after) - len(before)))
	switch {
	case len(after) > 0:
		shard.users[session.UserID] = after
	case len(before) > 0:
		delete(shard.users, session.UserID)
		s.users.Add(-1)
	}
	return after
}

// all returns the sessions for which match reports true.
func (s *sessions) all(match func(*Session) bool) (found []*Session) {
	s.each(func(session *Session) bool {
		if match(session) {
			found = append(found, session)
		}
		return true
	})
	return found
}

// each calls fn with every session until it returns false, holding the lock of a shard.
func (s *sessions) each(fn func(*Session) bool) {
	for i := range s.shards {
		if !s.shards[i].each(fn) {
			return
		}
	}
}

func (s *sessionShard) each(fn func(*Session) bool) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, list := range s.users {
		for _, session := range list {
			if !fn(session) {
				return false
			}
		}
	}
	return true
}
