// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"encoding/binary"
	"net/netip"
	"runtime"
	"slices"
	"testing"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// million is how many clients the benchmarks block.
const million = 1_000_000

// address makes an IPv4 address for an even number and an IPv6 address for an
// odd one.
func address(n int) netip.Addr {
	if n%2 == 0 {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(n))))
	}
	b := [16]byte{0x20, 0x01, 0x0d, 0xb8}
	binary.BigEndian.PutUint64(b[8:], uint64(n))
	return netip.AddrFrom16(b)
}

// BenchmarkBlocked measures a look-up in a list of a million.
func BenchmarkBlocked(b *testing.B) {
	w := newWorld(b, storetest.MigratedSQLiteURL(b))
	ips, users := w.ips(), w.node()
	for n := range million {
		ips.memory.extend(slotOf(address(n)), start+1, start)
		users.memory.extend(slotOf(int64(n)), start+1, start)
	}
	for _, test := range []struct {
		name string
		from int
		ask  func(n int) bool
		want bool
	}{
		{"ip/blocked", 0, func(n int) bool { return ips.BlockedNow(address(n)) }, true},
		{"ip/other", million, func(n int) bool { return ips.BlockedNow(address(n)) }, false},
		{"user/blocked", 0, func(n int) bool { return users.BlockedNow(int64(n)) }, true},
		{"user/other", million, func(n int) bool { return users.BlockedNow(int64(n)) }, false},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for n := 0; pb.Next(); n = (n + 7919) % million {
					if test.ask(test.from+n) != test.want {
						b.Fatal("wrong answer")
					}
				}
			})
		})
	}
}

// BenchmarkMillion measures storing a million blocks, reading them when a node starts, reading one
// change, and lifting them all.
func BenchmarkMillion(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": storetest.MigratedSQLiteURL, "PostgreSQL": storetest.MigratedURL} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, url(b))
			ctx := context.Background()
			node, other := w.ips(), w.ips()
			keys := make([]netip.Addr, million)
			for n := range keys {
				keys[n] = address(n)
			}
			b.Run("block", func(b *testing.B) {
				for b.Loop() {
					for chunk := range slices.Chunk(keys, 100_000) {
						w.must(node.Block(ctx, chunk, 3_600_000))
					}
				}
			})
			b.Run("load", func(b *testing.B) {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				var list *List[netip.Addr]
				for b.Loop() {
					list = w.ips()
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				if list.Len() != million {
					b.Fatalf("%d in memory", list.Len())
				}
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/million, "heap-B/entry")
				runtime.KeepAlive(list)
			})
			w.must(other.Refresh(ctx))
			b.Run("one change elsewhere", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					w.must(node.Block(ctx, keys[:1], 3_600_000))
					b.StartTimer()
					w.must(other.Refresh(ctx))
				}
			})
			b.Run("page", func(b *testing.B) {
				for b.Loop() {
					if _, _, err := node.FindPage(ctx, store.Page{Limit: 10, Offset: 100}); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("unblock all", func(b *testing.B) {
				for b.Loop() {
					w.must(node.UnblockAll(ctx))
				}
			})
		})
	}
}
