// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/app/test/need"
)

// A terminal is the output of a program.
type terminal struct {
	mu   sync.Mutex
	text string
}

func (s *terminal) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += line + "\n"
}

// shows reports whether the output contains a text.
func (s *terminal) shows(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text, text)
}

// wait waits until the output matches an expression, and returns its first group.
func (s *terminal) wait(t *testing.T, expression string) string {
	t.Helper()
	re := regexp.MustCompile(expression)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		found, text := re.FindStringSubmatch(s.text), s.text
		s.mu.Unlock()
		if found != nil {
			return found[len(found)-1]
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal never shows %s but\n%s", expression, text)
		}
	}
}

// TestPluginTutorial runs every command of the first chapter of the plugin documentation.
func TestPluginTutorial(t *testing.T) {
	t.Parallel()
	checkTypes(t, filepath.Join(runTutorial(t, "Five minutes", 12), "my-plugin", "jsconfig.json"))
}

// TestTypeScriptTutorial does the same with the chapter on TypeScript.
func TestTypeScriptTutorial(t *testing.T) {
	t.Parallel()
	checkTypes(t, filepath.Join(runTutorial(t, "TypeScript and packages", 4), "my-plugin", "tsconfig.json"))
}

// TestPluginTestsTutorial does the same with the chapter on tests.
func TestPluginTestsTutorial(t *testing.T) {
	t.Parallel()
	checkTypes(t, filepath.Join(runTutorial(t, "Tests", 4), "tested", "jsconfig.json"))
}

// checkTypes runs the TypeScript compiler on a project.
func checkTypes(t *testing.T, project string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "node", "../../sdk/js/node_modules/typescript/bin/tsc", "--project", project).CombinedOutput()
	if err != nil {
		t.Errorf("the types refuse the new plugin: %v\n%s", err, out)
	}
}

// TestJavaPluginTutorial does the same with the chapter on Java.
func TestJavaPluginTutorial(t *testing.T) {
	home, err := exec.CommandContext(t.Context(), "../../scripts/jdk").Output()
	if err != nil {
		need.Skip(t, "java", err)
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		need.Skip(t, "java", err)
	}
	t.Setenv("JAVA_HOME", strings.TrimSpace(string(home)))
	runTutorial(t, "Five minutes in Java", 11)
}

// runTutorial runs the commands of a chapter and returns the folder in which they ran. A chapter
// with fewer commands than least fails the test.
func runTutorial(t *testing.T, title string, least int) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(text), "## "+title+"\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	dir := t.TempDir()
	installApp(t, dir)
	ports := " --set app.service.admin-api.http.port=0 --set app.gateway.admin-api.http.port=0 --set app.gateway.websocket.port=0 --set app.gateway.tcp.port=0" +
		" --set app.service.admin-api.http.host=127.0.0.1 --set app.gateway.admin-api.http.host=127.0.0.1"
	screen, hosts, commands := &terminal{}, strings.NewReplacer(), 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(chapter, -1) {
		for line := range strings.Lines(block[1]) {
			commands++
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "bin/app plugin dev") {
				startDev(t, dir, line+ports, screen)
				hosts = strings.NewReplacer(
					"localhost:8510", screen.wait(t, `service  admin interface  http://(\S+)`), "localhost:9510", screen.wait(t, `gateway  admin interface  http://(\S+)`))
				screen.wait(t, "my-plugin is ready")
				continue
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", hosts.Replace(line))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			checkTutorial(t, line, string(out), screen)
		}
	}
	if commands < least {
		t.Errorf("the chapter has %d commands", commands)
	}
	return dir
}

// programDir is the folder of the server's program while the tests run.
var programDir string

// program builds the server's program once and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "app")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/app").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// installApp copies the server's program to where make build puts it in a folder.
func installApp(t *testing.T, dir string) {
	t.Helper()
	path, err := program()
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "bin"), 0o700)
	}
	if err == nil {
		err = os.Link(path, filepath.Join(dir, "bin", "app"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startDev runs a command until the test ends.
func startDev(t *testing.T, dir, line string, screen *terminal) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "bash", "-c", "exec "+line)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			screen.add(lines.Text())
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	})
}

// checkTutorial checks the result of a command of the tutorial.
func checkTutorial(t *testing.T, line, out string, screen *terminal) {
	t.Helper()
	want := `"code":1000`
	switch {
	case strings.Contains(line, "plugin new"):
		want = "a plugin that works"
	case strings.Contains(line, "plugin build"):
		want = "my-plugin.js has "
	case strings.Contains(line, "plugin test"):
		want = ": 2 passed"
		if strings.Contains(line, "--run") {
			want = "1 test in 1 file: 1 passed"
		}
	case strings.Contains(line, "plugin check"):
		want = "ClientRequestHandler: transform (without handle)"
	case strings.Contains(line, "/prometheus"):
		want = `plugin="my-plugin"`
	case strings.Contains(line, "DELETE"):
		want = "" // It prints nothing.
	case strings.HasPrefix(line, "sed ") && strings.HasSuffix(line, ".java"), strings.HasPrefix(line, "mvn ") && !screen.shows("my-plugin is ready"):
		want = "" // Only the built file is watched.
	case strings.HasPrefix(line, "sed "), strings.HasPrefix(line, "mvn "):
		// Until then, calls go to the previous version.
		screen.wait(t, `msg="plugin loaded" plugin=my-plugin .*replaced=true`)
		want = ""
	case strings.HasPrefix(line, "node "):
		want = ""
	case strings.Contains(line, "replace=true"):
		want = `"replaced":true`
	case strings.Contains(line, "/users -d"):
		screen.wait(t, "an administrator: createUser, which ended with 1000")
	case strings.Contains(line, "users?ids=1"):
		screen.wait(t, "somebody asked for queryUsers, which ended with 1000")
	}
	if !strings.Contains(out, want) {
		t.Errorf("%s\nanswers %s\nwithout %s", line, out, want)
	}
}
