// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/store/sqldb"
)

// An AuditEntry represents a record in a seal.
type AuditEntry struct {
	ID int64
	// Date is the date of the record. It is not read with a seal.
	Date   time.Time
	Digest [sha256.Size]byte
}

// An AuditSeal is a block of the chain: it seals records, in the order of their ids.
type AuditSeal struct {
	Sequence int64
	// LastID is the greatest id of a record, LastDate the latest date.
	LastID   int64
	LastDate time.Time
	Entries  []AuditEntry
	Hash     []byte
}

var auditSeals = newTable("audit_seal", "sequence last_id last_date records hash", func(s *AuditSeal) []any {
	return []any{&s.Sequence, &s.LastID, (*millis)(&s.LastDate), (*auditEntries)(&s.Entries), (*blob)(&s.Hash)}
})

// AppendAuditEntries appends entries to a text as they are stored: the id in 8 bytes and the digest
// of each.
func AppendAuditEntries(b []byte, entries []AuditEntry) []byte {
	for i := range entries {
		b = binary.BigEndian.AppendUint64(b, uint64(entries[i].ID))
		b = append(b, entries[i].Digest[:]...)
	}
	return b
}

// MaxAuditSeal bounds the entries of a seal.
const MaxAuditSeal = 1000

// An AuditChain describes the ends of the chain of seals.
type AuditChain struct {
	// Sequence and Hash are those of the last seal; 0 and empty if there is none.
	Sequence int64
	Hash     []byte
	// RemovedSequence and RemovedHash are those of the last seal that was removed by retention.
	RemovedSequence int64
	RemovedHash     []byte
	// SearchedID is the id up to which records without a seal were searched.
	SearchedID int64
}

var auditChains = newTable("audit_chain", "sequence hash removed_sequence removed_hash searched_id", func(c *AuditChain) []any {
	return []any{&c.Sequence, (*blob)(&c.Hash), &c.RemovedSequence, (*blob)(&c.RemovedHash), &c.SearchedID}
})

// FindAuditChain returns the ends of the chain.
func FindAuditChain(ctx context.Context, r Reader) (AuditChain, error) {
	found, err := auditChains.find(ctx, r, where("t.id = 1"), Page{})
	if err != nil {
		return AuditChain{}, fmt.Errorf("find the ends of the audit chain: %w", err)
	}
	if len(found) == 0 {
		return AuditChain{}, nil
	}
	return found[0], nil
}

func putAuditChain(ctx context.Context, tx Tx, c AuditChain) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO audit_chain (id, sequence, hash, removed_sequence, removed_hash, searched_id) VALUES (1, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash, "+
		"removed_sequence = excluded.removed_sequence, removed_hash = excluded.removed_hash, searched_id = excluded.searched_id",
		c.Sequence, bytesOf(c.Hash), c.RemovedSequence, bytesOf(c.RemovedHash), c.SearchedID))
	if err != nil {
		return fmt.Errorf("store the ends of the audit chain: %w", err)
	}
	return nil
}

// SealAuditEntries appends entries to the chain and returns how many. Entries that were already
// searched for and sealed are skipped; entries is sorted. hash returns the hash of a seal after the
// previous one.
func SealAuditEntries(ctx context.Context, tx Tx, entries []AuditEntry, hash func(before []byte, s *AuditSeal) []byte) (int, error) {
	chain, err := FindAuditChain(ctx, tx)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(entries, func(a, b AuditEntry) int { return cmp.Compare(a.ID, b.ID) })
	late, _ := slices.BinarySearchFunc(entries, chain.SearchedID+1, func(e AuditEntry, id int64) int { return cmp.Compare(e.ID, id) })
	if late > 0 {
		sealed, err := sealedAuditIDs(ctx, tx, entries[0].ID, entries[late-1].ID)
		if err != nil {
			return 0, err
		}
		// The function may run again with the same entries.
		entries = slices.DeleteFunc(slices.Clone(entries), func(e AuditEntry) bool { return sealed[e.ID] })
	}
	if len(entries) == 0 {
		return 0, nil
	}
	return len(entries), sealAuditEntries(ctx, tx, chain, entries, hash)
}

