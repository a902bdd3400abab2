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
	// hostTimeout bounds one attempt to connect to one of several hosts.
	hostTimeout = 3 * time.Second
	// hostPause is how long an unresponsive host is skipped while another one answers.
	hostPause = 10 * time.Second
	// silence is how long a server may be silent at the TCP level before its connection is closed.
	silence = 5 * time.Second
)

// A dialer opens connections to PostgreSQL that detect the loss of the server's machine. While a
// host answers, it skips hosts that recently did not, so that the next one of the URL is tried at
// once.
type dialer struct {
	net.Dialer
	// several is true if the URL has more than one host.
	several bool

	mu sync.Mutex
	// silent has the hosts that did not answer the last attempt, with its time; answering has those
	// that did.
	silent    map[string]time.Time
	answering map[string]struct{}
}

func newDialer(config *pgx.ConnConfig) *dialer {
	d := &dialer{silent: map[string]time.Time{}, answering: map[string]struct{}{}}
	d.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: silence / 2, Interval: time.Second, Count: 3}
	d.Control = func(_, _ string, c syscall.RawConn) (err error) {
		if failure := c.Control(func(fd uintptr) { err = giveUpAfter(fd, silence) }); failure != nil {
			return failure
		}
		return err
	}
	for _, other := range config.Fallbacks { // The same host may occur twice, with and without TLS.
		d.several = d.several || other.Host != config.Host || other.Port != config.Port
	}
	return d
}

// dial implements pgconn.DialFunc.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if ago, leave := d.leavesOut(address); leave {
		return nil, fmt.Errorf("%s did not answer %v ago", address, ago.Round(time.Millisecond))
	}
	conn, err := d.DialContext(ctx, network, address)
	if err == nil {
		return &answeringConn{Conn: conn, dialer: d, address: address}, nil
	}
	if failure, ok := errors.AsType[net.Error](err); ok && failure.Timeout() {
		d.note(address, false)
	} else {
		// A host that refuses connections is tried each time, but is no reason to skip another one.
		d.mu.Lock()
		delete(d.answering, address)
		d.mu.Unlock()
	}
	return nil, err
}

// leavesOut reports whether to skip a host, and how long ago it did not answer.
func (d *dialer) leavesOut(address string) (ago time.Duration, leave bool) {
	if !d.several {
		return 0, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	since, silent := d.silent[address]
	ago = time.Since(since)
	// This host is silent, so those that answer are others.
	return ago, silent && ago < hostPause && len(d.answering) > 0
}

// note records whether a host has answered.
func (d *dialer) note(address string, answers bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answers {
		delete(d.silent, address)
		d.answering[address] = struct{}{}
	} else {
		d.silent[address] = time.Now()
		delete(d.answering, address)
	}
}

// An answeringConn tells its dialer whether the server has ever sent data: the kernel accepts
// connections even if the server is paused.
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
