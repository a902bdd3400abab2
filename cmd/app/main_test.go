// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// binary is the real program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "app")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// command prepares the program with its own environment.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}

// freePorts makes the roles listen on free ports.
var freePorts = []string{
	"--set=app.service.admin-api.http.port=0", "--set=app.gateway.admin-api.http.port=0",
	"--set=app.service.admin-api.http.host=127.0.0.1", "--set=app.gateway.admin-api.http.host=127.0.0.1",
	"--set=app.gateway.websocket.port=0", "--set=app.gateway.tcp.port=0",
	"--set=app.gateway.websocket.host=127.0.0.1", "--set=app.gateway.tcp.host=127.0.0.1",
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, content := range map[string]string{
		good: "app:\n  service:\n    adminApi:\n      http: {port: 1234}\n",
		bad:  "app:\n  service:\n    admin-api:\n      http: {prot: 1234}\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	takenUDP, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer takenUDP.Close()
	tests := []struct {
		name   string
		env    []string
		args   []string
		code   int
		stdout string // part of it
		stderr string // all of it for a failure: one line
	}{
		{name: "version", args: []string{"version"}, stdout: "app dev (commit unknown, built unknown)\n"},
		{name: "help", args: []string{"--help"}, stdout: "app service --home /srv/app"},
		{name: "help of a role", args: []string{"gateway", "--help"}, stdout: "app gateway --home /srv/app"},
		{name: "help of config doc", args: []string{"config", "doc", "--help"}, stdout: "app config doc | less"},
		{name: "help of config check", args: []string{"config", "check", "--help"}, stdout: "app config check new.yaml"},
		{name: "help of openapi", args: []string{"openapi", "--help"}, stdout: "app openapi --role service"},
		{name: "config doc", args: []string{"config", "doc"}, stdout: "APP_SERVICE_ADMIN_API_HTTP_PORT"},
		{name: "config doc as JSON", args: []string{"config", "doc", "--format", "json"}, stdout: `"app.service.admin-api.http.port"`},
		{name: "config check", args: []string{"config", "check"}, stdout: "the configuration is valid\n"},
		{name: "config check of a file", args: []string{"config", "check", good}, stdout: "the configuration is valid\n"},
		{
			name: "config check of a bad file", args: []string{"config", "check", bad}, code: 1,
			stderr: "app: " + bad + ":4: app.service.admin-api.http.prot: unknown property, did you mean app.service.admin-api.http.port?\n",
		},
		{
			name: "config check of the environment", env: []string{"APP_SERVICE_ADMIN_API_HTTP_PORT=x"}, args: []string{"config", "check"}, code: 1,
			stderr: "app: environment variable APP_SERVICE_ADMIN_API_HTTP_PORT: app.service.admin-api.http.port = \"x\": must be an integer\n",
		},
		{name: "help of fake", args: []string{"fake", "--help"}, stdout: "app fake --users 100000"},
		{name: "fake", args: []string{"fake", "--users", "20", "--groups", "2", "--messages=30", "--seed=7"}, stdout: "100 %  62 of 62 records\n20 users, 2 groups and 30 messages from seed 7"},
		{name: "fake with a bad number", args: []string{"fake", "--users=-1"}, code: 1, stderr: "app: --set: app.service.fake.user-count = \"-1\": must be at least 0\n"},
		{name: "openapi", args: []string{"openapi", "--role", "gateway"}, stdout: `"openapi": "3.0.3"`},
		{name: "openapi of no role", args: []string{"openapi"}, code: 2, stderr: "~missing flags: --role=STRING"},
		{name: "unknown command", args: []string{"fly"}, code: 2, stderr: "~unexpected argument fly"},

		{
			name: "unknown property", args: []string{"--set", "app.servce.admin-api.http.port=1"}, code: 1,
			stderr: "app: --set: app.servce.admin-api.http.port: unknown property, did you mean app.service.admin-api.http.port?\n",
		},
		{
			name: "bad value", args: []string{"--set", "app.service.adminApi.http.port=99999"}, code: 1,
			stderr: "app: --set: app.service.admin-api.http.port = \"99999\": must be between 0 and 65535\n",
		},
		{
			name: "secret stays secret", env: []string{"APP_SECURITY_PASSWORD_INITIAL_ROOT_PASSWORD=hunter 2"}, code: 1,
			stderr: "app: environment variable APP_SECURITY_PASSWORD_INITIAL_ROOT_PASSWORD: app.security.password.initial-root-password = ***: must be 1 to 32 characters without white space\n",
		},
		{name: "missing file", args: []string{"--config", "nothing.yaml"}, code: 1, stderr: "~nothing.yaml"},
		{
			name: "home inside a file", args: []string{"--home", filepath.Join(good, "home")}, code: 1, stderr: "~not a directory",
		},
		{name: "home is a file", args: []string{"--home", good}, code: 1, stderr: "~" + good},
		{
			name: "port in use", args: []string{"--set=app.logging.console.enabled=false", freePorts[0], freePorts[3], fmt.Sprintf("--set=app.gateway.admin-api.http.port=%d", port)}, code: 1,
			stderr: fmt.Sprintf("app: gateway: admin interface: listen tcp 127.0.0.1:%d: bind: address already in use\n", port),
		},
		{
			name: "client port in use", args: append([]string{"--set=app.logging.console.enabled=false", fmt.Sprintf("--set=app.gateway.udp.port=%d", port), "--set=app.gateway.udp.enabled=true", "--set=app.gateway.udp.host=127.0.0.1"}, freePorts...), code: 1,
			stderr: fmt.Sprintf("app: gateway: client heartbeats over UDP: listen udp 127.0.0.1:%d: bind: address already in use\n", port),
		},
		{name: "unknown database", args: append([]string{"--set=app.logging.console.enabled=false", "--set=app.store.url=oracle:x"}, freePorts...), code: 1, stderr: "~the URL must start with"},
		{name: "PostgreSQL that is not there", args: append([]string{"--set=app.logging.console.enabled=false", "--set=app.store.lock-timeout-millis=100", "--set=app.store.timeout-millis=500", "--set=app.store.url=postgres://app:hunter2@127.0.0.1:1/app"}, freePorts...), code: 1, stderr: "~connection refused"},
		{name: "certificate that is not there", args: append([]string{"--set=app.logging.console.enabled=false", "--set=app.service.admin-api.http.ssl.enabled=true", "--set=app.service.admin-api.http.ssl.certificate-file=c.pem", "--set=app.service.admin-api.http.ssl.private-key-file=k.pem"}, freePorts...), code: 1, stderr: "~load TLS certificate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := command(t, tt.env, tt.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) {
				t.Errorf("output %q lacks %q", stdout.String(), tt.stdout)
			}
			if part, isPart := strings.CutPrefix(tt.stderr, "~"); isPart {
				if !strings.Contains(stderr.String(), part) || strings.Count(stderr.String(), "\n") != 1 {
					t.Errorf("errors %q are not one line with %q", stderr.String(), part)
				}
			} else if stderr.String() != tt.stderr {
				t.Errorf("errors\n%s\nwant\n%s", stderr.String(), tt.stderr)
			}
			if strings.Contains(stderr.String()+stdout.String(), "hunter") {
				t.Error("a secret was printed")
			}
		})
	}
}

