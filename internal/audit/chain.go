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
	// sealInterval is how often this process seals its rows.
	sealInterval = time.Second
	// maxPending bounds the unsealed rows in memory. SealMissed finds further ones.
	maxPending = 100_000
	// missedAfter is the age of an unsealed row after which SealMissed assumes that its process
	// lost it.
	missedAfter = 2 * time.Minute
	searchBatch = 5000
	removeBatch = 50
	verifyBatch = 50
)

// hashOf returns the hash of a seal: over the previous hash and all columns.
func hashOf(before []byte, s *store.AuditSeal) []byte {
	b := make([]byte, 0, 128+len(s.Entries)*(8+sha256.Size))
	b = append(b, 2) // The version of this format.
	b = append(binary.AppendUvarint(b, uint64(len(before))), before...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Sequence))
	b = binary.BigEndian.AppendUint64(b, uint64(s.LastID))
	b = binary.BigEndian.AppendUint64(b, uint64(s.LastDate.UnixMilli()))
	sum := sha256.Sum256(store.AppendAuditEntries(b, s.Entries))
	return sum[:]
}

// pending are this process's committed, unsealed rows. Their digests were computed before they were
// written, so that later changes are revealed.
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
	// About as many are likely to come until the next time.
	p.entries = make([]store.AuditEntry, 0, min(len(taken), maxPending))
	return taken
}

// entryOf returns the chain entry of a stored row.
func entryOf(r *store.AuditRecord) store.AuditEntry {
	return store.AuditEntry{ID: r.ID, Date: r.Date, Digest: r.Digest()}
}

// Seal appends this process's unsealed rows to the chain, and returns how many. Concurrent calls
// are serialised.
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

// SealMissed appends rows whose process ended before sealing them, and returns how many. One node
// does it for all.
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

// runSeals seals until ctx ends, and then the rest.
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

// Remove removes rows that are older than the retention, and returns how many. The chain then
// begins after them.
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

// A Head is a position in the chain. A copy kept elsewhere proves later that nothing before it was
// changed.
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

// A Report is the result of Verify.
type Report struct {
	// Sealed is the number of verified rows, Unsealed that of rows not in the chain yet.
	Sealed, Unsealed int64
	// Removed is the sequence of the last seal removed by retention; 0 means none.
	Removed int64
	Head    Head
}

// A BrokenError is the first inconsistency of the chain.
type BrokenError struct {
	// Sequence is the seal, ID the id of the row; 0 for the seal itself.
	Sequence, ID int64
	Reason       string
}

func (e *BrokenError) Error() string {
	if e.ID == 0 {
		return fmt.Sprintf("the audit trail is broken at seal %d: %s", e.Sequence, e.Reason)
	}
	return fmt.Sprintf("the audit trail is broken at seal %d, row %d: %s", e.Sequence, e.ID, e.Reason)
}

// Verify verifies the whole chain. It returns a *BrokenError if a row was removed or changed after
// it was written. With a head, the chain must contain it.
func Verify(ctx context.Context, db *store.DB, through *Head) (Report, error) {
	for {
		report, err := verify(ctx, db, through)
		if _, broken := errors.AsType[*BrokenError](err); !broken {
			return report, err
		}
		// Retention may have removed rows during the verification: then the chain begins elsewhere.
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

// verifyRows checks that the rows of a seal exist unchanged.
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

// next returns the position of the following seal. It fails if the seal was changed.
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

// check returns an error if the chain has another hash at the head's sequence.
func (h *Head) check(at Head) error {
	if h != nil && h.Sequence == at.Sequence && !bytes.Equal(h.Hash, at.Hash) {
		return &BrokenError{Sequence: at.Sequence, Reason: "its hash is not the one that was kept: the chain was written anew"}
	}
	return nil
}
