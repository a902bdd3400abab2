// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/store/sqldb"
)

// An AuditRecord is a row of the audit trail. Params and Changes are JSON texts that the store does not look into.
type AuditRecord struct {
	// ID is one of package ids: dates are found by it.
	ID int64
	// Sequence and Hash are those of a sealed record; nil before.
	Sequence *int64
	Hash     []byte
	Date     time.Time
	Outcome  string
	// AdminID is nil if nobody logged in; LoginName is then the name that was tried.
	AdminID       *int64
	LoginName     string
	TokenID       *int64
	PluginID      string
	PluginVersion string
	OnBehalfOf    string
	IP            netip.Addr
	NodeID        string
	RequestID     string
	Operation     string
	// TargetIDs have no commas in them.
	TargetIDs      []string
	Params         *string
	Changes        *string
	OmittedChanges int64
	Code           int32
	Status         int32
	Reason         string
}

var auditRecords = newTable("audit", "id sequence hash record_date outcome admin_id login_name token_id plugin_id plugin_version "+
	"on_behalf_of ip node_id request_id operation target_ids params changes omitted_changes code status reason", func(r *AuditRecord) []any {
	return []any{
		&r.ID, &r.Sequence, (*optionalBytes)(&r.Hash), (*millis)(&r.Date), &r.Outcome, &r.AdminID, &r.LoginName, &r.TokenID, &r.PluginID,
		&r.PluginVersion, &r.OnBehalfOf, (*address)(&r.IP), &r.NodeID, &r.RequestID, &r.Operation, (*auditTargets)(&r.TargetIDs),
		&r.Params, &r.Changes, &r.OmittedChanges, &r.Code, &r.Status, &r.Reason,
	}
})

// InsertAuditRecords stores new records, which are not sealed.
func InsertAuditRecords(ctx context.Context, tx Tx, records ...AuditRecord) error {
	if err := auditRecords.insert(ctx, tx, records...); err != nil {
		return fmt.Errorf("insert audit records: %w", err)
	}
	return nil
}

// InsertLastAuditRecord is InsertAuditRecords for one record, as the last thing that a transaction does.
func InsertLastAuditRecord(ctx context.Context, tx Tx, record AuditRecord) error {
	statements, err := auditRecords.inserts(sqldb.EngineOf(tx), []AuditRecord{record})
	if err == nil {
		err = sqldb.ExecLast(ctx, tx, statements)
	}
	if err != nil {
		return fmt.Errorf("insert an audit record: %w", err)
	}
	return nil
}

// An AuditFilter selects records, by the rules of AdminFilter.
type AuditFilter struct {
	IDs        []int64
	Dates      DateRange
	Outcomes   []string
	AdminIDs   []int64
	TokenIDs   []int64
	PluginIDs  []string
	RequestIDs []string
	Operations []string
	// TargetID selects the records of one target; "" means all.
	TargetID string
	// LoginNames are those of administrators, or those that were tried.
	LoginNames []string
}

func (f AuditFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	c.and(f.Dates.conditions("t.record_date")...)
	if f.Dates.Start != nil {
		c.when("t.id >= ?", ids.First(f.Dates.Start.Add(-auditDelay)))
	}
	if f.Dates.End != nil {
		c.when("t.id < ?", ids.First(f.Dates.End.Add(auditDelay)))
	}
	anyOf(&c, "t.outcome", f.Outcomes)
	anyOf(&c, "t.admin_id", f.AdminIDs)
	anyOf(&c, "t.token_id", f.TokenIDs)
	anyOf(&c, "t.plugin_id", f.PluginIDs)
	anyOf(&c, "t.request_id", f.RequestIDs)
	anyOf(&c, "t.operation", f.Operations)
	anyOf(&c, "t.login_name", f.LoginNames)
	if f.TargetID != "" {
		escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(f.TargetID)
		c.when(`t.target_ids LIKE ? ESCAPE '\'`, "%,"+escaped+",%")
	}
	return c
}

// auditDelay bounds how far the date of a record, when a request came, is from the time of its id.
const auditDelay = time.Hour

// FindAuditRecords returns the records that match the filter, the newest first.
func FindAuditRecords(ctx context.Context, r Reader, filter AuditFilter, page Page) ([]AuditRecord, error) {
	found, err := auditRecords.find(ctx, r, filter.conditions(), page, "t.id DESC")
	if err != nil {
		return nil, fmt.Errorf("find audit records: %w", err)
	}
	return found, nil
}

// CountAuditRecords returns how many records match the filter.
func CountAuditRecords(ctx context.Context, r Reader, filter AuditFilter) (int64, error) {
	return countRows(ctx, r, auditRecords.name, filter.conditions())
}

// An AuditChain is what is known of the ends of the chain of sealed records.
type AuditChain struct {
	// Sequence and Hash are those of the last sealed record; 0 and none before the first.
	Sequence int64
	Hash     []byte
	// RemovedSequence and RemovedHash are those of the last record that was removed because of its age.
	RemovedSequence int64
	RemovedHash     []byte
}

