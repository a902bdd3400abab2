// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestClients logs in users that an administrator has created, over each transport, and stops the
// server under them.
func TestClients(t *testing.T) {
	a := apptest.Start(t, role.All)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL(role.Service)+"/users", strings.NewReader(`{"id":5,"password":"secret"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	urls := a.ClientURLs()
	if len(urls) != 2 || !strings.HasPrefix(urls[0], "ws://127.0.0.1:") || !strings.HasPrefix(urls[1], "tcp://127.0.0.1:") {
		t.Fatalf("clients connect to %q", urls)
	}
	var clients []*chat.Tester
	for i, url := range urls {
		c := chat.Connect(t, url)
		c.RefusedLogin(2011, 5, chat.WithPassword("wrong"))
		c.RefusedLogin(2012, 6, chat.WithPassword("secret"))
		c.MustLogin(5, chat.WithPassword("secret"), chat.With(wire.DeviceType(i)))
		c.SessionInfo()
		c.Beat()
		clients = append(clients, c)
	}
	if status, body := get(t, a.URL(role.Gateway)+"/metrics?names=user.online,app.client.sessions,app.client.bytes.received", "app:app"); status != 200 ||
		!strings.Contains(body, "app.client.bytes.received") {
		t.Errorf("metrics: %d %s", status, body)
	}
	if status, body := get(t, a.URL(role.Service)+"/cluster/members", "app:app"); status != 200 || !strings.Contains(body, `"ws://`) {
		t.Errorf("members: %d %s", status, body)
	}
	a.AskForShutdown()
	for _, c := range clients {
		c.Closed(wire.ClosedServerClosed)
		c.Gone()
	}
	<-a.Done
}

// TestEncryptedClients has both transports encrypted with the certificate and the key of one PKCS
// #12 file.
func TestEncryptedClients(t *testing.T) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	data, err := pkcs12.Modern.Encode(other.TLS.Certificates[0].PrivateKey, other.Certificate(), nil, "pass phrase")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "server.p12")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	set := []string{"app.gateway.session.identity-access-management.type=NOOP"}
	for _, transport := range []string{"websocket", "tcp"} {
		prefix := "app.gateway." + transport + ".ssl."
		set = append(set, prefix+"enabled=true", prefix+"p12.file-path="+file, prefix+"p12.password=pass phrase")
	}
	urls := apptest.Start(t, role.All, set...).ClientURLs()
	if len(urls) != 2 || !strings.HasPrefix(urls[0], "wss://127.0.0.1:") || !strings.HasPrefix(urls[1], "tls://127.0.0.1:") {
		t.Fatalf("clients connect to %q", urls)
	}
	trusting := &tls.Config{RootCAs: other.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for i, url := range urls {
		c, err := chat.Dial(t.Context(), url, chat.Options{TLS: trusting})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Login(t.Context(), &wire.CreateSessionRequest{Version: 1, UserId: 5, DeviceType: wire.DeviceType(i)}); err != nil {
			t.Errorf("log in over %s: %v", url, err)
		}
	}
}
