// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// BenchmarkWrite measures small durable writes. "writes/commit" is how many share a flush to disk.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(strconv.Itoa(writers), func(b *testing.B) {
			db := storetest.SQLite(b)
			var next atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			for range writers {
				group.Go(func() {
					for id := next.Add(1); id <= int64(b.N); id = next.Add(1) {
						err := db.Write(context.Background(), func(ctx context.Context, tx sqldb.Tx) error {
							return storetest.Exec(ctx, tx, "INSERT INTO revision (name, value) VALUES (?, ?)", strconv.FormatInt(id, 10), id)
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			stats := db.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			b.ReportMetric(float64(stats.Committed)/float64(stats.Batches), "writes/commit")
		})
	}
}

// BenchmarkRevision measures checking whether a cache is up to date.
func BenchmarkRevision(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqldb.DB{"sqlite": storetest.SQLite, "postgresql": storetest.PostgreSQL} {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			if err := db.Write(context.Background(), bump("a")); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				if _, err := db.Revision(context.Background(), "a"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
