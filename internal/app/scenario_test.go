// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
	"example.org/app/test/scenario"
)

// trusting lets clients of a scenario declare addresses like a proxy.
const trusting = "app.gateway.websocket.remote-address-source.trusted-proxies=127.0.0.0/8"

func TestScenarios(t *testing.T) {
	t.Run("one process", func(t *testing.T) {
		a := apptest.Start(t, role.All, trusting, "app.cluster.node.id=both")
		scenario.Run(t, &scenario.Place{Service: a.URL(role.Service), Gateways: []scenario.Gateway{gatewayOf(a, "both-gateway")}})
	})
	t.Run("roles apart", func(t *testing.T) {
		need.Time(t)
		server := clustertest.Listen(t)
		set := []string{trusting, "app.store.url=" + storetest.PostgreSQLURL(t), "app.cluster.nats.url=" + server.URL(), "app.cluster.nats.token=secret"}
		place := &scenario.Place{Service: apptest.Start(t, []role.Role{role.Service}, set...).URL(role.Service)}
		for i := range 2 {
			node := fmt.Sprintf("gateway-%d", i)
			a := apptest.Start(t, []role.Role{role.Gateway}, slices.Concat(set, []string{"app.cluster.node.id=" + node})...)
			place.Gateways = append(place.Gateways, gatewayOf(a, node))
		}
		scenario.Run(t, place)
	})
}

func gatewayOf(a *apptest.Server, node string) scenario.Gateway {
	return scenario.Gateway{Node: node, Admin: a.URL(role.Gateway), WebSocket: a.ClientURLs()[0]}
}

// TestTokenRestrictsRequests logs in with a token that only permits messages.
func TestTokenRestrictsRequests(t *testing.T) {
	key := []byte("a key that is long enough for the algorithm")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	const prefix = "app.gateway.session.identity-access-management."
	a := apptest.Start(t, role.All, prefix+"type=JWT", prefix+"jwt.algorithm.hmac256.file-path="+file)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": "7", "authenticated": true, "statements": []any{map[string]any{"effect": "ALLOW", "actions": "CREATE", "resources": "MESSAGE"}},
	}).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range a.ClientURLs() {
		c := chat.Connect(t, url)
		c.RefusedLogin(int32(apierr.LoginAuthenticationFailed), 8, chat.WithPassword(token)) // The token is another user's.
		c.MustLogin(7, chat.WithPassword(token))
		c.WantCode(&wire.CreateMessageRequest{RecipientId: proto.Int64(8), Text: proto.String("hi")}, int32(apierr.OK))
		c.WantCode(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false)}, int32(apierr.UnauthorizedRequest))
		c.WantCode(&wire.UpdateUserRequest{Name: proto.String("n")}, int32(apierr.UnauthorizedRequest))
		c.Beat()
		c.Must(c.SendPayload(chat.Payload(100, &wire.DeleteSessionRequest{}))) // Logging out needs no permission.
		c.Closed(wire.ClosedByClient)
	}
}
