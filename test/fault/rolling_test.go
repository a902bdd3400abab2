// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// earlierCommit is the commit of the program that a cluster is upgraded from, and earlierSchema the
// newest schema version that it knows. Once there are releases, it is that of the last minor
// version.
const (
	earlierCommit = "be006adb5e165c23be6b2d8098dcd6fa315df2ac"
	earlierSchema = 26
)

// earlierProgram builds the program of earlierCommit, once for each version of Go. It skips the
// test in a clone without that commit.
func earlierProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if cache := need.Cache(); cache != "" {
		dir = filepath.Join(cache, "earlier", earlierCommit+"-"+runtime.Version())
	}
	program := filepath.Join(dir, "app")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	archive, err := exec.Command("git", "-C", "../..", "archive", earlierCommit).Output()
	if err != nil {
		need.Skip(t, "history", "the commit "+earlierCommit+" is not in this clone")
	}
	source := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", source)
	unpack.Stdin = bytes.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack the sources of %s: %v\n%s", earlierCommit, err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Another run of the tests may do the same concurrently.
	made, err := os.MkdirTemp(dir, "build")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(made)
	build := exec.Command("go", "build", "-o", filepath.Join(made, "app"), "./cmd/app")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of %s: %v\n%s", earlierCommit, err, out)
	}
	if err := os.Rename(filepath.Join(made, "app"), program); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestRollingUpgrade replaces the processes of an earlier program by those of the current one, one
// by one as docs/deployment.md says, while users send messages: nothing is lost, doubled or
// inverted, and a connected user receives everything or is told to reconnect. The first new process
// migrates the database, after which the earlier program cannot start. Gateways of the earlier
// program may deliver a message that comes very late after newer ones, to users who have connected
// meanwhile.
func TestRollingUpgrade(t *testing.T) {
	beside(t)
	program := earlierProgram(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
	k := newKilling(t, db.URL())
	k.program = program
	for _, name := range []string{"service-0", "service-1", "gateway-0", "gateway-1"} {
		role, _, _ := strings.Cut(name, "-")
		k.boot(role, name, set...)
	}
	schema := func(want int64) {
		t.Helper()
		if s, err := store.Inspect(t.Context(), store.Options{URL: db.URL()}, false); err != nil || want == 0 && s.Version != s.Known || want > 0 && s.Version != want {
			t.Errorf("the database is %+v: %v", s, err)
		}
	}
	schema(earlierSchema)
	k.begin([]string{"gateway-0", "gateway-1"}, "service-0")
	k.attend(k.anyURL, wire.ClosedServerUnavailable, wire.ClosedServerClosed)
	k.program = binary
	if os.Getenv("APP_CAMPAIGN") == "long" {
		k.pause = 10
	}
	// After the first two replacements, all four combinations of roles and programs work together.
	for _, name := range []string{"service-0", "gateway-0", "service-1", "gateway-1"} {
		k.replace(name)
		schema(0)
	}
	k.end()
	line := failsWith(t, program, "service", "service-2", set...)
	if !strings.Contains(line, "start a newer program") {
		t.Errorf("the earlier program says %q", line)
	}
	out, err := exec.Command(program, "migrate", "up", "--home", t.TempDir(), "--set=app.store.url="+db.URL()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "start a newer program") {
		t.Errorf("app migrate up of the earlier program: %v %s", err, out)
	}
}

// replace takes a process out of service, stops it and starts the current program in its place,
// while all users make progress.
func (k *killing) replace(name string) {
	k.t.Helper()
	for range k.pause {
		k.progress("before " + name + " is replaced")
	}
	old := k.nodes[name]
	asked := k.nodes["service-0"]
	if status, body := asked.call("PUT", "/cluster/members?id="+name, `{"isActive":false}`); status != 200 {
		k.t.Fatalf("take %s out of service: %d %s", name, status, body)
	}
	old.signal(syscall.SIGTERM)
	<-old.done
	k.progress("while " + name + " is away")
	k.boot(old.role, name, k.set[name]...)
	k.progress("after " + name + " was replaced")
}
