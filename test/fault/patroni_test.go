// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/pgserver"
	"example.org/app/test/need"
)

// run runs a program next to the nodes, in a folder, as an unprivileged account, because PostgreSQL
// refuses to run as root. A shell stops it when the test ends, in whatever way.
func run(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command("/bin/sh", append([]string{"-c", `"$0" "$@" </dev/null & pid=$!; read -r line; kill -TERM $pid; wait $pid`}, arguments...)...)
	command.Dir, command.SysProcAttr = folder, &syscall.SysProcAttr{Setpgid: true, Credential: account(t)}
	command.Env = append(os.Environ(), "HOME="+folder)
	command.Stdout, command.Stderr = log, log // a file, which child processes may keep open
	pipe, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pipe.Close()
		command.Wait()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("log of %s:\n%s", filepath.Base(arguments[0]), text)
		}
	})
}

// account returns the account that helpers run as; nil means that of the test.
func account(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(postgres.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(postgres.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// postmaster returns the process id of the server whose data is in a folder.
func postmaster(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, err
	}
	// The pid file of a killed server remains, and its number may belong to another process.
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil && !strings.Contains(string(command), data) {
		err = fmt.Errorf("the process %d is not that of %s", pid, data)
	}
	return pid, err
}

// freeAddresses returns addresses that nothing listens on.
func freeAddresses(t *testing.T, n int) (list []string) {
	t.Helper()
	for range n {
		list = append(list, fmt.Sprintf("127.0.0.1:%d", need.Port(t)))
	}
	return list
}

// TestPatroniFailsOver runs two PostgreSQL servers under Patroni, configured as documented, and
// kills the primary while users send messages: Patroni promotes the other one, and no acknowledged
// write is lost.
func TestPatroniFailsOver(t *testing.T) {
	beside(t)
	need.Time(t)
	patroni, err := exec.LookPath("patroni")
	if err != nil {
		need.Skip(t, "patroni", err)
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		need.Skip(t, "etcd", err)
	}
	programs, err := pgserver.Programs()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "appfo")
	if err != nil {
		t.Fatal(err)
	}
	data := func(i int) string { return filepath.Join(folder, fmt.Sprint("data-", i)) }
	t.Cleanup(func() {
		for i := range 2 { // Patroni may leave behind one that it was about to start.
			if pid, err := postmaster(data(i)); err == nil {
				pgserver.KillAll(pid)
			}
		}
		os.RemoveAll(folder)
	})
	own := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if who := account(t); who != nil {
			if err := os.Chown(path, int(who.Uid), int(who.Gid)); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	own(folder)
	at := freeAddresses(t, 6)
	client, peer := "http://"+at[0], "http://"+at[1]
	run(t, own(filepath.Join(folder, "home")), etcd, "--data-dir", filepath.Join(folder, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--unsafe-no-fsync")
	for i := range 2 {
		api, database := at[2+i], at[4+i]
		text := strings.NewReplacer(
			"etcd-0:2379, etcd-1:2379, etcd-2:2379", at[0], "0.0.0.0:8008", api, "database-0:8008", api, "0.0.0.0:5432", database, "database-0:5432", database,
			"name: database-0", fmt.Sprintf("name: database-%d", i), "/var/lib/postgresql/app", data(i),
			"/usr/lib/postgresql/15/bin", programs,
		).Replace(documented(t, "Patroni", "yaml"))
		// The servers of tests need not survive a power loss, and all use the same folder for their
		// sockets.
		text += fmt.Sprintf("  parameters: {fsync: 'off', unix_socket_directories: %q}\n", folder)
		file := filepath.Join(folder, fmt.Sprintf("patroni-%d.yml", i))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, own(filepath.Join(folder, fmt.Sprint("home-", i))), patroni, file)
	}
	members := func() (primary, synchronous int) {
		primary, synchronous = -1, -1
		response, err := http.Get("http://" + at[2] + "/cluster")
		if err != nil {
			return primary, synchronous
		}
		defer response.Body.Close()
		var answer struct {
			Members []struct{ Name, Role, State string }
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return primary, synchronous
		}
		for _, m := range answer.Members {
			var i int
			if _, err := fmt.Sscanf(m.Name, "database-%d", &i); err != nil || m.State != "running" && m.State != "streaming" {
				continue
			}
			switch m.Role {
			case "leader", "master", "primary":
				primary = i
			case "sync_standby":
				synchronous = i
			}
		}
		return primary, synchronous
	}
	eventually(t, "there are a primary and a synchronous standby", func() bool {
		primary, synchronous := members()
		return primary >= 0 && synchronous >= 0
	})
	primary, _ := members()
	database := strings.Replace(documentedURL(t), documentedHosts, "postgres://postgres:s3cret@"+at[4]+","+at[5]+"/postgres?", 1)
	nats := clustertest.StartServer(t)
	set := append([]string{"app.store.url=" + database, "app.cluster.nats.url=" + nats.URL(), "app.store.timeout-millis=10000"}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 6
	createUsers(t, services[0], 2*senders)
	tr := newTraffic(t, senders, 4, gateways[0], gateways[1])
	tr.progress("before the primary is killed")
	pid, err := postmaster(data(primary))
	if err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := pgserver.KillAll(pid); err != nil {
		t.Fatal(err)
	}
	tr.progress("after the primary was killed")
	t.Logf("40 messages of every sender were acknowledged %v after the primary was killed", time.Since(killed).Round(time.Millisecond))
	if now, _ := members(); now == primary {
		t.Errorf("database-%d is still the primary", now)
	}
	tr.settle(database, mayBeUnknown)
	if stop := tr.history.acknowledgements.stop(); stop > 15*time.Second {
		t.Errorf("for %v nothing was acknowledged", stop)
	}
}