// server is a running program.
type server struct {
	*exec.Cmd
	t       *testing.T
	stdout  *bufio.Reader
	stderr  bytes.Buffer
	banner  string
	service string
}

var urlPattern = regexp.MustCompile(`service +admin interface +(\S+)`)

// run starts the program and waits until it reports that it is ready.
func run(t *testing.T, home string, args ...string) *server {
	t.Helper()
	s := &server{t: t}
	s.Cmd = command(t, nil, append(append([]string{"--home", home}, freePorts...), args...)...)
	s.Cmd.Stderr = &s.stderr
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Process.Kill(); s.Wait() })
	s.stdout = bufio.NewReader(out)
	for !strings.Contains(s.banner, "log files") {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("the program ended: %v\n%s", err, s.stderr.String())
		}
		s.banner += line
	}
	s.service = urlPattern.FindStringSubmatch(s.banner)[1]
	return s
}

// wait waits for the end of the program and returns its exit code.
func (s *server) wait() int {
	rest, _ := io.ReadAll(s.stdout)
	s.banner += string(rest)
	s.Wait()
	return s.ProcessState.ExitCode()
}

func (s *server) get(path, password string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.service+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("app", password)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestSignals(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		s := run(t, t.TempDir())
		if status, _ := s.get("/admins", "app"); status != 200 {
			t.Errorf("%v: status %d", sig, status)
		}
		s.Process.Signal(sig)
		if code := s.wait(); code != 0 {
			t.Errorf("%v: exit code %d\n%s", sig, code, s.stderr.String())
		}
		if !strings.Contains(s.banner, `WARNING: the root account "app" has the default password`) {
			t.Errorf("no warning in %s", s.banner)
		}
	}
}

