// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.org/app/internal/store"
)

// benchAuditRow measures the minimum cost of the audit trail: an update of a user as a plain
// statement, alone and with the insertion of a row of the trail in its transaction. The database
// must be empty.
func benchAuditRow(ctx context.Context, url string, duration time.Duration, rounds int) (err error) {
	w, err := newWorld(ctx, url, 0, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.db.Close()) }()
	if err := populate(ctx, w); err != nil {
		return err
	}
	raw, err := openRaw(url, w.db.Engine())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	update := rawStatement{"UPDATE user_account SET name = $1, last_updated_date = $2 WHERE id = $3", func(n int64) []any {
		return []any{fmt.Sprint("n", n), time.Now().UnixMilli(), 1 + n%auditedUsers}
	}}
	insert := rawStatement{
		"INSERT INTO audit (id, record_date, outcome, admin_id, login_name, token_id, plugin_id, ip, request_id, operation, target_ids, details) " +
			"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
		func(n int64) []any {
			return []any{
				n, time.Now().UnixMilli(), "DONE", 0, "app", nil, "",
				[]byte{127, 0, 0, 1},
				"FWRECJT7JSP4E4YSPT6UWTUVZU", "updateUsers", "1",
				fmt.Sprintf(`{"node":"uy3uo5nbvkennnay5qqwmbhtmh","params":{"ids":[1],"body":{"name":"n%d"}},"changes":[{"record":"user","action":"UPDATE",`+
					`"key":{"id":1},"before":{"name":"n%d"},"after":{"name":"n%d"}}],"code":1000,"status":200}`, n, n, n),
			}
		},
	}
	var variants [2]rawWriter
	for i, list := range [][]rawStatement{{update}, {update, insert}} {
		if variants[i], err = prepare(ctx, raw, w.db.Engine(), list); err != nil {
			return err
		}
	}
	var rows [][]string
	next := new(atomic.Int64)
	for _, shared := range []int{1, 16} {
		var micros [2][]float64
		for range rounds {
			for i, variant := range variants {
				rate, err := inTurn(duration, func() (int, error) { return variant.commit(ctx, next, shared) })
				if err != nil {
					return err
				}
				micros[i] = append(micros[i], 1e6/rate)
			}
		}
		for i := range micros {
			slices.Sort(micros[i])
		}
		without, with := micros[0][rounds/2], micros[1][rounds/2]
		rows = append(rows, []string{fmt.Sprint(shared), fmt.Sprintf("%.1f µs", without), fmt.Sprintf("%.1f µs", with), fmt.Sprintf("%.1f µs", with-without)})
	}
	engine := "SQLite"
	if w.db.Engine() == store.PostgreSQL {
		engine = "PostgreSQL"
	}
	table("An update as a plain statement, without and with a row of the audit trail, one writer, "+engine,
		[]string{"updates to a commit", "update", "update and row", "the row"}, rows)
	return nil
}
