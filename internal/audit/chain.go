// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/store"
)

const (
	// sealInterval is how often the rows of this process are sealed.
	sealInterval = time.Second
	// maxPending bounds the rows that wait for their seal in memory. SealMissed finds those beyond.
	maxPending = 100_000
	// missedAfter is how old a row without a seal is before SealMissed takes it for one that its process has lost.
	missedAfter = 2 * time.Minute
	searchBatch = 5000
	removeBatch = 50
	verifyBatch = 50
)

// hashOf is the hash of a seal in the chain: over the hash before it and all columns.
func hashOf(before []byte, s *store.AuditSeal) []byte {
	b := make([]byte, 0, 128+len(s.Entries)*(8+sha256.Size))
	b = append(b, 2) // The version of this form.
	b = append(binary.AppendUvarint(b, uint64(len(before))), before...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Sequence))
	b = binary.BigEndian.AppendUint64(b, uint64(s.LastID))
	b = binary.BigEndian.AppendUint64(b, uint64(s.LastDate.UnixMilli()))
	sum := sha256.Sum256(store.AppendAuditEntries(b, s.Entries))
	return sum[:]
}

// pending are the rows of this process that are committed and have no seal yet. Their digests are from before they were
// written, so that a row that was changed since is found.
type pending struct {
	mu      sync.Mutex
	entries []store.AuditEntry
}

func (p *pending) add(entries ...store.AuditEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = append(p.entries, entries[:min(len(entries), maxPending-len(p.entries))]...)
}

func (p *pending) take() []store.AuditEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.entries
	// As many are likely to come until the next time.
	p.entries = make([]store.AuditEntry, 0, min(len(taken), maxPending))
	return taken
}

// entryOf stands for a row that was stored.
func entryOf(r *store.AuditRecord) store.AuditEntry {
	return store.AuditEntry{ID: r.ID, Date: r.Date, Digest: r.Digest()}
}

// Seal appends the rows of this process that are not part of the chain yet to it, and returns how many. Two that seal at the
// same time do so one after the other.
func (t *Trail) Seal(ctx context.Context) (sealed int, err error) {
	entries := t.pending.take()
	if len(entries) == 0 {
		return 0, nil
	}
	err = t.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		sealed, err = store.SealAuditEntries(ctx, tx, entries, hashOf)
		return err
	})
	if err != nil {
		t.pending.add(entries...)
		return 0, err
	}
	return sealed, nil
}

// SealMissed appends rows to the chain whose process ended before it could, and returns how many. One node does it for all.
func (t *Trail) SealMissed(ctx context.Context, db store.Writer) (sealed int64, err error) {
	through := ids.First(t.opts.Now().Add(-missedAfter))
	for more := true; more && err == nil; {
		waiting := false
		err = t.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
			chain, err := store.FindAuditChain(ctx, r)
			if err != nil {
				return err
			}
			found, err := store.FindAuditIDs(ctx, r, chain.SearchedID, through, 1)
			waiting = len(found) > 0
			return err
		})
		if err != nil || !waiting {
			break
		}
		n := 0
		err = db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			n, more, err = store.SealMissedAuditRecords(ctx, tx, through, searchBatch, hashOf)
			return err
		})
		sealed += int64(n)
	}
	return sealed, err
}

// runSeals seals until ctx ends, and what is left then.
func (t *Trail) runSeals(ctx context.Context) {
	ticker := time.NewTicker(sealInterval)
	defer ticker.Stop()
	failing := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := t.Seal(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			t.opts.Logger.Warn("rows of the audit trail cannot be sealed and wait", "error", err)
		}
		failing = err != nil
	}
}

// Remove removes rows that are older than the retention, and returns how many. The chain begins after them from then on.
func (t *Trail) Remove(ctx context.Context, db store.Writer) (removed int64, err error) {
	if t.opts.Retention <= 0 {
		return 0, nil
	}
	before := t.opts.Now().Add(-t.opts.Retention)
	for {
		seals, records := 0, int64(0)
		err := db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			seals, records, err = store.RemoveAuditRecords(ctx, tx, before, removeBatch)
			return err
		})
		removed += records
		if err != nil || seals < removeBatch {
			return removed, err
		}
	}
}

// A Head is a place in the chain: whoever keeps one elsewhere can tell later that nothing before it was changed.
type Head struct {
	Sequence int64
	Hash     []byte
}

// String returns the head as ParseHead reads it.
func (h Head) String() string {
	return strconv.FormatInt(h.Sequence, 10) + ":" + hex.EncodeToString(h.Hash)
}

// ParseHead reads a head as String writes it.
func ParseHead(text string) (Head, error) {
	sequence, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil || n < 0 {
		return Head{}, fmt.Errorf("head %q: must be a number, a colon and a hash, as app audit verify prints it", text)
	}
	b, err := hex.DecodeString(hash)
	if err != nil {
		return Head{}, fmt.Errorf("head %q: the hash must be hexadecimal: %w", text, err)
	}
	return Head{n, b}, nil
}

// A Report is what Verify found.
type Report struct {
	// Sealed is how many rows of the chain were checked, Unsealed how many rows are not part of it yet.
	Sealed, Unsealed int64
	// Removed is the sequence of the last seal that was removed because of the age of its rows; 0 if none was.
	Removed int64
	Head    Head
}

// A BrokenError is the first place of the chain that is not as it was sealed.
type BrokenError struct {
	// Sequence is the seal, ID the id of the row; 0 if it is the seal itself.
	Sequence, ID int64
	Reason       string
}

