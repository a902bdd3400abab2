// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/store"
)

const (
	// addressShare is the fraction of a minute's rows that one address may use.
	addressShare = 10
	// maxAddresses bounds the distinct addresses per minute.
	maxAddresses = 1000
	// shownAddresses is how many of them a summary names.
	shownAddresses = 20
	// maxQueue bounds the queued rows.
	maxQueue = 4096
	// storeInterval is how often rows are stored.
	storeInterval = 100 * time.Millisecond
	// maxInsert is how many rows are stored in one transaction.
	maxInsert = 64
)

// OperationSummary is the operation of rows that summarise refused writes that exceeded the limit.
const OperationSummary = "refusedWrites"

// refusals are the rows of refused and failed writes. They are queued in memory, so that refused
// callers do not wait, and limited, so that they cannot fill the disk.
type refusals struct {
	trail *Trail
	wake  chan struct{}

	mu    sync.Mutex
	queue []store.AuditRecord
	// minute is the start of the current minute; the counters below are per minute.
	minute    time.Time
	stored    int
	addresses map[netip.Addr]int
	skipped   int
	skippedOf map[netip.Addr]int
}

func newRefusals(t *Trail) *refusals {
	return &refusals{trail: t, wake: make(chan struct{}, 1), addresses: map[netip.Addr]int{}, skippedOf: map[netip.Addr]int{}}
}

// add queues a row, or counts it if there were too many.
func (r *refusals) add(record store.AuditRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.trail.opts.Now()
	r.turn(now)
	if r.minute.IsZero() {
		r.minute = now
	}
	limit := r.trail.opts.MaxRefusedPerMinute
	// Authenticated administrators are refused occasionally, others possibly by the thousand.
	share := max(limit/addressShare, 1)
	if record.AdminID != nil {
		share = limit
	}
	ip := record.IP
	if r.stored >= limit || r.addresses[ip] >= share || len(r.queue) >= maxQueue {
		r.skipped++
		if _, known := r.skippedOf[ip]; known || len(r.skippedOf) < maxAddresses {
			r.skippedOf[ip]++
		}
		return
	}
	r.stored++
	if _, known := r.addresses[ip]; known || len(r.addresses) < maxAddresses {
		r.addresses[ip]++
	}
	r.queue = append(r.queue, record)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// turn starts a new minute if necessary, and queues the summary of the skipped rows.
func (r *refusals) turn(now time.Time) {
	if now.Sub(r.minute) < time.Minute {
		return
	}
	if r.skipped > 0 {
		r.queue = append(r.queue, r.summary(now))
	}
	r.minute, r.stored, r.skipped = time.Time{}, 0, 0
	clear(r.addresses)
	clear(r.skippedOf)
}

// summary returns the row that summarises the skipped ones.
func (r *refusals) summary(now time.Time) store.AuditRecord {
	type share struct {
		Address string `json:"address"`
		Count   int    `json:"count"`
	}
	list := make([]share, 0, len(r.skippedOf))
	for ip, n := range r.skippedOf {
		list = append(list, share{ip.String(), n})
	}
	slices.SortFunc(list, func(a, b share) int { return b.Count - a.Count })
	params, err := json.Marshal(map[string]any{"count": r.skipped, "since": r.minute.UTC().Format(time.RFC3339), "addresses": list[:min(len(list), shownAddresses)]})
	if err != nil {
		params = fmt.Appendf(nil, `{"count":%d}`, r.skipped)
	}
	text := string(params)
	return store.AuditRecord{
		ID: r.trail.opts.NextID(), Date: now, Outcome: Refused, Operation: OperationSummary,
		AuditDetails: store.AuditDetails{NodeID: r.trail.opts.NodeID, Params: &text, Reason: "writes that were refused and are too many to be listed"},
	}
}

// take returns rows to store.
func (r *refusals) take(all bool) []store.AuditRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.trail.opts.Now()
	if all && r.skipped > 0 {
		now = r.minute.Add(time.Minute)
	}
	r.turn(now)
	n := min(len(r.queue), maxInsert)
	rows := slices.Clone(r.queue[:n])
	r.queue = slices.Delete(r.queue, 0, n)
	return rows
}

// back returns rows to the queue after a failure.
func (r *refusals) back(rows []store.AuditRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = slices.Insert(r.queue, 0, rows...)
}

// run stores rows until ctx ends, and then the rest.
func (r *refusals) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			r.drain()
			return
		case <-r.wake:
		case <-ticker.C:
		}
		for ctx.Err() == nil {
			rows := r.take(false)
			if len(rows) == 0 {
				break
			}
			err := r.trail.insert(context.WithoutCancel(ctx), rows...)
			if err != nil && !failing {
				r.trail.opts.Logger.Warn("rows of the audit trail cannot be stored and wait", "error", err)
			}
			if failing = err != nil; failing {
				r.back(rows)
				break
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(storeInterval): // So that rows share a transaction.
		}
	}
}

// drain stores the rest.
func (r *refusals) drain() {
	for rows := r.take(true); len(rows) > 0; rows = r.take(true) {
		if err := r.trail.insert(context.Background(), rows...); err != nil {
			r.trail.opts.Logger.Warn("rows of refused writes are missing in the audit trail", "rows", len(rows), "error", err)
			return
		}
	}
}