func TestHomeIsCreated(t *testing.T) {
	home := filepath.Join(t.TempDir(), "srv", "app")
	s := run(t, home)
	s.Process.Signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(home, "data", "app.db")); err != nil {
		t.Error(err)
	}
}

func TestHomeHoldsEverything(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := "app:\n  security.password.initial-root-password: from-file\n  logging.console.level: ERROR\n"
	if err := os.WriteFile(filepath.Join(home, "config", "application.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, home)
	if status, _ := s.get("/admins", "from-file"); status != 200 {
		t.Errorf("the file did not count: %d", status)
	}
	s.Process.Signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(s.banner, "WARNING") || s.stderr.Len() > 0 {
		t.Errorf("printed %s\n%s", s.banner, s.stderr.String())
	}
	for _, name := range []string{"data/app.db", "log/app.log", "log/app-admin-api.log"} {
		if _, err := os.Stat(filepath.Join(home, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestKill proves that acknowledged writes survive kill -9.
func TestKill(t *testing.T) {
	home := t.TempDir()
	s := run(t, home)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.service+"/admins/roles", strings.NewReader(`{"id":1,"name":"KEPT","permissions":["*_QUERY"],"rank":1}`))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.Process.Kill()
	s.wait()
	again := run(t, home)
	if status, body := again.get("/admins/roles?ids=1", "app"); status != 200 || !strings.Contains(body, "KEPT") {
		t.Errorf("after the crash: %d %s", status, body)
	}
	again.Process.Signal(syscall.SIGTERM)
	again.wait()
}

// failure runs the program, which must fail with one line of errors, and returns that line.
func failure(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := command(t, nil, append(append([]string{"--home", home, "--set=app.logging.console.enabled=false"}, freePorts...), args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code == 0 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit code %d, errors %q", code, stderr.String())
	}
	return stderr.String()
}

func TestLockedDatabase(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(home, "data", "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if line := failure(t, home, "--set=app.store.lock-timeout-millis=200"); !strings.Contains(line, "lock") || !strings.Contains(line, "app.db") {
		t.Errorf("said %q", line)
	}
}

func TestUnwritableData(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "data"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if line := failure(t, home); !strings.Contains(line, filepath.Join(home, "data")) {
		t.Errorf("said %q", line)
	}
}

// TestPluginsAreAnnounced proves that the start announces which plugins were loaded, and which were
// rejected and why.
func TestPluginsAreAnnounced(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	good := `export default class extends AppPlugin {
  getDescriptor() { return {id: 'good', version: '2.1'}; }
  getExtensions() { return [class Good extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } }]; }
}`
	for name, code := range map[string]string{"good.js": good, "bad.js": "export default 1", "notes.txt": "no plugin"} {
		if err := os.WriteFile(filepath.Join(home, "plugins", name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := run(t, home)
	for _, part := range []string{"plugins                   " + filepath.Join(home, "plugins") + "\n", "loaded                  good 2.1\n", "REJECTED                bad.js"} {
		if !strings.Contains(s.banner, part) {
			t.Errorf("the start says %s, without %q", s.banner, part)
		}
	}
	if strings.Contains(s.banner, "notes.txt") {
		t.Error("a file that is no plugin was looked at")
	}
	s.Process.Signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	off := run(t, t.TempDir(), "--set=app.plugin.enabled=false")
	if !strings.Contains(off.banner, "plugins                   switched off") {
		t.Errorf("the start says %s", off.banner)
	}
}