func (e *BrokenError) Error() string {
	if e.ID == 0 {
		return fmt.Sprintf("the audit trail is broken at seal %d: %s", e.Sequence, e.Reason)
	}
	return fmt.Sprintf("the audit trail is broken at seal %d, row %d: %s", e.Sequence, e.ID, e.Reason)
}

// Verify checks the chain from its beginning to its end. A row that was removed or changed after it was written is a
// *BrokenError. With a head, the chain must lead through it.
func Verify(ctx context.Context, db *store.DB, through *Head) (Report, error) {
	for {
		report, err := verify(ctx, db, through)
		if _, broken := errors.AsType[*BrokenError](err); !broken {
			return report, err
		}
		// Rows may have become too old while they were read: then the chain begins elsewhere.
		chain, failure := findChain(ctx, db)
		if failure != nil {
			return report, failure
		}
		if chain.RemovedSequence == report.Removed {
			return report, err
		}
	}
}

func verify(ctx context.Context, db *store.DB, through *Head) (report Report, err error) {
	chain, err := findChain(ctx, db)
	if err != nil {
		return report, err
	}
	at := Head{chain.RemovedSequence, chain.RemovedHash}
	report.Removed = at.Sequence
	if through != nil && through.Sequence < at.Sequence {
		return report, fmt.Errorf("seal %d of the audit trail was removed because of its age: the head cannot be compared", through.Sequence)
	}
	if err := through.check(at); err != nil {
		return report, err
	}
	for {
		var seals []store.AuditSeal
		err := db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			seals, err = store.FindAuditSeals(ctx, r, at.Sequence, verifyBatch)
			return err
		})
		if err != nil {
			return report, err
		}
		for i := range seals {
			if at, err = at.next(&seals[i]); err != nil {
				return report, err
			}
			if err := through.check(at); err != nil {
				return report, err
			}
			if err := verifyRows(ctx, db, &seals[i]); err != nil {
				return report, err
			}
			report.Sealed += int64(len(seals[i].Entries))
		}
		if len(seals) > 0 {
			continue
		}
		// Rows may have been sealed or removed since the ends were read.
		now, err := findChain(ctx, db)
		if err != nil {
			return report, err
		}
		if now.Sequence > at.Sequence && now.Sequence > chain.Sequence {
			chain = now
			continue
		}
		chain = now
		break
	}
	report.Head = at
	switch {
	case chain.Sequence != at.Sequence:
		return report, &BrokenError{Sequence: at.Sequence + 1, Reason: fmt.Sprintf("the chain ends before it, but should go to %d: seals are missing", chain.Sequence)}
	case !bytes.Equal(chain.Hash, at.Hash):
		return report, &BrokenError{Sequence: at.Sequence, Reason: "it is the last seal, but not the one that was made last"}
	case through != nil && through.Sequence > at.Sequence:
		return report, &BrokenError{Sequence: at.Sequence + 1, Reason: fmt.Sprintf("the chain ends before it, but there was a seal %d: seals are missing", through.Sequence)}
	}
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		all, err := store.CountAuditRecords(ctx, r, store.AuditFilter{})
		report.Unsealed = max(0, all-report.Sealed)
		return err
	})
	return report, err
}

// verifyRows checks that the rows of a seal are there and as they were.
func verifyRows(ctx context.Context, db *store.DB, seal *store.AuditSeal) error {
	wanted := make([]int64, len(seal.Entries))
	for i := range seal.Entries {
		wanted[i] = seal.Entries[i].ID
	}
	var rows []store.AuditRecord
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		rows, err = store.FindAuditRecords(ctx, r, store.AuditFilter{IDs: wanted}, store.Page{})
		return err
	})
	if err != nil {
		return err
	}
	for i := range seal.Entries {
		entry := &seal.Entries[i]
		at := len(rows) - 1 // The newest comes first.
		if at < 0 || rows[at].ID != entry.ID {
			return &BrokenError{Sequence: seal.Sequence, ID: entry.ID, Reason: "the row is missing"}
		}
		if rows[at].Digest() != entry.Digest {
			return &BrokenError{Sequence: seal.Sequence, ID: entry.ID, Reason: "the row is not as it was sealed"}
		}
		rows = rows[:at]
	}
	return nil
}

func findChain(ctx context.Context, db *store.DB) (chain store.AuditChain, err error) {
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		chain, err = store.FindAuditChain(ctx, r)
		return err
	})
	return chain, err
}

// next is the place of the seal after this one. It fails if the seal is not the one that was made.
func (h Head) next(s *store.AuditSeal) (Head, error) {
	sequence := h.Sequence + 1
	if s.Sequence != sequence {
		return h, &BrokenError{Sequence: sequence, Reason: fmt.Sprintf("the seal is missing; the next one is %d", s.Sequence)}
	}
	hash := hashOf(h.Hash, s)
	if !bytes.Equal(hash, s.Hash) {
		return h, &BrokenError{Sequence: sequence, Reason: "the seal is not as it was made, or does not follow the one before it"}
	}
	return Head{sequence, hash}, nil
}

// check fails if the chain comes to the sequence of a kept head with another hash.
func (h *Head) check(at Head) error {
	if h != nil && h.Sequence == at.Sequence && !bytes.Equal(h.Hash, at.Hash) {
		return &BrokenError{Sequence: at.Sequence, Reason: "its hash is not the one that was kept: the chain was written anew"}
	}
	return nil
}
