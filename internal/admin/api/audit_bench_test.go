// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/app/internal/admin"
	"example.org/app/internal/rusage"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// BenchmarkAuditedWrite is PUT and POST /users without a network, with and without the audit trail:
// by one caller, and by many, whose changes share commits. The processor time of the process says
// what the trail costs on a machine that does other things too.
func BenchmarkAuditedWrite(b *testing.B) {
	for _, engine := range []struct {
		name string
		open func(testing.TB) *store.DB
	}{{"SQLite", storetest.SQLite}, {"PostgreSQL", storetest.PostgreSQL}} {
		for _, operation := range []string{"updateUsers", "createUser"} {
			for _, callers := range []int{1, 32} {
				for _, audited := range []bool{false, true} {
					b.Run(fmt.Sprintf("%s/%s/callers=%d/audit=%t", engine.name, operation, callers, audited), func(b *testing.B) {
						benchmarkWrite(b, engine.open(b), operation, callers, audited)
					})
				}
			}
		}
	}
}

func benchmarkWrite(b *testing.B, db *store.DB, operation string, callers int, audited bool) {
	a, trail := newWriting(b, db, audited)
	ctx := context.Background()
	root := admin.ByPlugin("bench", "1.0", "")
	for id := 1; id <= callers; id++ {
		if _, err := a.Invoke(ctx, root, "createUser", fmt.Appendf(nil, `{"body":{"id":%d,"name":"n"}}`, id)); err != nil {
			b.Fatal(err)
		}
	}
	var done atomic.Int64
	var group sync.WaitGroup
	before := rusage.Total()
	b.ResetTimer()
	for id := 1; id <= callers; id++ {
		group.Go(func() {
			for n := done.Add(1); n <= int64(b.N); n = done.Add(1) {
				body := fmt.Appendf(nil, `{"ids":[%d],"body":{"name":"n%d"}}`, id, n)
				if operation == "createUser" {
					body = fmt.Appendf(nil, `{"body":{"id":%d,"name":"n"}}`, 1000+n)
				}
				if _, err := a.Invoke(ctx, root, operation, body); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if _, err := trail.Seal(ctx); err != nil { // It is part of what the trail costs.
		b.Fatal(err)
	}
	b.ReportMetric(float64((rusage.Total()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
