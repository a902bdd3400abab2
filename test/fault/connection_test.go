// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// named returns the URL of a database with an application name, by which PostgreSQL lists the
// node's connections.
func named(t *testing.T, database, name string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("application_name", name)
	u.RawQuery = query.Encode()
	return u.String()
}

// TestConnectionsOfGateways counts the connections of a gateway to PostgreSQL while 200 users log
// in at once and administrators query it: there are never more than two. With ten, logins are no
// faster.
func TestConnectionsOfGateways(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.cluster.nats.url=" + nats.URL()}, openClients...)
	service := start(t, "service", "service", append(set, "app.store.url="+db.URL())...)
	few := start(t, "gateway", "few", append(set, "app.store.url="+named(t, db.URL(), "few"))...)
	many := start(t, "gateway", "many", append(set, "app.store.url="+named(t, db.URL(), "many"), "app.store.max-connections=10")...)
	const users = 200
	createUsers(t, service, users)
	watch, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close(context.Background())
	most := 0
	count := func() {
		var n int
		if err := watch.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'few'").Scan(&n); err != nil {
			t.Error(err)
		}
		most = max(most, n)
	}
	rates := map[*process]float64{}
	for round, gateway := range []*process{few, many, many, few, few, many} {
		ended := make(chan struct{})
		var admins sync.WaitGroup
		for _, request := range []string{"GET /plugins", "GET /health", "GET /metrics", "DELETE /sessions?ids=1000000"} {
			method, path, _ := strings.Cut(request, " ")
			for range 4 {
				admins.Go(func() {
					for {
						select {
						case <-ended:
							return
						default:
						}
						if status, body := gateway.call(method, path, ""); status == 0 || status >= 500 {
							t.Errorf("%s: %d %s", request, status, body)
						}
					}
				})
			}
		}
		began := time.Now()
		var group sync.WaitGroup
		for user := int64(1); user <= users; user++ {
			group.Go(func() { logIn(t, gateway.clients[0], user) })
		}
		finished := make(chan struct{})
		go func() { group.Wait(); close(finished) }()
		for running := true; running; {
			count()
			select {
			case <-finished:
				running = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		if rate := users / time.Since(began).Seconds(); round >= 2 { // The first rounds warm up.
			rates[gateway] += rate / 2
		}
		close(ended)
		admins.Wait()
	}
	if most == 0 || most > 2 {
		t.Errorf("the gateway had %d connections to PostgreSQL, want 1 or 2", most)
	}
	t.Logf("%.0f logins a second with 2 connections, %.0f with 10: %.2f times", rates[few], rates[many], rates[few]/rates[many])
}

// logIn logs a user in and out.
func logIn(t *testing.T, url string, user int64) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := chat.Dial(ctx, url, chat.Options{})
	if err != nil {
		t.Errorf("connect user %d: %v", user, err)
		return
	}
	defer c.Close()
	if err := c.Login(ctx, &wire.CreateSessionRequest{Version: wire.Version, UserId: user, Password: proto.String("secret"), DeviceType: wire.DeviceType_DESKTOP}); err != nil {
		t.Errorf("log user %d in: %v", user, err)
	}
}
