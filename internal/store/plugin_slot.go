// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A PluginSlot is a time at which a schedule of a plugin runs on one node of the cluster.
type PluginSlot struct {
	PluginID, Extension, Schedule string
	Slot                          time.Time
}

// ClaimPluginSlot claims a slot if it is later than all claimed ones of the schedule, and reports
// whether. It is one statement, so that only one of several nodes succeeds.
func ClaimPluginSlot(ctx context.Context, tx Tx, s PluginSlot) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO plugin_slot (plugin_id, extension, schedule, slot) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT (plugin_id, extension, schedule) DO UPDATE SET slot = excluded.slot WHERE plugin_slot.slot < excluded.slot",
		s.PluginID, s.Extension, s.Schedule, s.Slot.UnixMilli()))
	if err != nil {
		return false, fmt.Errorf("claim a slot of schedule %q of plugin %q: %w", s.Schedule, s.PluginID, err)
	}
	return n == 1, nil
}

// DeletePluginSlots deletes the schedules whose last slot is before a time, and returns how many.
func DeletePluginSlots(ctx context.Context, tx Tx, before time.Time) (int64, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM plugin_slot WHERE slot < ?", before.UnixMilli()))
	if err != nil {
		return 0, fmt.Errorf("delete slots of schedules of plugins: %w", err)
	}
	return n, nil
}
