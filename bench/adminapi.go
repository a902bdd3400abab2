// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/app/bench/process"
)

const adminRequest = "GET /admins/roles HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YXBwOmFwcA==\r\n\r\n"

// adminAPI compares GET /admins/roles with a net/http handler that writes the same bytes.
func adminAPI(ctx context.Context, duration time.Duration, rounds int) error {
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app, err := buildApp(ctx, dir)
	if err != nil {
		return err
	}
	processors := "shared processors"
	command := func(args ...string) []string { return args }
	if a, ok := newApart(); ok {
		if err := a.move(ctx, a.client); err != nil {
			return err
		}
		defer func() { _ = a.move(ctx, a.all) }()
		command = a.command
		processors = fmt.Sprintf("servers on processor %s, client on %s", a.server, a.client)
	}
	ours, bare, size, err := adminServers(ctx, app, dir, command)
	if err != nil {
		return err
	}
	defer ours.stop()
	defer bare.stop()
	var rows [][]string
	for _, connections := range []int{1, 32} {
		var measured, base []result
		load(bare, adminRequest, connections, duration/4) // warm up
		load(ours, adminRequest, connections, duration/4)
		for range rounds {
			base = append(base, load(bare, adminRequest, connections, duration))
			measured = append(measured, load(ours, adminRequest, connections, duration))
		}
		b, o := median(base), median(measured)
		rows = append(rows, row(connections, "bare net/http", b, b), row(connections, "GET /admins/roles", o, b))
	}
	table(fmt.Sprintf("Admin interface: %d bytes of JSON, credentials checked, audit log on, %s", size, processors),
		[]string{"connections", "server", "requests/s", "p50", "p99", "CPU per request", "ratio"}, rows)
	return nil
}

// adminServers starts a service, and a bare server that sends the same bytes.
func adminServers(ctx context.Context, app, dir string, command func(args ...string) []string) (ours, bare *server, size int, err error) {
	ours, err = start(ctx, regexp.MustCompile(`service +admin interface +http://(\S+)`), command(app, "service", "--home", dir,
		"--set=app.service.admin-api.http.host=127.0.0.1", "--set=app.service.admin-api.http.port=0", "--set=app.console.port=0",
		"--set=app.service.admin-api.rate-limiting.capacity=2000000000", "--set=app.service.admin-api.rate-limiting.initial-tokens=2000000000",
		"--set=app.logging.console.enabled=false")...)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			ours.stop()
		}
	}()
	for id := 1; id <= 3; id++ {
		if err := createRole(ctx, ours.addr, id); err != nil {
			return nil, nil, 0, err
		}
	}
	body, err := fetch(ctx, ours.addr)
	if err != nil {
		return nil, nil, 0, err
	}
	file := filepath.Join(dir, "body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, nil, 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, 0, err
	}
	bare, err = start(ctx, regexp.MustCompile(`^(\S+)`), command(self, "bare", file)...)
	return ours, bare, len(body), err
}

func row(connections int, name string, r, base result) []string {
	return []string{
		strconv.Itoa(connections), name, fmt.Sprintf("%.0f", r.rate), micros(r.p50), micros(r.p99), micros(r.cpu),
		fmt.Sprintf("%.2f", r.rate/base.rate),
	}
}

func micros(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d.Nanoseconds())/1000) }

// server is a running program and its address.
type server struct {
	addr string
	pid  int
	stop func()
	// said are the lines that it printed until it was ready.
	said []string
	// database returns the processor time of its database; nil if the database runs in the server's
	// process.
	database func() (time.Duration, bool)
}

// cpuTime returns the processor time of the server and its database so far.
func (s *server) cpuTime() (time.Duration, bool) {
	used, ok := process.CPU(s.pid)
	if !ok || s.database == nil {
		return used, ok
	}
	more, ok := s.database()
	return used + more, ok
}

// start runs a program and waits for the line with its address.
func start(ctx context.Context, ready *regexp.Regexp, command ...string) (*server, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return &server{addr: m[1], pid: cmd.Process.Pid, stop: stop, said: said}, nil
		}
	}
	stop()
	return nil, fmt.Errorf("%s ended before it was ready", strings.Join(command, " "))
}

func createRole(ctx context.Context, addr string, id int) error {
	err := post(ctx, "http://"+addr+"/admins/roles", fmt.Appendf(nil, `{"id":%d,"name":"ROLE%d","permissions":["USER_*","GROUP_*"],"rank":%d}`, id, id, id))
	if err != nil {
		return fmt.Errorf("create role %d: %w", id, err)
	}
	return nil
}

// post sends a request of the root administrator, which must succeed.
func post(ctx context.Context, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	return nil
}

func fetch(ctx context.Context, addr string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/admins/roles", nil)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// serveBare is the baseline: the minimum that net/http needs to send the bytes.
func serveBare() {
	body, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	panic(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})))
}
