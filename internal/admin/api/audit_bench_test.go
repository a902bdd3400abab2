// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/audit"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// BenchmarkAuditedWrite is PUT /users without a network, with and without the audit trail.
func BenchmarkAuditedWrite(b *testing.B) {
	for _, engine := range []struct {
		name string
		open func(testing.TB) *store.DB
	}{{"SQLite", storetest.SQLite}, {"PostgreSQL", storetest.PostgreSQL}} {
		for _, audited := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/audit=%t", engine.name, audited), func(b *testing.B) { benchmarkWrite(b, engine.open(b), audited) })
		}
	}
}

func benchmarkWrite(b *testing.B, db *store.DB, audited bool) {
	generator, err := ids.New(1)
	if err != nil {
		b.Fatal(err)
	}
	users := user.New(user.Options{Store: db, IDs: generator, Settings: func() config.User { return config.Default().Service.User }})
	trail := audit.New(audit.Options{Store: db, NextID: generator.Next, NodeID: "node1", MaxChangeBytes: 16 << 10, MaxRefusedPerMinute: 100})
	opts := admin.Options{
		Translate: store.Code, Settings: func() *admin.Settings { return &admin.Settings{} }, Logger: slog.New(slog.DiscardHandler),
	}
	if audited {
		opts.Trail = api.NewTrail(trail)
	}
	a := admin.New(opts, api.ServiceOperations(api.Service{Users: users})...)
	ctx := context.Background()
	root := admin.ByPlugin("bench", "1.0", "")
	if _, err := a.Invoke(ctx, root, "createUser", []byte(`{"body":{"id":1,"name":"n"}}`)); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := a.Invoke(ctx, root, "updateUsers", fmt.Appendf(nil, `{"ids":[1],"body":{"name":"n%d"}}`, i)); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := trail.Seal(ctx); err != nil { // It is part of what the trail costs.
		b.Fatal(err)
	}
}
