// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// TestOnlineUsersAreLogged checks that the leader logs the count, and that a setting disables it.
func TestOnlineUsersAreLogged(t *testing.T) {
	need.Time(t)
	home := t.TempDir()
	a := apptest.Start(t, role.All,
		"app.service.statistics.online-users-number-logging-cron=* * * * * *", "app.logging.file.file-path="+filepath.Join(home, "app.log"),
		"app.gateway.session.identity-access-management.enabled=false",
	)
	logged := func() (numbers []int) {
		b, err := os.ReadFile(filepath.Join(home, "app.log"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var r struct {
				Msg   string
				Users int
			}
			if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &r) == nil && r.Msg == "online users" {
				numbers = append(numbers, r.Users)
			}
		}
		return numbers
	}
	ws := gatewayOf(a, "").WebSocket
	first, second := chat.LogIn(t, ws, 1), chat.LogIn(t, ws, 2)
	eventually(t, "two users are logged", func() bool { return slices.Contains(logged(), 2) })
	first.Close()
	second.Close()
	eventually(t, "the last user has gone", func() bool { n := logged(); return n[len(n)-1] == 0 })
	before := logged()
	if len(before) < 2 || before[0] == 0 {
		t.Errorf("the numbers are %v; while nobody was online nothing is to be said", before)
	}
	want(t, a, role.Service, http.MethodPut, "/cluster/settings", `{"service":{"statistics":{"logOnlineUsersNumber":false}}}`, http.StatusOK)
	chat.LogIn(t, ws, 1)
	// The job is due at each second of the clock.
	for end := time.Now().Unix() + 3; time.Now().Unix() < end; {
		if n := logged(); n[len(n)-1] != 0 {
			t.Fatalf("the number is logged although that is switched off: %v", n)
		}
		runtime.Gosched()
	}
	want(t, a, role.Service, http.MethodPut, "/cluster/settings", `{"service":{"statistics":{"logOnlineUsersNumber":true}}}`, http.StatusOK)
	eventually(t, "one user is logged", func() bool { n := logged(); return n[len(n)-1] == 1 })
}
