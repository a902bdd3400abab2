// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bufio"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // opens the database as another program would

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// slowDatabase makes a database in which each new user is slow.
func slowDatabase(t *testing.T) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	url = "sqlite:" + path
	db, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	const trigger = `CREATE TRIGGER slow BEFORE INSERT ON user_account BEGIN
		SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 300000) SELECT x FROM c);
	END`
	if _, err := raw.ExecContext(t.Context(), trigger); err != nil {
		t.Fatal(err)
	}
	return url
}

// holdTheLock makes goroutines wait for a lock that it holds, until ctx ends.
func holdTheLock(ctx context.Context) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				time.Sleep(time.Millisecond)
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// inline finds the commands in the table.
var inline = regexp.MustCompile("`(jfr [^`]+)`")

// commandsOf returns the commands of a page, in order, each with the output that the page shows.
func commandsOf(t *testing.T, page string) (commands []string, outputs map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	outputs = map[string][]string{}
	console := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			console = line == "```console"
		case console && strings.HasPrefix(line, "$ "):
			commands = append(commands, line[2:])
		case console && line != "...":
			last := commands[len(commands)-1]
			outputs[last] = append(outputs[last], line)
		case strings.HasPrefix(line, "| "):
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				commands = append(commands, m[1])
			}
		}
	}
	return commands, outputs
}

var (
	numbers   = regexp.MustCompile(`[0-9][0-9.,:+TZ-]*`)
	durations = regexp.MustCompile(`N (ns|us|ms|s|m)\b`)
)

// shape returns a line without the parts that differ between runs.
func shape(line string) string {
	line = durations.ReplaceAllString(numbers.ReplaceAllString(line, "N"), "D")
	return strings.TrimSpace(line)
}

// shows reports whether an output contains a line of a page, which may be truncated.
func shows(out, line string) bool {
	want, cut := strings.CutSuffix(shape(line), "…")
	for got := range strings.Lines(out) {
		if got = shape(got); got == want || cut && strings.HasPrefix(got, want) {
			return true
		}
	}
	return false
}

// TestRecordingDocumentation runs the commands of docs/recordings.md against a server with a slow
// plugin, a slow statement and a contended lock, and compares the output with the page.
func TestRecordingDocumentation(t *testing.T) {
	need.Time(t)
	if _, err := exec.LookPath("curl"); err != nil {
		need.Skip(t, "curl", err)
	}
	folder := folderOf(t, map[string]string{"filter.js": pluginScript("filter", "'ClientRequestHandler'", `
  transform(r) {
    for (const end = Date.now() + 100; Date.now() < end;) {}
    return r;
  }`)})
	s := apptest.Start(t, role.All, "app.plugin.dir="+folder, "app.store.url="+slowDatabase(t))
	dir := t.TempDir()
	path := strings.Join([]string{filepath.Dir(jfrtest.Path(t)), os.Getenv("PATH")}, string(os.PathListSeparator))
	environment := append(os.Environ(), "PATH="+path, "BROWSER=true")
	commands, outputs := commandsOf(t, "recordings.md")
	if len(commands) < 20 || len(outputs) < 4 {
		t.Fatalf("the page has only %d commands, %d with output", len(commands), len(outputs))
	}
	hosts := strings.NewReplacer("http://localhost:8510", s.URL(role.Service))
	variables, loaded := "", false
	for _, command := range commands {
		if regexp.MustCompile(`^[a-z]+=\S+$`).MatchString(command) {
			variables += hosts.Replace(command) + "\n"
			continue
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", variables+command)
		cmd.Dir, cmd.Env = dir, environment
		if strings.Contains(command, "-http") || strings.HasPrefix(command, "go tool trace") {
			awaitServer(t, command, cmd)
			continue
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		for _, line := range outputs[command] {
			if !shows(string(out), line) {
				t.Errorf("%s does not show %q:\n%.3000s", command, line, out)
			}
		}
		if strings.HasPrefix(command, "curl") && strings.Contains(string(out), `"code":1`) && !strings.Contains(string(out), `"code":1000`) {
			t.Errorf("%s: %s", command, out)
		}
		if strings.Contains(command, "-X POST") && !loaded {
			loaded = true
			loadForRecording(t, s)
		}
	}
}

// loadForRecording causes all slow events for the recording.
func loadForRecording(t *testing.T, s *apptest.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var lock sync.WaitGroup
	lock.Go(func() { holdTheLock(ctx) })
	defer lock.Wait()
	defer cancel()
	want(t, s, role.Service, "POST", "/users", `{"id":7,"password":"secret"}`, 200)
	c := chat.LogIn(t, gatewayOf(s, "").WebSocket, 7, chat.WithPassword("secret"))
	defer c.Close()
	eventually(t, "everything is in the recording", func() bool {
		c.Response(&wire.QueryConversationsRequest{})
		_, data := ask(t, s, role.Service, "GET", "/flight-recordings/jfr?id=1", "")
		events, err := jfrtest.Parse([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, e := range events {
			switch e.Type {
			case "app.PluginCall", "go.MutexContention", "go.BlockedGoroutines", "jdk.ExecutionSample":
				found[e.Type] = true
			case "app.ClientRequest":
				found[e.Type+e.Text("role")] = true
			case "app.SqlTransaction":
				found[e.Type] = found[e.Type] || strings.Contains(e.Text("slowestStatement"), "user_account")
			}
		}
		return len(found) == 7 && found["app.SqlTransaction"]
	})
}

// awaitServer runs a command that serves pages until it is stopped, and waits until it does.
func awaitServer(t *testing.T, command string, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // The shell is not the one that serves.
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if said = append(said, lines.Text()); strings.Contains(lines.Text(), "http://") {
			break
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Errorf("stop %s: %v", command, err)
	}
	_ = cmd.Wait() // It was killed.
	if len(said) == 0 || !strings.Contains(said[len(said)-1], "http://") {
		t.Errorf("%s serves nothing: %q", command, said)
	}
}
