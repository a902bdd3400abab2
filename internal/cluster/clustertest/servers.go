// SPDX-License-Identifier: Apache-2.0

//go:build unix

package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/app/internal/cluster"
	"example.org/app/test/need"
)

// Servers are NATS servers that form a cluster. They talk to each other and to their clients over
// TLS, and everybody shows a certificate.
type Servers struct {
	// Each are the servers, to be stopped and started individually.
	Each []*Server
	TLS  cluster.TLSFiles
}

// StartServers starts a cluster of servers, which are stopped when the test ends.
func StartServers(t testing.TB, n int) *Servers {
	t.Helper()
	cl := &Servers{TLS: Certificate(t)}
	ports := make([]int, n)
	routes := make([]string, n)
	for i := range n {
		ports[i] = need.Port(t)
		routes[i] = fmt.Sprintf("tls://127.0.0.1:%d", ports[i])
	}
	for i := range n {
		s := &Server{port: need.Port(t), folder: t.TempDir()}
		s.settings = filepath.Join(s.folder, "nats.conf")
		if err := os.WriteFile(s.settings, []byte(clusterSettings(i, ports[i], routes, cl.TLS)), 0o600); err != nil {
			t.Fatal(err)
		}
		cl.Each = append(cl.Each, s)
	}
	for _, s := range cl.Each {
		s.Start(t, true)
		t.Cleanup(func() { s.Stop(t) })
	}
	return cl
}

// clusterSettings returns the configuration that docs/deployment.md recommends.
func clusterSettings(i, port int, routes []string, files cluster.TLSFiles) string {
	tls := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true, timeout: 30 }", files.Certificate, files.Key, files.CA)
	return fmt.Sprintf(`server_name: "nats-%d"
ping_interval: "2s"
ping_max: 2
%s
cluster {
  name: "app"
  listen: "127.0.0.1:%d"
  routes: [%s]
  %[2]s
}
`, i, tls, port, strings.Join(routes, ", "))
}

// URL returns the URLs of the servers, for app.cluster.nats.url.
func (c *Servers) URL() string {
	urls := make([]string, len(c.Each))
	for i, s := range c.Each {
		urls[i] = fmt.Sprintf("tls://127.0.0.1:%d", s.port)
	}
	return strings.Join(urls, ",")
}

// AwaitReplicas waits until every stream has a leader and one up-to-date replica on each server, so
// that the cluster survives the loss of one.
func (c *Servers) AwaitReplicas(t testing.TB) {
	t.Helper()
	conn, err := nats.Connect(c.URL(), nats.ClientCert(c.TLS.Certificate, c.TLS.Key), nats.RootCAs(c.TLS.CA))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for err = c.replicated(ctx, js); err != nil; err = c.replicated(ctx, js) {
		select {
		case <-retry.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func (c *Servers) replicated(ctx context.Context, js jetstream.JetStream) error {
	// Servers do not answer during an election.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	streams := js.ListStreams(ctx)
	n := 0
	for info := range streams.Info() {
		n++
		if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != len(c.Each)-1 {
			return fmt.Errorf("stream %s has not all replicas: %+v", info.Config.Name, info.Cluster)
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline {
				return fmt.Errorf("a replica of stream %s is not up to date: %+v", info.Config.Name, r)
			}
		}
	}
	if n == 0 {
		return errors.Join(errors.New("there are no streams"), streams.Err())
	}
	return streams.Err()
}
