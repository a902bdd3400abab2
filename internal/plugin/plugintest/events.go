// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// testEvents delivers events of a store to a plugin that fails at first. The store's part is tested
// without a host.
func testEvents(t *testing.T, w *world) {
	const id = "suite-bridged"
	db, m := storetest.SQLite(t), w.manager()
	events := plugin.NewEvents(db, m, func() string { return "node1" }, func() config.PluginEvents { return config.Default().Plugin.Events }, slog.New(w.log))
	store.ObserveEvents(db, events)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = events.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	p, err := m.Load(t.Context(), w.host.Language(), w.source(Bridged))
	if err != nil {
		t.Fatal(err)
	}
	if steps := m.Do(t.Context(), p, plugin.Start); steps[0].Err != nil {
		t.Fatal(steps[0].Err)
	}
	delivery := func() plugin.DeliveryInfo {
		if d := p.Extensions()[0].Delivery; d != nil {
			return *d
		}
		return plugin.DeliveryInfo{}
	}
	await(t, "the consumer", func() bool { return delivery().Node == "node1" })
	for user := range int64(3) {
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return store.InsertUsers(ctx, tx, store.User{ID: 7 + user, RegistrationDate: time.UnixMilli(0).UTC()})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	await(t, "a failure", func() bool {
		d := delivery()
		return d.Failures > 0 && strings.Contains(d.LastError, "told to fail") && !d.Next.IsZero()
	})
	await(t, "the events", func() bool { return delivery().Delivered == 3 })
	w.server.wantNote(t, id, "consumed", "USER_CREATED 7,USER_CREATED 8,USER_CREATED 9,")
	await(t, "the handler", func() bool { note, _ := w.server.note(t, id, "handled"); return note == "USER_CREATED" })
	await(t, "the end of failures", func() bool {
		d := delivery()
		return d.Failures == 0 && d.LastError == "" && d.Position > 0 && d.Waiting == 0
	})
}
