// SPDX-License-Identifier: Apache-2.0

// Package fault tests a cluster of real processes while parts of it are killed,
// paused and cut off.
package fault

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/store/storetest"
)

// binary is the real program, built once for all tests.
var binary string

// look reads the folders with the sources of the program, because go test only invalidates a cached
// result if files that the test read have changed.
var look = sync.OnceValue(func() error {
	for _, root := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(root, func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "app-fault")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "app")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/app").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	if os.Getenv("APP_CAMPAIGN") == "long" {
		if err := printTable(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := clustertest.Cleanup(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// beside lets a test run in parallel with others, as most tests mostly wait. In the campaign, whose
// figures must not be disturbed, each test runs alone. So do tests that count what users miss while
// NATS or the database is down; they do not call beside.
func beside(t *testing.T) {
	t.Helper()
	if os.Getenv("APP_CAMPAIGN") != "long" {
		t.Parallel()
	}
}

// patience bounds how long a cluster may take to recover from any fault.
const patience = 60 * time.Second

// process is one node.
type process struct {
	*exec.Cmd
	t    *testing.T
	name string
	role string
	url  string
	// clients are the addresses for clients, if it is a gateway.
	clients []string
	log     lockedBuffer
	done    chan struct{}
}

// lockedBuffer is written by the process and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var (
	urlPattern     = regexp.MustCompile(`admin interface +(http\S+)`)
	clientsPattern = regexp.MustCompile(`gateway +clients +(.+)`)
)

// start starts a node and waits until it is ready.
func start(t *testing.T, role, name string, set ...string) *process {
	t.Helper()
	return startWith(t, []string{binary}, role, name, set...)
}

// startWith is like start, with a command line that runs the program, for instance in another
// network namespace.
func startWith(t *testing.T, command []string, role, name string, set ...string) *process {
	t.Helper()
	if err := look(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: name, role: role, done: make(chan struct{})}
	args := []string{
		role, "--home", t.TempDir(), "--set=app.cluster.node.id=" + name,
		"--set=app.gateway.websocket.port=0", "--set=app.gateway.tcp.port=0",
		"--set=app.health-check.cpu.unhealthy-load-threshold-percentage=100", "--set=app.health-check.check-interval-seconds=1",
		"--set=app.cluster.discovery.heartbeat-interval-seconds=1", "--set=app.security.password.bcrypt-cost=4",
		"--set=app.plugin.java.class-cache-dir=" + javatest.ClassCache(),
		"--set=app.plugin.java.jvm-options=-XX:TieredStopAtLevel=1", // JVMs only run for a few seconds.
	}
	roles := []string{role}
	if role == "all" {
		roles = []string{"service", "gateway"}
	}
	for _, role := range roles {
		args = append(args,
			"--set=app."+role+".admin-api.http.port=0", "--set=app."+role+".admin-api.http.host=127.0.0.1",
			"--set=app."+role+".admin-api.rate-limiting.capacity=1000000", "--set=app."+role+".admin-api.rate-limiting.initial-tokens=1000000",
		)
	}
	for _, s := range set {
		args = append(args, "--set="+s)
	}
	for _, s := range []string{"app.store.timeout-millis=2000", "app.cluster.discovery.heartbeat-timeout-seconds=4"} {
		name, _, _ := strings.Cut(s, "=")
		if !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") }) {
			args = append(args, "--set="+s)
		}
	}
	command = slices.Concat(command, args)
	p.Cmd = exec.Command(command[0], command[1:]...)
	p.Env = []string{"PATH=" + os.Getenv("PATH")}
	p.Cmd.Stderr = &p.log
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Signal(syscall.SIGCONT)
		p.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, p.log.String())
		}
	})
	ready := make(chan struct{})
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := urlPattern.FindStringSubmatch(lines.Text()); m != nil {
				// A process with both roles prints the address of the service first.
				p.url = cmp.Or(p.url, m[1])
			} else if m := clientsPattern.FindStringSubmatch(lines.Text()); m != nil {
				p.clients = strings.Fields(m[1])
			} else {
				continue
			}
			if role == "service" || p.clients != nil {
				close(ready)
			}
		}
		p.Wait()
	}()
	select {
	case <-ready:
	case <-p.done:
		t.Fatalf("%s ended: %s", name, p.log.String())
	case <-time.After(patience):
		t.Fatalf("%s did not start: %s", name, p.log.String())
	}
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// call sends a request as root. A status of 0 means that there was no response in time.
func (p *process) call(method, path, body string) (status int, answer string) {
	return p.callWithin(5*time.Second, method, path, body)
}

// callWithin is like call, with another time limit.
func (p *process) callWithin(limit time.Duration, method, path, body string) (status int, answer string) {
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return 0, ""
	}
	req.SetBasicAuth("app", "app")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// leader returns the id of the node that the process considers the leader.
func (p *process) leader() string {
	status, body := p.call("GET", "/cluster/members/leader", "")
	var e struct {
		Data struct{ Key struct{ NodeID string } }
	}
	if status != 200 || json.Unmarshal([]byte(body), &e) != nil {
		return ""
	}
	return e.Data.Key.NodeID
}

// capacity returns the current value of a setting of the process.
func (p *process) capacity() string {
	_, body := p.call("GET", "/cluster/settings", "")
	var e struct {
		Data struct {
			Settings struct {
				Gateway struct {
					AdminAPI struct {
						RateLimiting struct{ Capacity json.Number }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return err.Error()
	}
	return e.Data.Settings.Gateway.AdminAPI.RateLimiting.Capacity.String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, cond func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for !cond() {
		if time.Since(begin) > patience {
			t.Fatalf("%s: not within %v", what, patience)
		}
		<-retry.C
	}
	return time.Since(begin)
}

// newCluster starts three services and two gateways on one PostgreSQL and one NATS.
func newCluster(t *testing.T) (services, gateways []*process, nats *clustertest.Server, db *storetest.Server) {
	t.Helper()
	nats, db = clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(),
		"app.gateway.client-api.return-reason-for-server-error=true",
		// Nodes do not poll for blocked users: they learn of them only from notifications.
		"app.security.blocklist.user-id.sync-blocklist-interval-millis=3600000",
	}
	for i := range 3 {
		services = append(services, start(t, "service", fmt.Sprintf("service-%d", i), append(set, fmt.Sprintf("app.cluster.node.priority=%d", 10-i))...))
	}
	for i := range 2 {
		gateways = append(gateways, start(t, "gateway", fmt.Sprintf("gateway-%d", i), set...))
	}
	eventually(t, "all members are known", func() bool {
		_, body := services[0].call("GET", "/cluster/members", "")
		return strings.Count(body, `"healthy":true`) == 5
	})
	return services, gateways, nats, db
}

// fails starts a node that must refuse to start, and returns its output.
func fails(t *testing.T, role, name string, set ...string) string {
	t.Helper()
	return failsWith(t, binary, role, name, set...)
}

// failsWith is like fails, with another program.
func failsWith(t *testing.T, program, role, name string, set ...string) string {
	t.Helper()
	args := []string{
		role, "--home", t.TempDir(), "--set=app.cluster.node.id=" + name, "--set=app.logging.console.enabled=false",
		"--set=app.gateway.websocket.port=0", "--set=app.gateway.tcp.port=0",
		"--set=app." + role + ".admin-api.http.port=0", "--set=app.cluster.discovery.heartbeat-interval-seconds=1", "--set=app.cluster.discovery.heartbeat-timeout-seconds=4",
	}
	for _, s := range set {
		args = append(args, "--set="+s)
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%s did not refuse to start with one line: %v\n%s", name, err, out)
	}
	return string(out)
}
