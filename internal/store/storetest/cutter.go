// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storetest

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Cutter is a proxy between a store and PostgreSQL that can cut connections while they commit,
// before PostgreSQL receives the commit or after it has responded.
type Cutter struct {
	url      string
	server   string
	listener net.Listener
	group    sync.WaitGroup
	// before and after are the numbers of commits still to cut.
	before, after atomic.Int32
	// commit is the name of the prepared COMMIT; nil if there is none.
	commit atomic.Pointer[[]byte]
	trips  atomic.Int64
}

// NewCutter starts a Cutter for the server of a URL, which must use a Unix socket.
func NewCutter(t testing.TB, database string) *Cutter {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "cut")
	if err != nil {
		t.Fatal(err)
	}
	const socket = ".s.PGSQL.5432"
	c := &Cutter{server: filepath.Join(u.Query().Get("host"), socket)}
	if c.listener, err = net.Listen("unix", filepath.Join(folder, socket)); err != nil {
		t.Fatal(err)
	}
	u.RawQuery = url.Values{"host": {folder}}.Encode()
	c.url = u.String()
	c.group.Go(c.accept)
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.group.Wait()
		_ = os.RemoveAll(folder)
	})
	return c
}

// URL returns the URL of the database through the Cutter.
func (c *Cutter) URL() string { return c.url }

// Trips returns the number of round trips of clients.
func (c *Cutter) Trips() int64 { return c.trips.Load() }

// CutBefore cuts the next n committing connections before PostgreSQL receives the commit.
func (c *Cutter) CutBefore(n int32) { c.before.Store(n) }

// CutAfter cuts the next n committing connections after PostgreSQL has responded and before the
// store receives the response.
func (c *Cutter) CutAfter(n int32) { c.after.Store(n) }

// preparesCommit matches a prepared COMMIT and its name.
var preparesCommit = regexp.MustCompile(`([a-z0-9_]+)\x00COMMIT\x00`)

// commits reports whether a part contains a commit, by name if it was prepared earlier.
func (c *Cutter) commits(part []byte) bool {
	if found := preparesCommit.FindSubmatch(part); found != nil {
		c.commit.Store(new(bytes.Clone(found[1])))
		return false
	}
	name := c.commit.Load()
	return bytes.Contains(part, []byte("COMMIT\x00")) || name != nil && bytes.Contains(part, *name)
}

func (c *Cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", c.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		var silent, heard atomic.Bool
		answered := make(chan struct{}, 1)
		end := sync.OnceFunc(func() { _ = client.Close(); _ = server.Close() })
		c.group.Go(func() {
			defer end()
			relay(server, client, func([]byte) bool {
				heard.Store(true)
				if silent.Load() {
					answered <- struct{}{}
					return false
				}
				return true
			})
		})
		c.group.Go(func() {
			defer end()
			relay(client, server, func(part []byte) bool {
				if heard.Swap(false) {
					c.trips.Add(1)
				}
				commits := c.commits(part)
				if commits && c.before.Add(-1) >= 0 {
					return false
				}
				if commits && c.after.Add(-1) >= 0 {
					silent.Store(true)
					if _, err := server.Write(part); err == nil {
						select {
						case <-answered:
						case <-time.After(timeout):
						}
					}
					return false
				}
				return true
			})
		})
	}
}

// relay copies from one side to the other until allow rejects a part.
func relay(from, to net.Conn, allow func(part []byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !allow(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
