// SPDX-License-Identifier: Apache-2.0

//go:build unix

package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/test/need"
)

// program builds the NATS server of the module's own version once per test binary.
var program struct {
	once   sync.Once
	folder string
	err    error
}

func serverProgram() (string, error) {
	program.once.Do(func() {
		program.folder, program.err = os.MkdirTemp("", "app-nats-program-")
		if program.err != nil {
			return
		}
		output, err := exec.Command("go", "build", "-o", filepath.Join(program.folder, "nats-server"), "github.com/nats-io/nats-server/v2").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("build the NATS server: %w: %s", err, output)
		}
	})
	return filepath.Join(program.folder, "nats-server"), program.err
}

// Cleanup is for TestMain: it removes the server program, if a test has built it.
func Cleanup() error {
	if program.folder == "" {
		return nil
	}
	return os.RemoveAll(program.folder)
}

// A Server is a NATS server in a process of its own, with JetStream, on a port of the loopback
// interface that stays the same when it is restarted. A shell is its parent and waits on a pipe
// that the test holds open: when the test ends, in whatever way, the server is killed.
type Server struct {
	port int
	// settings is the path of a configuration file; empty means none.
	settings string
	folder   string
	command  *exec.Cmd
	pipe     io.WriteCloser
	pid      int
}

// script runs "$0" with its arguments until standard input ends, and prints its process id.
const script = `"$0" "$@" </dev/null >/dev/null 2>&1 &
pid=$!
echo $pid
read -r line
kill -KILL $pid
wait $pid`

// StartServer starts a server with these lines in its configuration file. It is stopped when the
// test ends.
func StartServer(t testing.TB, lines ...string) *Server {
	t.Helper()
	s := &Server{port: need.Port(t), folder: t.TempDir()}
	if len(lines) > 0 {
		s.settings = filepath.Join(s.folder, "nats.conf")
		if err := os.WriteFile(s.settings, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Start(t, true)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// URL returns the URL of the server.
func (s *Server) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(s.port) }

// Start starts the server after a Stop, with its files or, if empty, without.
func (s *Server) Start(t testing.TB, empty bool) {
	t.Helper()
	path, err := serverProgram()
	if err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(s.folder, "files")
	if empty {
		if err := os.RemoveAll(files); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-c", script, path, "-a", "127.0.0.1", "-p", strconv.Itoa(s.port), "-js", "-sd", files}
	if s.settings != "" {
		args = append(args, "-c", s.settings)
	}
	command := exec.Command("/bin/sh", args...)
	pipe, pipeErr := command.StdinPipe()
	output, outputErr := command.StdoutPipe()
	if err := errors.Join(pipeErr, outputErr); err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s.command, s.pipe = command, pipe
	line := make([]byte, 32)
	count, err := output.Read(line)
	if err != nil {
		t.Fatalf("read the process id of the NATS server: %v", err)
	}
	if s.pid, err = strconv.Atoi(string(bytes.TrimSpace(line[:count]))); err != nil {
		t.Fatal(err)
	}
	s.await(t)
}

// await waits until the server greets.
func (s *Server) await(t testing.TB) {
	t.Helper()
	limit := time.NewTimer(Timeout)
	defer limit.Stop()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(s.port))
		if err == nil {
			// Another program on this port may wait for a request.
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			_, err = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
		if err == nil {
			return
		}
		select {
		case <-retry.C:
		case <-limit.C:
			t.Fatalf("the NATS server did not start: %v", err)
		}
	}
}

// Stop kills the server. A second call does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.command == nil {
		return
	}
	_ = s.pipe.Close()
	_ = s.command.Wait()
	s.command = nil
}

// Restart stops and starts the server, with its files or, if empty, without.
func (s *Server) Restart(t testing.TB, empty bool) {
	t.Helper()
	s.Stop(t)
	s.Start(t, empty)
}

// Pause suspends the server's process: its connections stay open and nothing answers.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	Freeze(t, s.pid)
}

// Resume resumes a paused server.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	Thaw(t, s.pid)
}

// A Usage is the input and output of a server, files included, and its memory, in bytes, and its
// processor time.
type Usage struct {
	Read, Written, Resident int64
	CPU                     time.Duration
}

// Usage returns the resources used so far. It needs Linux.
func (s *Server) Usage(t testing.TB) (u Usage) {
	t.Helper()
	read := func(name string) []string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.pid, name))
		if err != nil {
			t.Skipf("what the NATS server uses cannot be read here: %v", err)
		}
		return strings.Fields(string(text))
	}
	number := func(words []string, i int) int64 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// See proc(5): the first two values of io, the second of statm, and the 14th and 15th of stat,
	// in hundredths of a second.
	io, stat := read("io"), read("stat")
	u.Read, u.Written = number(io, 1), number(io, 3)
	u.Resident = number(read("statm"), 1) * int64(os.Getpagesize())
	u.CPU = time.Duration(number(stat, 13)+number(stat, 14)) * 10 * time.Millisecond
	return u
}
