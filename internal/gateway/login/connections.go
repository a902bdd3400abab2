// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"sync"

	"github.com/go-ldap/ldap/v3"
)

// connections is a pool of connections to an LDAP directory. A connection serves one call at a
// time, because a bind applies to the whole connection. Lost ones are replaced on demand.
type connections struct {
	dial func(context.Context) (*ldap.Conn, error)
	// prepare initialises a new connection; it may be nil.
	prepare func(*ldap.Conn) error
	// slots bounds the number of connections.
	slots chan struct{}

	mu     sync.Mutex
	idle   []*ldap.Conn
	closed bool
}

func newConnections(most int32, dial func(context.Context) (*ldap.Conn, error), prepare func(*ldap.Conn) error) *connections {
	return &connections{dial: dial, prepare: prepare, slots: make(chan struct{}, most)}
}

// use calls fn with exclusive use of a connection. If a pooled connection turns out to be lost, fn
// is called again with a new one, so it must be repeatable.
func (p *connections) use(ctx context.Context, fn func(*ldap.Conn) error) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c := p.take(); c != nil {
		err := p.call(ctx, c, fn)
		if !lost(err) || ctx.Err() != nil {
			return err
		}
	}
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	return p.call(ctx, c, func(c *ldap.Conn) error {
		if p.prepare != nil {
			if err := p.prepare(c); err != nil {
				_ = c.Close()
				return err
			}
		}
		return fn(c)
	})
}

// call runs fn and returns the connection to the pool if it still works. The connection is closed
// when the context ends.
func (p *connections) call(ctx context.Context, c *ldap.Conn, fn func(*ldap.Conn) error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	err := fn(c)
	if !stop() {
		_ = c.Close()
		return errors.Join(ctx.Err(), err)
	}
	if lost(err) || c.IsClosing() {
		_ = c.Close()
		return err
	}
	p.put(c)
	return err
}

// lost reports whether an error means that the connection is unusable, as everything except a
// response of the directory does.
func lost(err error) bool {
	if err == nil {
		return false
	}
	answer, ok := errors.AsType[*ldap.Error](err)
	return !ok || answer.ResultCode >= ldap.ErrorNetwork || answer.ResultCode == ldap.LDAPResultUnavailable
}

// take returns an idle connection, or nil.
func (p *connections) take() *ldap.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !c.IsClosing() {
			return c
		}
	}
	return nil
}

func (p *connections) put(c *ldap.Conn) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if closed {
		_ = c.Close()
	}
}

// close closes the idle connections now and the others when they are returned.
func (p *connections) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}
