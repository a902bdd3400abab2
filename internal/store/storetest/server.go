// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storetest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.org/app/internal/store/pgserver"
	"example.org/app/test/need"
)

// serverVariable is the environment variable with the URL of a server to use instead of a private
// one. Its role must be allowed to create databases.
const serverVariable = "APP_TEST_POSTGRES_URL"

// shared is the private PostgreSQL server of this test binary.
var shared struct {
	once   sync.Once
	server *pgserver.Server
	url    *url.URL
	err    error
}

// serverURL returns the URL of the shared server, which it starts at the first call.
func serverURL() (*url.URL, error) {
	shared.once.Do(func() {
		if text := os.Getenv(serverVariable); text != "" {
			shared.url, shared.err = url.Parse(text)
			if shared.err != nil {
				shared.err = errors.New(serverVariable + " is not a valid URL")
			}
			return
		}
		f, err := pgserver.New(cache())
		if errors.Is(err, pgserver.ErrMissing) {
			err = fmt.Errorf("%w: install it or set %s", err, serverVariable)
		}
		if err != nil {
			shared.err = err
			return
		}
		shared.url = f.URL()
		shared.server, shared.err = f.Start(true, settings("off")...)
	})
	return shared.url, shared.err
}

// settings returns the settings of test servers. synchronous says whether a commit waits for the
// log file, as required if it must survive a crash of the server.
func settings(synchronous string) []pgserver.Setting {
	return []pgserver.Setting{
		pgserver.Private,
		{Name: "fsync", Value: "off"},
		{Name: "synchronous_commit", Value: synchronous},
		{Name: "full_page_writes", Value: "off"},
		{Name: "max_connections", Value: "200"},
		{Name: "shared_buffers", Value: "32MB"},
	}
}

// cache returns the folder of the cached files of new servers.
func cache() string {
	dir := need.Cache()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "test-postgres")
}

func hasPrivateServer() bool { return shared.server != nil }

// stopServer stops the private server, if there is one, and waits until it has ended.
func stopServer() error {
	if shared.server == nil {
		return nil
	}
	return shared.server.Stop()
}

// A Server is a PostgreSQL server of one test, which may stop and restart it.
type Server struct {
	folder pgserver.Folder
	server *pgserver.Server
}

// Kill kills all processes of the server, as if its machine were lost.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.server.Kill(); err != nil {
		t.Fatal(err)
	}
	s.server = nil
}

// StartReplica starts a replica of this server.
func (s *Server) StartReplica(t testing.TB) *Server {
	t.Helper()
	f, err := s.folder.Replica()
	if err != nil {
		t.Fatal(err)
	}
	return startServer(t, f)
}

// StartServer starts a server that is removed when the test ends. It has the same system identifier
// as others.
func StartServer(t testing.TB) *Server {
	t.Helper()
	return startNew(t, cache())
}

// StartForeignServer is StartServer for a server with a different system identifier.
func StartForeignServer(t testing.TB) *Server {
	t.Helper()
	return startNew(t, "")
}

func startNew(t testing.TB, cache string) *Server {
	t.Helper()
	f, err := pgserver.New(cache)
	if err != nil {
		t.Fatal(err)
	}
	return startServer(t, f)
}

func startServer(t testing.TB, f pgserver.Folder) *Server {
	t.Helper()
	s := &Server{folder: f}
	t.Cleanup(func() {
		s.Stop(t)
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	})
	s.Start(t)
	return s
}

// URL returns the URL of its database.
func (s *Server) URL() string { return s.folder.URL().String() }

// Start starts the server after a Stop.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	var err error
	if s.server, err = s.folder.Start(false, settings("on")...); err != nil {
		t.Fatal(err)
	}
}

// Stop stops the server immediately, like a crash. A second call does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.server == nil {
		return
	}
	if err := s.server.Stop(); err != nil {
		t.Log(err)
	}
	s.server = nil
}
