// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestSettingReachesEveryNode changes a setting and blocks a user. All nodes are notified of both.
func TestSettingReachesEveryNode(t *testing.T) {
	beside(t)
	services, gateways, _, _ := newCluster(t)
	createUsers(t, services[0], 1)
	user := chat.LogIn(t, gateways[1].clients[0], 1, chat.WithPassword("secret"))
	took := eventually(t, "the user is disconnected", func() bool {
		if status, body := services[1].call("POST", "/blocked-clients/users", `{"ids":[1],"blockDurationMillis":3600000}`); status != 204 {
			t.Logf("block: %d %s", status, body)
		}
		select {
		case <-user.Done():
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	})
	t.Logf("the user was disconnected after %v", took)
	user.Closed(wire.ClosedUserBlocked)
	if status, body := services[1].call("PUT", "/cluster/settings", `{"gateway":{"adminApi":{"rateLimiting":{"capacity":1,"initialTokens":1,"refillIntervalMillis":10000}}}}`); status != 200 {
		t.Fatalf("change: %d %s", status, body)
	}
	for _, s := range services {
		took := eventually(t, s.name+" has the setting", func() bool { return s.capacity() == "1" })
		t.Logf("%s: %v", s.name, took)
	}
	for _, g := range gateways {
		took := eventually(t, g.name+" obeys the setting", func() bool {
			status, _ := g.call("GET", "/health", "")
			return status == 429
		})
		t.Logf("%s: %v", g.name, took)
	}
}

// slotPattern matches a log line of a schedule.
var slotPattern = regexp.MustCompile(`ran slot (\d+)`)

// slots returns the slots of a schedule that the process has run, from its log.
func (p *process) slots() (list []string) {
	for _, m := range slotPattern.FindAllStringSubmatch(p.log.String(), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestLeaderDies kills the leader, then pauses the next one. A schedule of a plugin that runs on
// the leader continues, and none of its slots runs twice.
func TestLeaderDies(t *testing.T) {
	beside(t)
	services, _, _, _ := newCluster(t)
	byName := map[string]*process{}
	for _, s := range services {
		byName[s.name] = s
	}
	agreed := func(among []*process, not string) string {
		var leader string
		eventually(t, "all agree on a leader other than "+not, func() bool {
			leader = among[0].leader()
			for _, s := range among[1:] {
				if s.leader() != leader {
					return false
				}
			}
			return leader != "" && leader != not
		})
		return leader
	}
	first := agreed(services, "")
	if first != "service-0" {
		t.Errorf("%s leads, although service-0 has the highest priority", first)
	}
	code := script("clock", 1, "app.schedule('1s', {leaderOnly: true}, (slot) => app.log.info(`ran slot ${slot.getTime()}`));")
	if status, body := services[1].uploadScript("", code); status != 200 {
		t.Fatalf("upload: %d %s", status, body)
	}
	if status, body := services[1].send(http.MethodPut, "/plugins?ids=clock", "application/json", []byte(`{"status":"STARTED"}`)); status != 200 {
		t.Fatalf("start: %d %s", status, body)
	}
	ticks := func(p *process) {
		t.Helper()
		before := len(p.slots())
		eventually(t, p.name+" runs the schedule", func() bool { return len(p.slots()) > before })
	}
	services[2].follow("clock", on("STARTED 1", "service-0", "service-1", "service-2"))
	ticks(byName[first])
	byName[first].signal(syscall.SIGKILL)
	rest := without(services, first)
	second := agreed(rest, first)
	t.Logf("%s leads after %s was killed", second, first)
	ticks(byName[second])

	clustertest.Freeze(t, byName[second].Process.Pid)
	last := without(rest, second)
	third := agreed(last, second)
	t.Logf("%s leads after %s was paused", third, second)
	ticks(byName[third])
	clustertest.Thaw(t, byName[second].Process.Pid)
	eventually(t, second+" knows that it does not lead", func() bool { return byName[second].leader() == third })
	// It sees the new leader before it has stopped its own work.
	eventually(t, second+" gives up", func() bool {
		return strings.Contains(byName[second].log.String(), "this node is not the leader any more")
	})
	ticks(byName[third])
	ran := map[string]string{}
	for _, s := range services {
		for _, slot := range s.slots() {
			if other, ok := ran[slot]; ok {
				t.Errorf("the slot %s ran on %s and on %s", slot, other, s.name)
			}
			ran[slot] = s.name
		}
	}
	t.Logf("%d slots ran, each once", len(ran))
}

func without(list []*process, name string) (rest []*process) {
	for _, p := range list {
		if p.name != name {
			rest = append(rest, p)
		}
	}
	return rest
}

func TestSecondNodeWithTheSameID(t *testing.T) {
	beside(t)
	services, _, nats, db := newCluster(t)
	line := fails(t, "service", services[0].name, "app.store.url="+db.URL(), "app.cluster.nats.url="+nats.URL())
	if !strings.Contains(line, `node "service-0"`) || !strings.Contains(line, "same id") {
		t.Errorf("said %q", line)
	}
}

func TestSecondServiceOnOneFile(t *testing.T) {
	beside(t)
	file := "app.store.url=sqlite:" + t.TempDir() + "/app.db"
	start(t, "service", "one", file)
	line := fails(t, "service", "two", file, "app.store.lock-timeout-millis=300")
	if !strings.Contains(line, "PostgreSQL") {
		t.Errorf("said %q", line)
	}
}

// TestNATSStops stops NATS for ten seconds while administrators work.
func TestNATSStops(t *testing.T) {
	services, gateways, nats, _ := newCluster(t)
	if status, body := services[0].call("POST", "/users", `{"id":1,"password":"secret"}`); status != 200 {
		t.Fatalf("create a user: %d %s", status, body)
	}
	stop, requests, failures := adminLoad(t, services)
	nats.Stop(t)
	down := time.Now()
	eventually(t, "the nodes notice", func() bool {
		for _, p := range append(services, gateways...) {
			if _, body := p.call("GET", "/health", ""); !strings.Contains(body, `"name":"cluster","status":"DOWN"`) {
				return false
			}
		}
		return true
	})
	eventually(t, "the members count as not healthy", func() bool {
		status, body := services[0].call("GET", "/cluster/members", "")
		return status == 200 && !strings.Contains(body, `"healthy":true`)
	})
	c, err := chat.Dial(t.Context(), gateways[0].clients[0], chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	login := &wire.CreateSessionRequest{Version: wire.Version, UserId: 1, Password: new("secret")}
	if n, err := c.Do(t.Context(), login); err != nil || n.GetCode() != int32(apierr.ServerUnavailable) || !strings.Contains(n.GetReason(), "the cluster") {
		t.Errorf("a login meanwhile: %v, %v", n, err)
	}
	eventually(t, "ten seconds pass", func() bool { return time.Since(down) > 10*time.Second })
	nats.Start(t, true)
	eventually(t, "all are healthy again", func() bool {
		for _, p := range append(services, gateways...) {
			if status, _ := p.call("GET", "/health", ""); status != 200 {
				return false
			}
		}
		_, body := services[0].call("GET", "/cluster/members", "")
		return strings.Count(body, `"healthy":true`) == 5
	})
	leader := ""
	eventually(t, "there is a leader", func() bool {
		leader = services[0].leader()
		return leader != ""
	})
	stop()
	t.Logf("%d requests, %d failures; %s leads", requests.Load(), failures.Load(), leader)
	if failures.Load() > 0 {
		t.Errorf("%d requests that need no other node failed", failures.Load())
	}
	if status, body := services[2].call("PUT", "/cluster/settings", `{"gateway":{"adminApi":{"rateLimiting":{"capacity":777}}}}`); status != 200 {
		t.Fatalf("change after the outage: %d %s", status, body)
	}
	for _, s := range services {
		eventually(t, s.name+" has the setting", func() bool { return s.capacity() == "777" })
	}
}

// adminLoad reads and writes on all services until stop is called.
func adminLoad(t *testing.T, services []*process) (stop func(), requests, failures *atomic.Int64) {
	requests, failures = &atomic.Int64{}, &atomic.Int64{}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for i, s := range services {
		wg.Go(func() {
			pace := time.NewTicker(50 * time.Millisecond)
			defer pace.Stop()
			for n := 0; ; n++ {
				select {
				case <-quit:
					return
				case <-pace.C:
				}
				requests.Add(1)
				id := 1_000_000*(i+1) + n
				if status, body := s.call("POST", "/admins/roles", fmt.Sprintf(`{"id":%d,"name":"R","permissions":["LOG_QUERY"],"rank":1}`, id)); status != 200 {
					failures.Add(1)
					t.Logf("%s: %d %s", s.name, status, body)
				}
			}
		})
	}
	return func() { close(quit); wg.Wait() }, requests, failures
}

// TestDatabaseStops stops the database: requests are refused with 1201, and everything that was
// acknowledged is stored afterwards.
func TestDatabaseStops(t *testing.T) {
	services, _, _, db := newCluster(t)
	var acknowledged []int
	var clock stopwatch
	create := func(id int) int {
		status, _ := services[0].call("POST", "/admins/roles", fmt.Sprintf(`{"id":%d,"name":"R","permissions":["LOG_QUERY"],"rank":1}`, id))
		if status == 200 {
			acknowledged = append(acknowledged, id)
			clock.acknowledge()
		}
		return status
	}
	for id := 1; id <= 20; id++ {
		if status := create(id); status != 200 {
			t.Fatalf("create %d: %d", id, status)
		}
	}
	db.Stop(t)
	for id := 21; id <= 25; id++ {
		status, body := services[0].call("POST", "/admins/roles", fmt.Sprintf(`{"id":%d,"name":"R","permissions":["LOG_QUERY"],"rank":1}`, id))
		if status != 503 || !strings.Contains(body, `"code":1201`) {
			t.Errorf("without database: %d %s", status, body)
		}
	}
	if status, body := services[0].call("GET", "/health", ""); status != 503 || !strings.Contains(body, `"name":"store","status":"DOWN"`) {
		t.Errorf("health without database: %d %s", status, body)
	}
	if status, _ := services[0].call("GET", "/health?probe=LIVENESS", ""); status != 200 {
		t.Errorf("liveness without database: %d", status)
	}
	db.Start(t)
	next := 100
	eventually(t, "writing works again", func() bool {
		next++
		return create(next) == 200
	})
	eventually(t, "all are healthy again", func() bool {
		for _, s := range services {
			if status, _ := s.call("GET", "/health", ""); status != 200 {
				return false
			}
		}
		return true
	})
	for _, s := range services {
		eventually(t, s.name+" has everything that was acknowledged", func() bool {
			for _, id := range acknowledged {
				if status, _ := s.call("GET", fmt.Sprintf("/admins/roles?ids=%d", id), ""); status != 200 {
					return false
				}
			}
			return true
		})
	}
	record(t, figures{
		acknowledged: len(acknowledged), doubled: unknown, inverted: unknown, undelivered: unknown, repeated: unknown, late: unknown,
	}, unknown, clock.stop())
}
