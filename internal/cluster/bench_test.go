// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
)

type payload struct {
	UserID int64
	Text   string
}

var echo = cluster.Endpoint[payload, payload]{Name: "bench.echo", Role: role.Service}

// BenchmarkCall measures calls with a small payload: within a process, over an embedded server
// without sockets, and over a server in a process of its own.
func BenchmarkCall(b *testing.B) {
	for _, fabric := range []struct {
		name string
		open func(b *testing.B) (caller, callee *cluster.Cluster)
	}{
		{"InProcess", func(b *testing.B) (*cluster.Cluster, *cluster.Cluster) {
			c := clustertest.Connect(b, cluster.Options{})
			return c, c
		}},
		{"Embedded", func(b *testing.B) (*cluster.Cluster, *cluster.Cluster) {
			o := clustertest.Embedded(b).Options
			return clustertest.Connect(b, o), clustertest.Connect(b, o)
		}},
		{"External", func(b *testing.B) (*cluster.Cluster, *cluster.Cluster) {
			o := clustertest.External(b).Options
			return clustertest.Connect(b, o), clustertest.Connect(b, o)
		}},
	} {
		for _, callers := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", fabric.name, callers), func(b *testing.B) {
				from, to := fabric.open(b)
				caller := clustertest.Join(b, from, cluster.NodeOptions{Type: role.Gateway})
				callee := clustertest.Join(b, to, cluster.NodeOptions{Type: role.Service})
				err := cluster.Handle(callee, echo, func(_ context.Context, req *payload) (*payload, error) { return req, nil })
				if err != nil {
					b.Fatal(err)
				}
				call := func() error {
					_, err := cluster.Call(context.Background(), caller, echo, &payload{UserID: 1 << 60, Text: "hello"})
					return err
				}
				clustertest.Await(b, from, "a first call", func() bool { return call() == nil })
				measure(b, callers, call)
			})
		}
	}
}

// measure makes b.N calls from several goroutines and reports the times.
func measure(b *testing.B, callers int, call func() error) {
	times := make([]time.Duration, b.N)
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for range callers {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(b.N) {
					return
				}
				begin := time.Now()
				if err := call(); err != nil {
					b.Error(err)
					return
				}
				times[i] = time.Since(begin)
			}
		})
	}
	group.Wait()
	elapsed := time.Since(start)
	b.StopTimer()
	slices.Sort(times)
	microseconds := func(quantile float64) float64 {
		return float64(times[int(quantile*float64(len(times)-1))].Nanoseconds()) / 1000
	}
	b.ReportMetric(microseconds(0.50), "p50-µs")
	b.ReportMetric(microseconds(0.99), "p99-µs")
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "calls/s")
}