func sealAuditEntries(ctx context.Context, tx Tx, chain AuditChain, entries []AuditEntry, hash func(before []byte, s *AuditSeal) []byte) error {
	var seals []AuditSeal
	for block := range slices.Chunk(entries, MaxAuditSeal) {
		chain.Sequence++
		s := AuditSeal{Sequence: chain.Sequence, LastID: block[len(block)-1].ID, Entries: block}
		for i := range block {
			if block[i].Date.After(s.LastDate) {
				s.LastDate = block[i].Date
			}
		}
		s.Hash = hash(chain.Hash, &s)
		chain.Hash = s.Hash
		seals = append(seals, s)
	}
	// Write the end of the chain first: of two concurrent appends one waits for it and is retried.
	if err := putAuditChain(ctx, tx, chain); err != nil {
		return err
	}
	if err := auditSeals.insert(ctx, tx, seals...); err != nil {
		return fmt.Errorf("insert seals of the audit trail: %w", err)
	}
	return nil
}

// sealedAuditIDs returns the ids of a range that are in seals.
func sealedAuditIDs(ctx context.Context, r Reader, first, last int64) (map[int64]bool, error) {
	// A seal with a greater last id may contain part of the range.
	seals, err := auditSeals.find(ctx, r, where("t.last_id >= ?", first), Page{})
	if err != nil {
		return nil, fmt.Errorf("find seals of the audit trail: %w", err)
	}
	ids := map[int64]bool{}
	for _, s := range seals {
		for i := range s.Entries {
			if id := s.Entries[i].ID; id >= first && id <= last {
				ids[id] = true
			}
		}
	}
	return ids, nil
}

// SealMissedAuditRecords seals records with ids up to through that are in no seal, and returns how
// many. It continues where it ended before and reads at most limit records; more reports whether
// there are others.
func SealMissedAuditRecords(ctx context.Context, tx Tx, through int64, limit int, hash func(before []byte, s *AuditSeal) []byte) (sealed int, more bool, err error) {
	chain, err := FindAuditChain(ctx, tx)
	if err != nil {
		return 0, false, err
	}
	ids, err := FindAuditIDs(ctx, tx, chain.SearchedID, through, limit)
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	last := ids[len(ids)-1]
	known, err := sealedAuditIDs(ctx, tx, ids[0], last)
	if err != nil {
		return 0, false, err
	}
	more = len(ids) == limit
	chain.SearchedID = last
	ids = slices.DeleteFunc(ids, func(id int64) bool { return known[id] })
	if len(ids) == 0 {
		return 0, more, putAuditChain(ctx, tx, chain)
	}
	records, err := FindAuditRecords(ctx, tx, AuditFilter{IDs: ids}, Page{})
	if err != nil {
		return 0, false, err
	}
	slices.Reverse(records)
	entries := make([]AuditEntry, len(records))
	for i := range records {
		entries[i] = AuditEntry{ID: records[i].ID, Date: records[i].Date, Digest: records[i].Digest()}
	}
	return len(entries), more, sealAuditEntries(ctx, tx, chain, entries, hash)
}

// FindAuditSeals returns seals after a sequence in the order of the chain, at most limit of them.
func FindAuditSeals(ctx context.Context, r Reader, after int64, limit int) ([]AuditSeal, error) {
	found, err := auditSeals.find(ctx, r, where("t.sequence > ?", after), Page{Limit: limit}, "t.sequence")
	if err != nil {
		return nil, fmt.Errorf("find seals of the audit trail: %w", err)
	}
	return found, nil
}

// RemoveAuditRecords removes the oldest part of the chain: at most limit seals whose records are
// all from before a time, up to the first with a younger one, and their records. It returns the
// numbers of seals and records.
func RemoveAuditRecords(ctx context.Context, tx Tx, before time.Time, limit int) (seals int, records int64, err error) {
	chain, err := FindAuditChain(ctx, tx)
	if err != nil {
		return 0, 0, err
	}
	found, err := FindAuditSeals(ctx, tx, chain.RemovedSequence, limit)
	if err != nil {
		return 0, 0, err
	}
	for _, s := range found {
		if !s.LastDate.Before(before) {
			break
		}
		if s.Sequence != chain.RemovedSequence+1 {
			return 0, 0, fmt.Errorf("remove audit records: seal %d of the chain is missing", chain.RemovedSequence+1)
		}
		ids := make([]int64, len(s.Entries))
		for i := range s.Entries {
			ids[i] = s.Entries[i].ID
		}
		n, err := deleteRows(ctx, tx, auditRecords.name, in("t.id", ids))
		if err != nil {
			return 0, 0, err
		}
		chain.RemovedSequence, chain.RemovedHash = s.Sequence, s.Hash
		seals++
		records += n
	}
	if seals == 0 {
		return 0, 0, nil
	}
	if _, err := deleteRows(ctx, tx, auditSeals.name, where("t.sequence <= ?", chain.RemovedSequence)); err != nil {
		return 0, 0, err
	}
	return seals, records, putAuditChain(ctx, tx, chain)
}
