// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/store/sqldb"
)

// An AuditRecord is a row of the audit trail. Params and Changes are JSON texts that are opaque to
// the store.
type AuditRecord struct {
	// ID is from package ids: date ranges are searched by it.
	ID      int64
	Date    time.Time
	Outcome string
	// AdminID is nil without authentication; LoginName is then the attempted name.
	AdminID   *int64
	LoginName string
	TokenID   *int64
	PluginID  string
	IP        netip.Addr
	RequestID string
	Operation string
	// TargetIDs have no commas in them.
	TargetIDs []string
	AuditDetails
	// details is the column that holds AuditDetails, as it was stored.
	details string
	// changes are used instead of Changes by InsertLastAuditRecord.
	changes []byte
}

// AuditDetails are the fields of a record without index.
type AuditDetails struct {
	NodeID         string
	PluginVersion  string
	OnBehalfOf     string
	Code           int32
	Status         int32
	Reason         string
	Params         *string
	Changes        *string
	OmittedChanges int64
}

var auditRecords = newTable("audit", "id record_date outcome admin_id login_name token_id plugin_id ip request_id operation target_ids details",
	func(r *AuditRecord) []any {
		return []any{
			&r.ID, (*millis)(&r.Date), &r.Outcome, &r.AdminID, &r.LoginName, &r.TokenID, &r.PluginID, (*address)(&r.IP),
			&r.RequestID, &r.Operation, (*auditTargets)(&r.TargetIDs), (*auditDetails)(r),
		}
	})

// auditDetails is the column of the details of a record.
type auditDetails AuditRecord

// storedDetails is the stored form of the details. Empty ones are omitted.
type storedDetails struct {
	Node       string          `json:"node,omitempty"`
	Version    string          `json:"version,omitempty"`
	OnBehalfOf string          `json:"onBehalfOf,omitempty"`
	Code       int32           `json:"code"`
	Status     int32           `json:"status"`
	Reason     string          `json:"reason,omitempty"`
	Omitted    int64           `json:"omitted,omitempty"`
	Params     json.RawMessage `json:"params,omitempty"`
	Changes    json.RawMessage `json:"changes,omitempty"`
}

// Scan implements sql.Scanner. It ignores corrupted details: app audit verify reports them.
func (r *auditDetails) Scan(source any) error {
	text, err := bytesFrom(source)
	if err != nil {
		return err
	}
	r.details = string(text)
	var d storedDetails
	if json.Unmarshal(text, &d) != nil {
		r.AuditDetails = AuditDetails{}
		return nil
	}
	r.AuditDetails = AuditDetails{
		NodeID: d.Node, PluginVersion: d.Version, OnBehalfOf: d.OnBehalfOf, Code: d.Code, Status: d.Status, Reason: d.Reason,
		Params: jsonText(d.Params), Changes: jsonText(d.Changes), OmittedChanges: d.Omitted,
	}
	return nil
}

// jsonText returns a JSON text, which may be encoded in a string; nil means none.
func jsonText(raw json.RawMessage) *string {
	var text *string
	if len(raw) > 0 && raw[0] != '{' && raw[0] != '[' {
		if json.Unmarshal(raw, &text) == nil {
			return text
		}
	}
	if len(raw) == 0 {
		return nil
	}
	return new(string(raw))
}

// Value implements driver.Valuer.
func (r *auditDetails) Value() (driver.Value, error) {
	d := &r.AuditDetails
	var space [1024]byte
	b := space[:0]
	text := func(name, value string) {
		if value != "" {
			b = appendJSONText(append(append(b, name...), ':'), value)
			b = append(b, ',')
		}
	}
	raw := func(name string, value *string) {
		if value != nil {
			b = append(append(append(append(b, name...), ':'), *value...), ',')
		}
	}
	b = append(b, '{')
	text(`"node"`, d.NodeID)
	text(`"version"`, d.PluginVersion)
	text(`"onBehalfOf"`, d.OnBehalfOf)
	text(`"reason"`, d.Reason)
	raw(`"params"`, d.Params)
	if raw(`"changes"`, d.Changes); r.changes != nil {
		b = append(append(append(b, `"changes":`...), r.changes...), ',')
	}
	if d.OmittedChanges != 0 {
		b = append(strconv.AppendInt(append(b, `"omitted":`...), d.OmittedChanges, 10), ',')
	}
	b = strconv.AppendInt(append(b, `"code":`...), int64(d.Code), 10)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(d.Status), 10)
	r.details = string(append(b, '}'))
	return r.details, nil
}

// Digest returns a hash of all columns as they are stored, each with its length. The record must
// have been stored or read.
func (r *AuditRecord) Digest() [sha256.Size]byte {
	var space [1024]byte
	b := space[:0]
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	optional := func(n *int64) {
		if n == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		number(*n)
	}
	b = append(b, 2) // The version of this format.
	number(r.ID)
	number(r.Date.UnixMilli())
	text(r.Outcome)
	optional(r.AdminID)
	text(r.LoginName)
	optional(r.TokenID)
	text(r.PluginID)
	text(string(addrBytes(r.IP)))
	text(r.RequestID)
	text(r.Operation)
	text(strings.Join(r.TargetIDs, ","))
	text(r.details)
	return sha256.Sum256(b)
}

// InsertAuditRecords stores new records.
func InsertAuditRecords(ctx context.Context, tx Tx, records ...AuditRecord) error {
	if err := auditRecords.insert(ctx, tx, records...); err != nil {
		return fmt.Errorf("insert audit records: %w", err)
	}
	return nil
}

var (
	auditHead = "INSERT INTO audit (" + strings.Join(auditRecords.columns, ", ") + ") VALUES "
	auditRow  = "(" + sqldb.Repeat("?", len(auditRecords.columns), ", ") + ")"
)

// An auditDraft converts a record to its columns. It is reused, because a record is written for
// each write of an administrator.
type auditDraft struct {
	record AuditRecord
	fields []any // of the record
}

var auditDrafts = sync.Pool{New: func() any {
	d := &auditDraft{}
	d.fields = auditRecords.fields(&d.record)
	return d
}}

// InsertLastAuditRecord inserts one record at the end of a transaction. Its changes are a JSON
// text, which is not retained. It returns the record's entry for a seal.
func InsertLastAuditRecord(tx Tx, record AuditRecord, changes []byte) (AuditEntry, error) {
	d := auditDrafts.Get().(*auditDraft)
	defer func() {
		d.record = AuditRecord{}
		auditDrafts.Put(d)
	}()
	d.record = record
	d.record.changes = changes
	args, err := valuesOf(nil, d.fields)
	if err == nil {
		err = sqldb.InsertLast(tx, auditHead, auditRow, args)
	}
	if err != nil {
		return AuditEntry{}, fmt.Errorf("insert an audit record: %w", err)
	}
	return AuditEntry{ID: record.ID, Date: record.Date, Digest: d.record.Digest()}, nil
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
	// LoginNames are those of administrators, including failed attempts.
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

// auditDelay bounds the difference between the date of a record, when the request arrived, and the
// time of its id.
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

// FindAuditIDs returns the ids of records after one id and up to another in ascending order, at
// most limit.
func FindAuditIDs(ctx context.Context, r Reader, after, through int64, limit int) ([]int64, error) {
	found, err := sqldb.List[int64](ctx, r, sqldb.New("SELECT t.id FROM audit AS t WHERE t.id > ? AND t.id <= ? ORDER BY t.id LIMIT ?", after, through, limit))
	if err != nil {
		return nil, fmt.Errorf("find ids of audit records: %w", err)
	}
	return found, nil
}
