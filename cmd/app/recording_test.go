// SPDX-License-Identifier: Apache-2.0

package main

import (
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // opens the database as another program would

	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/recording/jfr/jfrtest"
)

// awaitFile waits for a file that the program writes by itself.
func awaitFile(t *testing.T, pattern string) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is not written", pattern)
		}
	}
}

// checkRecording downloads a recording and parses it with the tools.
func (s *server) checkRecording(id string) []jfrtest.Event {
	s.t.Helper()
	status, data := s.get("/flight-recordings/jfr?id="+id, "app")
	if status != 200 {
		s.t.Fatalf("the download is %d %s", status, data)
	}
	path := filepath.Join(s.t.TempDir(), id+".jfr")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return jfrtest.Check(s.t, path)
}

func TestQuitKeepsTheBlackBox(t *testing.T) {
	home := t.TempDir()
	s := run(t, home, "--set=app.flight-recorder.continuous.enabled=true", "--set=app.logging.console.enabled=false")
	awaitFile(t, filepath.Join(home, "data", "recordings", "*", "continuous", "recording.json"))
	s.Process.Signal(syscall.SIGQUIT)
	// After that, SIGQUIT has its usual effect on a Go program.
	if code := s.wait(); code != 2 || !strings.Contains(s.stderr.String(), "SIGQUIT: quit") || !strings.Contains(s.stderr.String(), "goroutine ") {
		t.Errorf("exit code %d\n%.2000s", code, s.stderr.String())
	}
	s = run(t, home)
	status, list := s.get("/flight-recordings", "app")
	if status != 200 || strings.Count(list, `"id":`) != 1 || !strings.Contains(list, `"state":"STOPPED"`) || !strings.Contains(list, `"description":"black box: SIGQUIT"`) {
		t.Errorf("the recordings are %d %s", status, list)
	}
	if events := s.checkRecording("1"); len(events) == 0 {
		t.Error("the recording is empty")
	}
	s.Process.Signal(syscall.SIGTERM)
	s.wait()
}

// post sends a request as root, which must succeed.
func (s *server) post(path, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.service+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		s.t.Fatalf("POST %s: %d %s", path, resp.StatusCode, answer)
	}
}

// slowTrigger slows the creation of users.
const slowTrigger = `CREATE TRIGGER slow BEFORE INSERT ON user_account BEGIN
	SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 300000) SELECT x FROM c);
END`

// hasJVM reports whether a JVM took part in a recording.
func hasJVM(events []jfrtest.Event) bool {
	return slices.ContainsFunc(events, func(e jfrtest.Event) bool { return e.Type == "jdk.ActiveRecording" })
}

// slowUser returns the transaction that created a user.
func slowUser(events []jfrtest.Event) *jfrtest.Event {
	for _, e := range events {
		if e.Type == "app.SqlTransaction" && strings.Contains(e.Text("slowestStatement"), "user_account") && strings.HasPrefix(strings.ToUpper(e.Text("slowestStatement")), "INSERT") {
			return &e
		}
	}
	return nil
}

// idle is a Java plugin that does nothing, so that the server runs a JVM.
const idle = `
package idle;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.*;

public class Idle extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Nothing.class);
    }

    public static class Nothing extends AppExtension implements AdminActionHandler {
        @Override
        public void handleAdminAction(AdminAction action) {}
    }
}`

// TestASlowStatementIsFoundAfterAKill plants a slow statement in the database of a server with a
// JVM, records it, and kills the server.
func TestASlowStatementIsFoundAfterAKill(t *testing.T) {
	home := t.TempDir()
	jar := javatest.Jar(t, javatest.Plugin{ID: "idle", Version: "1", Class: "idle.Idle", Sources: map[string]string{"idle/Idle.java": idle}})
	if err := os.MkdirAll(filepath.Join(home, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "plugins", "idle.jar"), jar, 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, home)
	s.Process.Signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	db, err := sql.Open("sqlite", filepath.Join(home, "data", "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), slowTrigger); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	s = run(t, home)
	s.post("/flight-recordings", `{"description":"slow users","customSettings":{"app.SqlTransaction#threshold":"20 ms"}}`)
	s.post("/users", `{"id":7,"password":"123456"}`)
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, data := s.get("/flight-recordings/jfr?id=1", "app")
		events, err := jfrtest.Parse([]byte(data))
		if status != 200 || err != nil || time.Now().After(limit) {
			t.Fatalf("the recording has no part of the JVM: %d %v", status, err)
		}
		if hasJVM(events) {
			break
		}
	}
	check := func(when string) {
		t.Helper()
		events := s.checkRecording("1")
		if !hasJVM(events) {
			t.Errorf("%s: the part of the JVM is not in the recording", when)
		}
		e := slowUser(events)
		if e == nil {
			t.Fatalf("%s: the transaction is not in the recording", when)
		}
		slowest := time.Duration(e.Number("slowestDuration"))
		if e.Text("engine") != "sqlite" || slowest < 20*time.Millisecond || slowest > e.Duration() {
			t.Errorf("%s: the transaction took %v, its slowest statement %v: %v", when, e.Duration(), slowest, e.Fields)
		}
	}
	check("running")
	s.Process.Kill()
	s.wait()
	s = run(t, home)
	if status, list := s.get("/flight-recordings", "app"); status != 200 || !strings.Contains(list, `"id":1,"state":"STOPPED"`) || !strings.Contains(list, `"description":"slow users"`) {
		t.Errorf("after a kill the recordings are %d %s", status, list)
	}
	check("killed")
	s.Process.Signal(syscall.SIGTERM)
	s.wait()
}
