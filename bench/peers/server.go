// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
)

// A server is a participant of the comparison.
type server interface {
	name() string
	// prepare creates what the server needs before its first start.
	prepare(ctx context.Context) error
	// command returns the program of the server, with its arguments.
	command() []string
	// answers reports whether the server, which has just been started, serves clients.
	answers(ctx context.Context) error
	// fill creates users while the server runs.
	fill(ctx context.Context, users int) error
	// admin returns the address of the admin API and two requests without a body: byID for a user,
	// and page for 50 users.
	admin(ctx context.Context) (addr string, byID, page []byte, err error)
}

// A messenger is a server with messages. Users have numbers from 0.
type messenger interface {
	server
	judge(payload []byte) (acknowledges bool, err error)
	// login opens a session.
	login(user int) (*websocket.Socket, error)
	// toUser adds both users to a conversation and returns messages to it.
	toUser(sender, recipient int, from, to *websocket.Socket) (*talk.Letter, error)
	// toGroup creates a group of users, owned by the first of them, and returns messages to it.
	toGroup(ctx context.Context, sockets []*websocket.Socket) (*talk.Letter, error)
	// stored counts the messages of users in the database while the server is stopped.
	stored(ctx context.Context) (int64, error)
}

// A running is a started server.
type running struct {
	server
	cmd *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
	said  *tail
}

// startLimit is the time limit until a server answers.
const startLimit = 2 * time.Minute

// start starts a server, which is killed when ctx ends, and waits until it answers; took is the
// time until then.
func start(ctx context.Context, s server) (r *running, took time.Duration, err error) {
	command := s.command()
	r = &running{server: s, cmd: exec.CommandContext(ctx, command[0], command[1:]...), ended: make(chan struct{}), said: &tail{}}
	r.cmd.Stdout, r.cmd.Stderr = r.said, r.said
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begin := time.Now()
	if err := r.cmd.Start(); err != nil {
		return nil, 0, err
	}
	go func() {
		_ = r.cmd.Wait()
		close(r.ended)
	}()
	for {
		err := s.answers(ctx)
		if err == nil {
			return r, time.Since(begin), nil
		}
		select {
		case <-r.ended:
			return nil, 0, fmt.Errorf("it ended before it answered: %s", r.said)
		case <-ctx.Done():
			r.stop()
			return nil, 0, ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
		if time.Since(begin) > startLimit {
			r.stop()
			return nil, 0, fmt.Errorf("it did not answer: %w: %s", err, r.said)
		}
	}
}

func (r *running) pid() int { return r.cmd.Process.Pid }

// stop terminates the process, and kills it after some time.
func (r *running) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.ended:
	case <-time.After(20 * time.Second):
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
}

// A tail keeps the end of the output of a process.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const kept = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-kept):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// freePort returns an unused port.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// freeFrom is like freePort, for a server that also uses the ports around it.
func freeFrom(below int) int {
	for range 100 {
		port, err := freePort()
		if err != nil {
			break
		}
		free := true
		for p := port - below; p < port; p++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if free = free && err == nil; err == nil {
				l.Close()
			}
		}
		if free {
			return port
		}
	}
	panic("no port is free")
}

// each calls fn for the numbers from 0 to count, some in parallel, until one call fails.
func each(ctx context.Context, count, parallel int, fn func(int) error) error {
	var next atomic.Int64
	failures := make([]error, parallel)
	var wg sync.WaitGroup
	for p := range parallel {
		wg.Go(func() {
			for failures[p] == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				failures[p] = fn(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(append(failures, ctx.Err())...)
}

// logins opens sessions of users, some in parallel.
func logins(ctx context.Context, m messenger, from, count, parallel int) ([]*websocket.Socket, error) {
	sockets := make([]*websocket.Socket, count)
	err := each(ctx, count, parallel, func(i int) (err error) {
		sockets[i], err = m.login(from + i)
		return err
	})
	if err != nil {
		closeAll(sockets)
		return nil, err
	}
	return sockets, nil
}

func closeAll(sockets []*websocket.Socket) {
	for _, s := range sockets {
		if s != nil {
			s.Close()
		}
	}
}

// client keeps enough idle connections for creating users concurrently.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}

// call sends a request with a JSON body, if body is not nil, and decodes the response into result,
// if that is not nil.
func call(ctx context.Context, method, url string, authorise func(*http.Request), body, result any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	authorise(r)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: the server answered %s: %s", method, r.URL.Path, answer.Status, text)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}

func basic(name, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", token) }
}

// get returns an encoded GET request.
func get(target, authorization string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n\r\n", target, authorization)
}

// requests sends a request over several connections, one at a time on each, for a duration, and
// returns the number of responses and the time.
func requests(addr string, request []byte, connections int, duration time.Duration) (count int, took time.Duration, err error) {
	var answered atomic.Int64
	failures := make([]error, connections)
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				failures[i] = err
				return
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			for time.Since(begin) < duration && failures[i] == nil {
				if failures[i] = exchange(conn, r, request); failures[i] == nil {
					answered.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(answered.Load()), time.Since(begin), errors.Join(failures...)
}

func exchange(conn net.Conn, r *bufio.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("the server answered %s: %s", answer.Status, text)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// write writes a JSON file.
func write(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
