// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// patience limits every wait. It is long because the race detector makes everything slow.
const patience = 60 * time.Second

// A Place is a running server. Its administrator is app, with the password app, its users log in
// with passwords, and it has no rate limit.
type Place struct {
	// Service is the admin interface of the only service, so that the effects of one client have
	// one order.
	Service  string
	Gateways []Gateway
	// users is the number of users.
	users atomic.Int64
}

// A Gateway is a gateway of the server.
type Gateway struct {
	// Node is its id in the cluster, Admin the URL of its admin interface, WebSocket the URL for
	// clients.
	Node, Admin, WebSocket string
}

// stage is a place that one test uses.
type stage struct {
	*Place
	testing.TB
}

// first and last are gateways; different ones if there are several.
func (s *stage) first() Gateway { return s.Gateways[0] }
func (s *stage) last() Gateway  { return s.Gateways[len(s.Gateways)-1] }

var httpClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask sends a request of an administrator, which must succeed, and returns the data of the
// response.
func (s *stage) ask(method, url, body string) string {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		s.Fatalf("%s %s: %s %s (%v)", method, url, resp.Status, answer, err)
	}
	return string(answer)
}

// data is like ask, and decodes the data.
func (s *stage) data(path string, into any) {
	s.Helper()
	envelope := struct {
		Data any `json:"data"`
	}{into}
	if answer := s.ask(http.MethodGet, s.Service+path, ""); answer != "" {
		if err := json.Unmarshal([]byte(answer), &envelope); err != nil {
			s.Fatalf("%s: %v in %s", path, err, answer)
		}
	}
}

// set changes settings of the cluster.
func (s *stage) set(settings string) {
	s.Helper()
	s.ask(http.MethodPut, s.Service+"/cluster/settings", settings)
}

// user creates a user with the password secret.
func (s *stage) user() int64 {
	s.Helper()
	id := s.users.Add(1)
	s.ask(http.MethodPost, s.Service+"/users", fmt.Sprintf(`{"id":%d,"password":"secret"}`, id))
	return id
}

const secret = "secret"

// login logs a user in.
func (s *stage) login(at Gateway, userID int64, device wire.DeviceType) *chat.Tester {
	s.Helper()
	return chat.LogIn(s, at.WebSocket, userID, chat.WithPassword(secret), chat.With(device))
}

// loginFrom logs a user in from an address, which a proxy header names.
func (s *stage) loginFrom(ip string, userID int64) *chat.Tester {
	s.Helper()
	c := chat.Connect(s, s.first().WebSocket, from(ip))
	c.MustLogin(userID, chat.WithPassword(secret))
	return c
}

// loginCode tries to log a user in, closes the session at once and returns the code.
func (s *stage) loginCode(at Gateway, userID int64) int32 {
	s.Helper()
	return s.loginCodeWith(at, userID, secret)
}

// loginCodeFrom is like loginCode, from an address.
func (s *stage) loginCodeFrom(ip string, at Gateway, userID int64) int32 {
	s.Helper()
	return s.loginCodeWith(at, userID, secret, from(ip))
}

// loginCodeWith is like loginCode, with a password.
func (s *stage) loginCodeWith(at Gateway, userID int64, password string, options ...chat.Options) int32 {
	s.Helper()
	c := chat.Connect(s, at.WebSocket, options...)
	defer c.Close()
	return c.Response(&wire.CreateSessionRequest{Version: wire.Version, UserId: userID, Password: &password}).GetCode()
}

// from returns the options of a client with an address, as if it came through a proxy.
func from(ip string) chat.Options {
	return chat.Options{Header: http.Header{"X-Forwarded-For": {ip}}}
}

// eventually waits until a condition holds.
func (s *stage) eventually(what string, condition func() bool) {
	s.Helper()
	begin := time.Now()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for !condition() {
		if time.Since(begin) > patience {
			s.Fatalf("%s: not within %v", what, patience)
		}
		<-retry.C
	}
}
