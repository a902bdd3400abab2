// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store"
)

// slotsKept is how long claims of slots are kept. They must outlast clock differences.
const slotsKept = 7 * 24 * time.Hour

// NewSlots returns the slots in the server's store. leads reports whether this process leads the
// cluster.
func NewSlots(db *store.DB, leads func() bool) *StoredSlots { return &StoredSlots{db, leads} }

// StoredSlots claims slots in the store.
type StoredSlots struct {
	db    *store.DB
	leads func() bool
}

// Leads implements Slots.
func (s *StoredSlots) Leads() bool { return s.leads() }

// Claim implements Slots.
func (s *StoredSlots) Claim(ctx context.Context, pluginID, extension, schedule string, slot time.Time) (mine bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		mine, err = store.ClaimPluginSlot(ctx, tx, store.PluginSlot{PluginID: pluginID, Extension: extension, Schedule: schedule, Slot: slot})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write to the store: %w", err)
	}
	return mine, nil
}

// Clean deletes obsolete claims, and returns how many.
func (s *StoredSlots) Clean(ctx context.Context, db store.Writer) (n int64, err error) {
	err = db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		n, err = store.DeletePluginSlots(ctx, tx, time.Now().Add(-slotsKept))
		return err
	})
	return n, store.Code(err)
}

var _ Slots = (*StoredSlots)(nil)