var auditChains = newTable("audit_chain", "sequence hash removed_sequence removed_hash", func(c *AuditChain) []any {
	return []any{&c.Sequence, (*blob)(&c.Hash), &c.RemovedSequence, (*blob)(&c.RemovedHash)}
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
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO audit_chain (id, sequence, hash, removed_sequence, removed_hash) VALUES (1, ?, ?, ?, ?) "+
		"ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash, "+
		"removed_sequence = excluded.removed_sequence, removed_hash = excluded.removed_hash",
		c.Sequence, bytesOf(c.Hash), c.RemovedSequence, bytesOf(c.RemovedHash)))
	if err != nil {
		return fmt.Errorf("store the ends of the audit chain: %w", err)
	}
	return nil
}

// SealAuditRecords appends records that are not sealed yet to the chain, at most limit of them, and returns how many.
// hash returns the hash of a record, which has its sequence, after the one before it.
func SealAuditRecords(ctx context.Context, tx Tx, limit int, hash func(before []byte, r *AuditRecord) []byte) (int, error) {
	found, err := auditRecords.find(ctx, tx, where("t.sequence IS NULL"), Page{Limit: limit}, "t.id")
	if err != nil || len(found) == 0 {
		return 0, err
	}
	chain, err := FindAuditChain(ctx, tx)
	if err != nil {
		return 0, err
	}
	for i := range found {
		r := &found[i]
		chain.Sequence++
		r.Sequence = new(chain.Sequence)
		r.Hash = hash(chain.Hash, r)
		chain.Hash = r.Hash
	}
	if _, err := sqldb.ExecAll(ctx, tx, sealStatements(sqldb.EngineOf(tx), found)); err != nil {
		return 0, fmt.Errorf("seal audit records: %w", err)
	}
	return len(found), putAuditChain(ctx, tx, chain)
}

// sealStatements returns what gives records their sequence and hash: many small statements, which PostgreSQL gets at once,
// or a few for many rows.
func sealStatements(engine Engine, list []AuditRecord) (statements []sqldb.SQL) {
	for len(list) > 0 {
		n := 1
		if engine == SQLite {
			n = sqldb.RowsPerStatement(len(list))
		}
		args := make([]any, 0, 3*n)
		for _, r := range list[:n] {
			args = append(args, *r.Sequence, r.Hash, r.ID)
		}
		list = list[n:]
		if engine == SQLite {
			statements = append(statements, sqldb.Rows("UPDATE audit SET sequence = v.column1, hash = v.column2 FROM (VALUES ", "(?, ?, ?)", n, ") AS v WHERE id = v.column3", args))
		} else {
			statements = append(statements, sqldb.New("UPDATE audit SET sequence = ?, hash = ? WHERE id = ?", args...))
		}
	}
	return statements
}

// FindSealedAuditRecords returns sealed records after a sequence in the order of the chain, at most limit of them.
func FindSealedAuditRecords(ctx context.Context, r Reader, after int64, limit int) ([]AuditRecord, error) {
	found, err := auditRecords.find(ctx, r, where("t.sequence > ?", after), Page{Limit: limit}, "t.sequence")
	if err != nil {
		return nil, fmt.Errorf("find sealed audit records: %w", err)
	}
	return found, nil
}

// CountUnsealedAuditRecords returns how many records are not sealed yet.
func CountUnsealedAuditRecords(ctx context.Context, r Reader) (int64, error) {
	return countRows(ctx, r, auditRecords.name, where("t.sequence IS NULL"))
}

// RemoveAuditRecords removes the oldest part of the chain: records up to the first one that is not before a moment, at
// most limit of them. It returns how many.
func RemoveAuditRecords(ctx context.Context, tx Tx, before time.Time, limit int) (int64, error) {
	chain, err := FindAuditChain(ctx, tx)
	if err != nil {
		return 0, err
	}
	last := chain.RemovedSequence + int64(limit)
	var young int64
	err = sqldb.First(ctx, tx, sqldb.New("SELECT t.sequence FROM audit AS t WHERE t.sequence > ? AND t.sequence <= ? AND t.record_date >= ? ORDER BY t.sequence LIMIT 1",
		chain.RemovedSequence, last, before.UnixMilli()), &young)
	switch {
	case err == nil:
		last = young - 1
	case !errors.Is(err, ErrNotFound):
		return 0, fmt.Errorf("find audit records to remove: %w", err)
	}
	last = min(last, chain.Sequence)
	if last <= chain.RemovedSequence {
		return 0, nil
	}
	var hash []byte
	err = sqldb.First(ctx, tx, sqldb.New("SELECT t.hash FROM audit AS t WHERE t.sequence = ?", last), &hash)
	if errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("remove audit records: record %d of the chain is missing", last)
	}
	if err != nil {
		return 0, fmt.Errorf("find audit records to remove: %w", err)
	}
	n, err := deleteRows(ctx, tx, auditRecords.name, where("t.sequence <= ?", last))
	if err != nil {
		return 0, err
	}
	chain.RemovedSequence, chain.RemovedHash = last, hash
	return n, putAuditChain(ctx, tx, chain)
}
