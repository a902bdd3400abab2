// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/rusage"
	"example.org/app/internal/wire"
)

// BenchmarkLocate finds the gateways of users, half of whom are online, among 20,000 sessions at
// two gateways.
func BenchmarkLocate(b *testing.B) {
	f := clustertest.Embedded(b)
	gateways := []*peer{start(b, f.Options, "a", role.Gateway), start(b, f.Options, "b", role.Gateway)}
	awaitPeers(b, gateways...)
	const online = 20_000
	d := gateways[0].Directory
	for user := range int64(online) {
		s := session(2*user, wire.DeviceType_DESKTOP, 1, gateways[user%2])
		s.gateway = d.gateways.intern(s.NodeID, gateways[user%2].node.Incarnation())
		d.table.news(2*user, content{sessions: []Session{s}}, 1, d.table.epoch.Load())
	}
	for _, count := range []int{1, 1000, 10_000} {
		ids := make([]int64, count)
		for i := range ids {
			ids[i] = int64(i * 3)
		}
		b.Run(fmt.Sprint("users=", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Locate(ids)
			}
		})
	}
}

// BenchmarkOpen opens and closes sessions at one gateway while another node follows.
func BenchmarkOpen(b *testing.B) {
	for name, fabric := range map[string]func(testing.TB) *clustertest.Fabric{"Embedded": clustertest.Embedded, "External": clustertest.External} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				f := fabric(b)
				g, s := start(b, f.Options, "g", role.Gateway), start(b, f.Options, "s", role.Service)
				awaitPeers(b, g, s)
				var next atomic.Int64
				var group sync.WaitGroup
				b.ResetTimer()
				began := time.Now()
				for range callers {
					group.Go(func() {
						for {
							user := next.Add(1)
							if user > int64(b.N) {
								return
							}
							if _, err := g.Open(context.Background(), session(user, wire.DeviceType_DESKTOP, 1, g), wire.UserStatus_AVAILABLE, nil); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "opens/s")
				b.StopTimer()
			})
		}
	}
}

// BenchmarkWatchers opens sessions at one gateway while services follow, through a NATS server in a
// process of its own. The difference between the two is the cost of one more service: bytes from
// NATS per login and memory per session.
func BenchmarkWatchers(b *testing.B) {
	for _, services := range []int{1, 5} {
		b.Run(fmt.Sprint("services=", services), func(b *testing.B) {
			server := clustertest.StartServer(b)
			o := cluster.Options{URL: server.URL()}
			gateway := start(b, o, "g", role.Gateway)
			peers := []*peer{gateway}
			for i := range services {
				peers = append(peers, start(b, o, fmt.Sprint("s", i), role.Service))
			}
			awaitPeers(b, peers...)
			heap, before, cpu := liveHeap(), server.Usage(b), rusage.Total()
			began := time.Now()
			var next atomic.Int64
			var group sync.WaitGroup
			for range 64 {
				group.Go(func() {
					for user := next.Add(1); user <= int64(b.N); user = next.Add(1) {
						if _, err := gateway.Open(b.Context(), session(user, wire.DeviceType_DESKTOP, 1, gateway), wire.UserStatus_AVAILABLE, nil); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			took := time.Since(began)
			for _, p := range peers {
				for total, _ := p.Count(); total < b.N && !b.Failed(); total, _ = p.Count() {
					time.Sleep(10 * time.Millisecond)
				}
			}
			cpu = rusage.Total() - cpu
			after, each := server.Usage(b), func(bytes int64) float64 { return float64(bytes) / float64(b.N) }
			b.ReportMetric(float64(b.N)/took.Seconds(), "logins/s")
			b.ReportMetric(each(cpu.Nanoseconds())/1000, "nodes-CPU-µs/login")
			b.ReportMetric(each((after.CPU-before.CPU).Nanoseconds())/1000, "NATS-CPU-µs/login")
			b.ReportMetric(each(after.Read-before.Read), "NATS-read-B/login")
			b.ReportMetric(each(after.Written-before.Written), "NATS-written-B/login")
			b.ReportMetric(each(after.Resident-before.Resident), "NATS-resident-B/session")
			b.ReportMetric(each(liveHeap()-heap), "heap-B/session")
		})
	}
}

// liveHeap returns the size of the live heap in bytes.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
