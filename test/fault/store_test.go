// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// TestOtherStore starts nodes on other databases than that of the cluster: they refuse to join with
// an error.
func TestOtherStore(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	fabric := "app.cluster.nats.url=" + nats.URL()
	service := start(t, "service", "service", fabric, "app.store.url="+db.URL())
	other := "app.store.url=sqlite:" + t.TempDir() + "/other.db"
	for _, role := range []string{"gateway", "service"} {
		if line := fails(t, role, "lost-"+role, fabric, other); !strings.Contains(line, "app.store.url") || !strings.Contains(line, `node "service" uses`) {
			t.Errorf("a %s with another database says %q", role, line)
		}
	}
	if line := fails(t, "gateway", "lost", fabric); !strings.Contains(line, "app.store.url: is not set") {
		t.Errorf("a gateway that was told no database says %q", line)
	}
	if _, body := service.call("GET", "/cluster/members", ""); strings.Contains(body, "lost") {
		t.Errorf("nodes that were refused are members: %s", body)
	}
}

// instructions returns the commands of the first code block under a heading of docs/deployment.md.
func instructions(t *testing.T, heading string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	_, section, ok := strings.Cut(section, "```sh\n")
	block, _, ended := strings.Cut(section, "```")
	if !found || !ok || !ended {
		t.Fatalf("docs/deployment.md has no commands under %q", heading)
	}
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "&")); line != "" {
			commands = append(commands, line)
		}
	}
	return commands
}

var (
	exported = regexp.MustCompile(`(APP_[A-Z_]+)=(\S+)`)
	setting  = regexp.MustCompile(`--set (\S+)`)
)

// follow runs the documented commands, with other addresses, and returns the nodes.
func follow(t *testing.T, heading string, replace *strings.Replacer) (nodes []*process) {
	t.Helper()
	var environment []string
	for _, command := range instructions(t, heading) {
		switch words := strings.Fields(command); words[0] {
		case "export":
			for _, m := range exported.FindAllStringSubmatch(command, -1) {
				name := strings.ToLower(strings.ReplaceAll(m[1], "_", "."))
				environment = append(environment, name+"="+replace.Replace(m[2]))
			}
		case "app":
			set := append([]string{}, environment...)
			name := fmt.Sprintf("node-%d", len(nodes))
			for _, m := range setting.FindAllStringSubmatch(command, -1) {
				if id, ok := strings.CutPrefix(m[1], "app.cluster.node.id="); ok {
					name = id
				} else if !strings.Contains(m[1], ".http.port=") {
					set = append(set, replace.Replace(m[1]))
				}
			}
			nodes = append(nodes, start(t, words[1], name, set...))
		}
	}
	return nodes
}

// TestDeploymentDocumentation follows docs/deployment.md: the nodes form a cluster, and users can
// log in.
func TestDeploymentDocumentation(t *testing.T) {
	beside(t)
	db := storetest.StartServer(t)
	check := func(t *testing.T, nodes []*process, want int) {
		t.Helper()
		if len(nodes) != want {
			t.Fatalf("the documentation starts %d nodes, want %d", len(nodes), want)
		}
		var service, gateway *process
		for _, p := range nodes {
			if p.role == "service" {
				service = p
			} else {
				gateway = p
			}
		}
		eventually(t, "all are members", func() bool {
			_, body := service.call("GET", "/cluster/members", "")
			return strings.Count(body, `"healthy":true`) == want
		})
		if status, body := service.call("POST", "/users", fmt.Sprintf(`{"id":%d,"password":"secret"}`, want)); status != 200 {
			t.Fatalf("create a user: %d %s", status, body)
		}
		chat.LogIn(t, gateway.clients[0], int64(want), chat.WithPassword("secret"))
	}
	t.Run("three nodes", func(t *testing.T) {
		nats := clustertest.StartServer(t)
		check(t, follow(t, "Three nodes", strings.NewReplacer("postgres:///app", db.URL(), "nats://localhost:4222", nats.URL())), 3)
	})
	t.Run("without a NATS server", func(t *testing.T) {
		address := fmt.Sprintf("127.0.0.1:%d", need.Port(t))
		check(t, follow(t, "Without a NATS server", strings.NewReplacer(
			"postgres://app@database-machine/app", db.URL(), "0.0.0.0:4222", address, "first-machine:4222", address,
		)), 2)
	})
}
