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

	"example.org/app/internal/store"
)

const (
	// sealBatch is how many rows are sealed in one transaction, removeBatch how many are removed.
	sealBatch   = 500
	removeBatch = 5000
	verifyBatch = 1000
)

// hashOf is the hash of a record in the chain: over the hash before it and all columns, each with its length.
func hashOf(before []byte, r *store.AuditRecord) []byte {
	var b []byte
	add := func(data []byte) { b = append(binary.AppendUvarint(b, uint64(len(data))), data...) }
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	optional := func(n *int64) {
		if n == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		number(*n)
	}
	text := func(s *string) {
		if s == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		add([]byte(*s))
	}
	b = append(b, 1) // The version of this form.
	add(before)
	optional(r.Sequence)
	number(r.ID)
	number(r.Date.UnixMilli())
	add([]byte(r.Outcome))
	optional(r.AdminID)
	add([]byte(r.LoginName))
	optional(r.TokenID)
	add([]byte(r.PluginID))
	add([]byte(r.PluginVersion))
	add([]byte(r.OnBehalfOf))
	add(r.IP.AsSlice())
	add([]byte(r.NodeID))
	add([]byte(r.RequestID))
	add([]byte(r.Operation))
	add([]byte(strings.Join(r.TargetIDs, ",")))
	text(r.Params)
	text(r.Changes)
	number(r.OmittedChanges)
	number(int64(r.Code))
	number(int64(r.Status))
	add([]byte(r.Reason))
	sum := sha256.Sum256(b)
	return sum[:]
}

// Seal appends rows that are not part of the chain yet to it, and returns how many. Two that seal at the same time do so
// one after the other.
func (t *Trail) Seal(ctx context.Context) (sealed int64, err error) {
	for {
		waiting := int64(0)
		err := t.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			waiting, err = store.CountUnsealedAuditRecords(ctx, r)
			return err
		})
		if err != nil || waiting == 0 {
			return sealed, err
		}
		n := 0
		err = t.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			n, err = store.SealAuditRecords(ctx, tx, sealBatch, hashOf)
			return err
		})
		sealed += int64(n)
		if err != nil || n < sealBatch {
			return sealed, err
		}
	}
}

// Remove removes rows that are older than the retention, and returns how many. The chain begins after them from then on.
func (t *Trail) Remove(ctx context.Context) (removed int64, err error) {
	if t.opts.Retention <= 0 {
		return 0, nil
	}
	before := t.opts.Now().Add(-t.opts.Retention)
	for {
		n := int64(0)
		err := t.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			n, err = store.RemoveAuditRecords(ctx, tx, before, removeBatch)
			return err
		})
		removed += n
		if err != nil || n < removeBatch {
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
		return Head{}, fmt.Errorf("head %q: must be a sequence, a colon and a hash, as app audit verify prints it", text)
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
	// Removed is the sequence of the last row that was removed because of its age; 0 if none was.
	Removed int64
	Head    Head
}

// A BrokenError is the first row of the chain that is not as it was sealed.
type BrokenError struct {
	// Sequence is the place in the chain, ID the id of the row; 0 if there is none.
	Sequence, ID int64
	Reason       string
}

func (e *BrokenError) Error() string {
	if e.ID == 0 {
		return fmt.Sprintf("the audit trail is broken at sequence %d: %s", e.Sequence, e.Reason)
	}
	return fmt.Sprintf("the audit trail is broken at sequence %d (id %d): %s", e.Sequence, e.ID, e.Reason)
}

// Verify checks the chain from its beginning to its end. A row that was removed, changed or moved after it was sealed is
// a *BrokenError. With a head, the chain must lead through it.
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
		return report, fmt.Errorf("row %d of the audit trail was removed because of its age: the head cannot be compared", through.Sequence)
	}
	if err := through.check(at); err != nil {
		return report, err
	}
	for {
		var rows []store.AuditRecord
		err := db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			rows, err = store.FindSealedAuditRecords(ctx, r, at.Sequence, verifyBatch)
			return err
		})
		if err != nil {
			return report, err
		}
		for i := range rows {
			if at, err = at.next(&rows[i]); err != nil {
				return report, err
			}
			if err := through.check(at); err != nil {
				return report, err
			}
			report.Sealed++
		}
		if len(rows) > 0 {
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
		return report, &BrokenError{Sequence: at.Sequence + 1, Reason: fmt.Sprintf("the chain ends before it, but should go to %d: rows are missing", chain.Sequence)}
	case !bytes.Equal(chain.Hash, at.Hash):
		return report, &BrokenError{Sequence: at.Sequence, Reason: "it is the last row, but not the one that was sealed last"}
	case through != nil && through.Sequence > at.Sequence:
		return report, &BrokenError{Sequence: at.Sequence + 1, Reason: fmt.Sprintf("the chain ends before it, but there was a row %d: rows are missing", through.Sequence)}
	}
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		report.Unsealed, err = store.CountUnsealedAuditRecords(ctx, r)
		return err
	})
	return report, err
}

func findChain(ctx context.Context, db *store.DB) (chain store.AuditChain, err error) {
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		chain, err = store.FindAuditChain(ctx, r)
		return err
	})
	return chain, err
}

// next is the place of the row after this one. It fails if the row is not the one that was sealed.
func (h Head) next(r *store.AuditRecord) (Head, error) {
	sequence := h.Sequence + 1
	if *r.Sequence != sequence {
		return h, &BrokenError{Sequence: sequence, Reason: fmt.Sprintf("the row is missing; the next one is %d", *r.Sequence)}
	}
	hash := hashOf(h.Hash, r)
	if !bytes.Equal(hash, r.Hash) {
		return h, &BrokenError{Sequence: sequence, ID: r.ID, Reason: "the row is not as it was sealed, or does not follow the one before it"}
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
