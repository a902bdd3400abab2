// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
)

func TestConnectRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		options cluster.Options
		want    string
	}{
		{"open port", cluster.Options{Listen: "127.0.0.1:0"}, "token"},
		{"bad address", cluster.Options{Listen: "here", Token: "t"}, "host:port"},
		{"bad port", cluster.Options{Listen: "127.0.0.1:x", Token: "t"}, "65535"},
		{"port in use", cluster.Options{Listen: "192.0.2.1:1", Token: "t"}, "192.0.2.1:1"},
		{"bad cluster", cluster.Options{ClusterID: "a b"}, "letters, digits"},
		{"both", cluster.Options{Listen: "127.0.0.1:0", Token: "t", URL: "nats://127.0.0.1:1"}, "exclude"},
		{"nobody there", cluster.Options{URL: "nats://user:secret@127.0.0.1:1"}, "127.0.0.1:1"},
		{"bad URL", cluster.Options{URL: "nats://user:secret@127.0.0.1:x y"}, "127.0.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			test.options.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			c, err := cluster.Connect(ctx, test.options)
			if err == nil {
				_ = c.Close(t.Context())
				t.Fatal("connected")
			}
			if text := err.Error(); !strings.Contains(text, test.want) {
				t.Errorf("error %q does not say %q", text, test.want)
			}
			if text := err.Error() + log.String(); strings.Contains(text, "secret") {
				t.Errorf("%q tells the password", text)
			}
		})
	}
}

func TestListen(t *testing.T) {
	host := clustertest.Connect(t, cluster.Options{Listen: "127.0.0.1:0", Token: "secret"})
	clustertest.Join(t, host, cluster.NodeOptions{ID: "host", Type: role.Service})
	guest := clustertest.Connect(t, cluster.Options{URL: host.ServerURL(), Token: "secret"})
	clustertest.Join(t, guest, cluster.NodeOptions{ID: "guest", Type: role.Gateway})
	clustertest.AwaitMembers(t, host, "guest", "host")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := cluster.Connect(ctx, cluster.Options{URL: host.ServerURL(), Token: "wrong"}); err == nil || strings.Contains(err.Error(), "\x00") {
		t.Errorf("connect with a wrong token: %v", err)
	}
}

func TestListenWithTLS(t *testing.T) {
	files := clustertest.Certificate(t)
	host := clustertest.Connect(t, cluster.Options{Listen: "127.0.0.1:0", TLS: files})
	url := strings.Replace(host.ServerURL(), "nats://", "tls://", 1)
	guest := clustertest.Connect(t, cluster.Options{URL: url, TLS: files})
	clustertest.Join(t, guest, cluster.NodeOptions{ID: "guest", Type: role.Gateway})
	clustertest.AwaitMembers(t, host, "guest")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := cluster.Connect(ctx, cluster.Options{URL: url, TLS: cluster.TLSFiles{CA: files.CA}}); err == nil {
		t.Error("connected without a certificate")
	}
}

func TestParseVersion(t *testing.T) {
	for _, test := range []struct {
		text string
		want cluster.Version
		ok   bool
	}{
		{"1.2.3", cluster.Version{Major: 1, Minor: 2, Patch: 3, Text: "1.2.3"}, true},
		{"0.0.127-SNAPSHOT", cluster.Version{Patch: 127, Qualifier: cluster.QualifierSnapshot, Text: "0.0.127-SNAPSHOT"}, true},
		{"1.2", cluster.Version{}, false},
		{"1.2.128", cluster.Version{}, false},
		{"1.2.3-RC1", cluster.Version{}, false},
		{"-1.2.3", cluster.Version{}, false},
		{"", cluster.Version{}, false},
	} {
		got, err := cluster.ParseVersion(test.text)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%q: %+v, %v", test.text, got, err)
		}
	}
}
