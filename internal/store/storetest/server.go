// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// serverVariable names the environment variable with the URL of a server to use instead of a private one. Its
	// role must be allowed to create databases.
	serverVariable = "APP_TEST_POSTGRES_URL"

	installHint = "PostgreSQL is needed by this test: install the server (package postgresql) or set " + serverVariable
	startLimit  = time.Minute
)

// A server is the private PostgreSQL server of this test binary. A shell is its parent and waits on a pipe that this
// process holds open: when the process ends, in whatever way, the pipe breaks, and the shell stops the server and
// removes the folder.
type server struct {
	command *exec.Cmd
	pipe    io.WriteCloser
	folder  string
}

var shared struct {
	once     sync.Once
	server   *server
	url      *url.URL
	err      error
	template string
}

// serverURL returns the URL of the server that the tests share, which it starts when it is needed first.
func serverURL() (*url.URL, error) {
	shared.once.Do(func() {
		if text := os.Getenv(serverVariable); text != "" {
			shared.url, shared.err = url.Parse(text)
			if shared.err != nil {
				shared.err = errors.New(serverVariable + " is not a valid URL")
			}
			return
		}
		shared.server, shared.err = startServer()
		if shared.err == nil {
			shared.url = folder{path: shared.server.folder}.url()
			shared.err = awaitServer(shared.url, shared.server.folder)
		}
	})
	return shared.url, shared.err
}

// stopServer stops the private server, if there is one, and waits until it is gone.
func stopServer() error {
	if shared.server == nil {
		return nil
	}
	err := shared.server.pipe.Close()
	return errors.Join(err, shared.server.command.Wait())
}

// script runs the server given by $0 in the folder $1 until standard input ends, and removes the folder unless $2 says
// to keep it. $3 says whether a commit waits for the log file: one that is to survive a crash of the server must.
const script = `"$0" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c synchronous_commit="$3" \
	-c full_page_writes=off -c max_connections=200 -c shared_buffers=32MB >"$1/log" 2>&1 </dev/null &
pid=$!
read -r line
kill -QUIT $pid
wait $pid
cd /
[ "$2" = keep ] || rm -rf "$1"`

func startServer() (*server, error) {
	f, err := initServer()
	if err != nil {
		return nil, err
	}
	s, err := f.run("remove", "off")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(f.path))
	}
	return s, nil
}

// folder is that of an initialised server.
type folder struct {
	path       string
	programs   string
	attributes *syscall.SysProcAttr
}

// initServer makes the files of a new server.
func initServer() (folder, error) {
	programs, err := findPrograms()
	if err != nil {
		return folder{}, err
	}
	// The path of a socket must be short, which the usual temporary folder is not everywhere.
	parent := "/tmp"
	if _, err := os.Stat(parent); err != nil {
		parent = os.TempDir()
	}
	path, err := os.MkdirTemp(parent, "apppg")
	if err != nil {
		return folder{}, err
	}
	credential, err := unprivileged(path)
	if err != nil {
		return folder{}, errors.Join(err, os.RemoveAll(path))
	}
	f := folder{path, programs, &syscall.SysProcAttr{Credential: credential, Setpgid: true}}
	initialise := exec.Command(filepath.Join(programs, "initdb"), "-D", filepath.Join(path, "data"), "-U", "postgres",
		"--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C")
	initialise.Dir, initialise.SysProcAttr = path, f.attributes
	if output, err := initialise.CombinedOutput(); err != nil {
		return folder{}, errors.Join(fmt.Errorf("run initdb: %w: %s", err, output), os.RemoveAll(path))
	}
	return f, nil
}

// run starts the server of the folder; see script.
func (f folder) run(afterwards, synchronous string) (*server, error) {
	command := exec.Command("/bin/sh", "-c", script, filepath.Join(f.programs, "postgres"), f.path, afterwards, synchronous)
	command.Dir, command.SysProcAttr = f.path, f.attributes
	pipe, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return &server{command: command, pipe: pipe, folder: f.path}, nil
}

// url returns where the server of the folder is.
func (f folder) url() *url.URL {
	return &url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/postgres", RawQuery: url.Values{"host": {f.path}}.Encode(),
	}
}

// A Server is a PostgreSQL server of one test, which may stop it and start it again.
type Server struct {
	folder folder
	server *server
}

// StartServer starts a server that is removed when the test ends.
func StartServer(t testing.TB) *Server {
	t.Helper()
	f, err := initServer()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{folder: f}
	s.Start(t)
	t.Cleanup(func() {
		s.Stop(t)
		if err := os.RemoveAll(f.path); err != nil {
			t.Error(err)
		}
	})
	return s
}

// URL returns the URL of its database.
func (s *Server) URL() string { return s.folder.url().String() }

// Start starts the server after a Stop.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	var err error
	if s.server, err = s.folder.run("keep", "on"); err != nil {
		t.Fatal(err)
	}
	if err := awaitServer(s.folder.url(), s.folder.path); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server at once, as a crash would. A second call does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.server == nil {
		return
	}
	_ = s.server.pipe.Close()
	_ = s.server.command.Wait()
	s.server = nil
}

// findPrograms returns the folder with the newest postgres and initdb.
func findPrograms() (string, error) {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link in the path does not mean that initdb is linked too.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
		folders = append(folders, filepath.Dir(path))
	}
	if output, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(output)))
	}
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	version := func(folder string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(folder)), 64)
		return number
	}
	slices.SortFunc(installed, func(a, b string) int { return int(10 * (version(b) - version(a))) })
	for _, folder := range append(folders, installed...) {
		_, postgresErr := os.Stat(filepath.Join(folder, "postgres"))
		_, initdbErr := os.Stat(filepath.Join(folder, "initdb"))
		if postgresErr == nil && initdbErr == nil {
			return folder, nil
		}
	}
	return "", errors.New(installHint)
}

// unprivileged returns whom the server runs as, because it refuses to run as root, and gives them the folder.
func unprivileged(folder string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("find an account for the server: %w", err)
	}
	uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr, os.Chown(folder, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// awaitServer waits until the server answers.
func awaitServer(u *url.URL, folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := pgx.Connect(ctx, u.String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(folder, "log"))
			return fmt.Errorf("PostgreSQL did not start: %w: %s", err, log)
		}
	}
}
