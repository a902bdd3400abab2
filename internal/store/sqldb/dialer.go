// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// hostTimeout bounds the attempt to connect to one of several hosts.
	hostTimeout = 3 * time.Second
	// hostPause is for how long a host that did not answer is left out while others are named.
	hostPause = 10 * time.Second
	// silence is how long a server may be silent at the level of TCP before a connection to it is given up.
	silence = 5 * time.Second
)

// A dialer opens connections to PostgreSQL that notice when the machine at the other end is gone, and leaves out hosts that
// did not answer a moment ago, so that the next one of the URL is tried at once.
type dialer struct {
	net.Dialer
	// several says that the URL names more than one host.
	several bool

	mu     sync.Mutex
	silent map[string]time.Time
}

func newDialer(config *pgx.ConnConfig) *dialer {
	d := &dialer{silent: map[string]time.Time{}}
	d.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: silence / 2, Interval: time.Second, Count: 3}
	d.Control = func(_, _ string, c syscall.RawConn) (err error) {
		if failure := c.Control(func(fd uintptr) { err = giveUpAfter(fd, silence) }); failure != nil {
			return failure
		}
		return err
	}
	for _, other := range config.Fallbacks { // The same host may be there twice, with and without TLS.
		d.several = d.several || other.Host != config.Host || other.Port != config.Port
	}
	return d
}

// dial implements pgconn.DialFunc.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	since, silent := d.silent[address]
	d.mu.Unlock()
	if silent && d.several && time.Since(since) < hostPause {
		return nil, fmt.Errorf("%s did not answer %v ago", address, time.Since(since).Round(time.Millisecond))
	}
	conn, err := d.DialContext(ctx, network, address)
	if err == nil {
		return &answeringConn{Conn: conn, dialer: d, address: address}, nil
	}
	if failure, ok := errors.AsType[net.Error](err); ok && failure.Timeout() {
		d.note(address, false)
	}
	return nil, err
}

// note says whether a host has answered.
func (d *dialer) note(address string, answers bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answers {
		delete(d.silent, address)
	} else {
		d.silent[address] = time.Now()
	}
}

// An answeringConn tells its dialer whether the server has ever answered: the kernel of a machine accepts connections to a
// server that is paused.
type answeringConn struct {
	net.Conn
	dialer  *dialer
	address string
	heard   atomic.Bool
}

// Read implements net.Conn.
func (c *answeringConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
		c.dialer.note(c.address, true)
	}
	return n, err
}

// Close implements net.Conn.
func (c *answeringConn) Close() error {
	if !c.heard.Load() {
		c.dialer.note(c.address, false)
	}
	return c.Conn.Close()
}
