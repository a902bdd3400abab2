// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/role"
)

// patience limits every wait. It is long because a slow machine is not a failure.
const patience = 2 * time.Minute

// TestSlowClients opens many connections whose clients stop in the middle of the headers or of the
// body, or do not read the response. Other clients are served meanwhile, and the server closes the
// slow connections.
func TestSlowClients(t *testing.T) {
	each := 20
	if long() {
		each = 200
	}
	s := start(t, "app.service.admin-api.http.connect-timeout-millis=2000", "app.service.admin-api.http.request-read-timeout-millis=2000", "app.service.admin-api.http.idle-timeout-millis=2000")
	for id := range 200 {
		s.must(http.MethodPost, "/users", fmt.Sprintf(`{"id":%d,"name":"n","intro":%q}`, id+1, strings.Repeat("i", 90)), nil)
	}
	address := strings.TrimPrefix(s.URL(role.Service), "http://")
	const authorization = "Authorization: Basic YXBwOmFwcA==\r\n"
	kinds := []struct {
		name, sent string
		// closes means that the server closes the connection by itself. That a client does not read
		// is only noticed when writing to it blocks.
		closes bool
	}{
		{"headers", "GET /users?size=1 HTTP/1.1\r\nHost: localhost\r\n" + authorization + "X-Slow: a", true},
		{"body", "POST /users HTTP/1.1\r\nHost: localhost\r\n" + authorization + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"id\":", true},
		{"reads", strings.Repeat("GET /users?size=200 HTTP/1.1\r\nHost: localhost\r\n"+authorization+"\r\n", 50), false},
	}
	var connections []net.Conn
	defer func() {
		for _, c := range connections {
			_ = c.Close()
		}
	}()
	var group sync.WaitGroup
	var closed atomic.Int64
	wanted := int64(0)
	for _, kind := range kinds {
		for range each {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			connections = append(connections, c)
			if tcp, ok := c.(*net.TCPConn); ok && kind.name == "reads" {
				if err := tcp.SetReadBuffer(4 << 10); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := io.WriteString(c, kind.sent); err != nil {
				t.Fatal(err)
			}
			if !kind.closes {
				continue
			}
			wanted++
			group.Go(func() {
				if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
					t.Error(err)
					return
				}
				// The server may or may not respond before it closes the connection.
				_, err := io.ReadAll(c)
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a client that stopped in its %s still has its connection", kind.name)
					return
				}
				closed.Add(1)
			})
		}
	}
	served := 0
	for served < 100 {
		a := s.call(role.Service, http.MethodGet, "/users?size=1", root, "")
		if a.status != http.StatusOK {
			t.Fatalf("an administrator is not served beside slow clients: %d %s", a.status, a.body)
		}
		served++
	}
	group.Wait()
	s.healthy()
	t.Logf("slow clients: %d connections (%d each of headers, body, reads), %d others served meanwhile, %d of %d closed by the server", len(connections), each, served, closed.Load(), wanted)
}
