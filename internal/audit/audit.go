// SPDX-License-Identifier: Apache-2.0

// Package audit keeps the audit trail: a row for every write of an administrator, a token, a plugin
// or the command line, done or refused. The row of a change of the store is written in its
// transaction. Rows are sealed into a hash chain, which reveals removed or changed rows. The
// callers define what a write is and who may read the trail.
package audit

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/store"
)

// The outcomes of a write.
const (
	// Done means that the write took effect, or that there was nothing to do.
	Done = "DONE"
	// Refused means a status of 4xx.
	Refused = "REFUSED"
	// Failed means that the server failed.
	Failed = "FAILED"
)

// Outcomes are the outcomes of a write.
var Outcomes = []string{Done, Refused, Failed}

// Options configure a Trail.
type Options struct {
	Store *store.DB
	// NextID returns a new id of package ids.
	NextID func() int64
	NodeID string
	Logger *slog.Logger
	// MaxChangeBytes bounds the parameters and the changes of a row.
	MaxChangeBytes int
	// MaxRefusedPerMinute bounds the rows of refused writes; further ones are counted.
	MaxRefusedPerMinute int
	// Retention is how long rows are kept; 0 means for ever.
	Retention time.Duration
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// A Trail writes the rows of one process.
type Trail struct {
	opts    Options
	refused *refusals
	pending pending
}

// New returns a trail. Run must be called next.
func New(opts Options) *Trail {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Trail{opts: opts}
	t.refused = newRefusals(t)
	return t
}

// An Act is the beginning of a write.
type Act struct {
	Date time.Time
	// AdminID is nil without authentication; LoginName is then the attempted name.
	AdminID   *int64
	LoginName string
	TokenID   *int64
	// PluginID and PluginVersion identify the acting plugin; OnBehalfOf is for whom it acts.
	PluginID, PluginVersion, OnBehalfOf string
	Remote                              netip.Addr
	RequestID                           string
	Operation                           string
	// Params are the parameters of the operation, with secrets masked.
	Params map[string]any
}

// An Entry is a running write.
type Entry struct {
	trail *Trail
	act   Act
	rows  atomic.Int32 // committed

	mu    sync.Mutex
	notes []store.Change
}

type entryKey struct{}

// Note adds changes outside the database to the row of the running write. Without a trail it does
// nothing.
func Note(ctx context.Context, changes ...store.Change) {
	e, ok := ctx.Value(entryKey{}).(*Entry)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, changes...)
}

// Begin returns a context whose transactions write rows for the act. End must be called next.
func (t *Trail) Begin(ctx context.Context, act Act) (context.Context, *Entry) {
	e := &Entry{trail: t, act: act}
	ctx = context.WithValue(ctx, entryKey{}, e)
	return store.WithJournal(ctx, e.write), e
}

// texts pools the buffers for encoding rows; maxText is the maximum size of a pooled one.
var texts = sync.Pool{New: func() any { return new(make([]byte, 0, 1<<10)) }}

// write stores the row of a transaction.
func (e *Entry) write(_ context.Context, tx store.Tx, changes []store.Change, omitted int64) (committed func(), err error) {
	r := e.record(Done)
	r.Code, r.Status = codeOK, statusOK
	r.TargetIDs = boundTargets(append(queryTargets(e.act.Params), changeTargets(changes)...))
	space := texts.Get().(*[]byte)
	defer func() {
		if cap(*space) <= maxText {
			texts.Put(space)
		}
	}()
	text, dropped, err := appendChanges((*space)[:0], changes, e.trail.opts.MaxChangeBytes)
	if err != nil {
		return nil, err
	}
	*space = text
	r.OmittedChanges = omitted + int64(dropped)
	entry, err := store.InsertLastAuditRecord(tx, r, text)
	if err != nil {
		return nil, err
	}
	return func() {
		e.rows.Add(1)
		e.trail.pending.add(entry)
	}, nil
}

const (
	codeOK   = 1000
	statusOK = 200
)

// A Result is the result of a write.
type Result struct {
	Code, Status int32
	// Reason is the error for the caller; "" if it was done.
	Reason string
}

// End records the result of the write. If it was done and no transaction has written a row, End
// stores the row before it returns; the row of a failed or refused write is stored soon after.
func (e *Entry) End(ctx context.Context, result Result) {
	t := e.trail
	outcome := Done
	switch {
	case result.Status >= 500:
		outcome = Failed
	case result.Status >= 400:
		outcome = Refused
	case e.rows.Load() > 0 && len(e.taken()) == 0:
		return
	}
	r := e.record(outcome)
	r.Code, r.Status, r.Reason = result.Code, result.Status, cut(result.Reason, maxReason)
	targets := queryTargets(e.act.Params)
	if body, ok := e.act.Params[bodyParam].(map[string]any); ok {
		targets = append(targets, idsOf(body)...)
	}
	notes := e.taken()
	r.TargetIDs = boundTargets(append(targets, changeTargets(notes)...))
	r.Params = boundParams(e.act.Params, t.opts.MaxChangeBytes)
	if len(notes) > 0 {
		text, dropped, err := appendChanges(nil, notes, t.opts.MaxChangeBytes)
		if err != nil {
			t.opts.Logger.Error("a change is missing in the audit trail", "operation", r.Operation, "requestId", r.RequestID, "error", err)
			text, dropped = []byte("[]"), len(notes)
		}
		r.Changes, r.OmittedChanges = new(string(text)), int64(dropped)
	}
	if outcome != Done {
		t.refused.add(r)
		return
	}
	if err := t.insert(context.WithoutCancel(ctx), r); err != nil {
		t.opts.Logger.Error("a change is missing in the audit trail", "operation", r.Operation, "requestId", r.RequestID, "error", err)
	}
}

// taken returns the noted changes.
func (e *Entry) taken() []store.Change {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.notes
}

// record returns a row of the act.
func (e *Entry) record(outcome string) store.AuditRecord {
	a := &e.act
	return store.AuditRecord{
		ID: e.trail.opts.NextID(), Date: a.Date, Outcome: outcome, AdminID: a.AdminID, LoginName: cut(a.LoginName, maxName), TokenID: a.TokenID,
		PluginID: a.PluginID, IP: a.Remote, RequestID: a.RequestID, Operation: a.Operation,
		AuditDetails: store.AuditDetails{NodeID: e.trail.opts.NodeID, PluginVersion: a.PluginVersion, OnBehalfOf: a.OnBehalfOf},
	}
}

// insertTimeout is how long the response to a caller waits for a row.
const insertTimeout = 10 * time.Second

func (t *Trail) insert(ctx context.Context, records ...store.AuditRecord) error {
	ctx, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	err := t.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return store.InsertAuditRecords(ctx, tx, records...) })
	for i := range records {
		if err == nil {
			t.pending.add(entryOf(&records[i]))
		}
	}
	return err
}

// Run stores the rows of refused writes and seals rows until ctx ends, and then the rest.
func (t *Trail) Run(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { t.refused.run(ctx) })
	group.Go(func() { t.runSeals(ctx) })
	group.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), insertTimeout)
	defer cancel()
	if _, err := t.Seal(last); err != nil {
		t.opts.Logger.Warn("rows of the audit trail are not sealed; another node or the next start does that", "error", err)
	}
	return nil
}

// Find returns records, the newest first.
func (t *Trail) Find(ctx context.Context, filter store.AuditFilter, page store.Page) (found []store.AuditRecord, err error) {
	err = t.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = store.FindAuditRecords(ctx, r, filter, page)
		return err
	})
	return found, err
}

// FindPage returns a page of records and how many match.
func (t *Trail) FindPage(ctx context.Context, filter store.AuditFilter, page store.Page) (total int64, found []store.AuditRecord, err error) {
	err = t.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountAuditRecords(ctx, store.ForTotal(r, page), filter); err != nil {
			return err
		}
		found, err = store.FindAuditRecords(ctx, r, filter, page)
		return err
	})
	return total, found, err
}

const (
	// bodyParam is the parameter that holds the body.
	bodyParam = "body"
	// maxTargets bounds the ids of a row, maxTarget the length of each.
	maxTargets = 100
	maxTarget  = 128
	maxReason  = 1 << 10
	maxName    = 256
	maxText    = 64 << 10
)

// queryTargets returns the ids among query parameters.
func queryTargets(params map[string]any) (ids []string) {
	var space [8]string
	names := space[:0]
	for name := range params {
		if name != bodyParam && name != "files" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		ids = appendIDs(ids, name, params[name])
	}
	return ids
}

// idsOf returns the values of members whose names denote ids, by name.
func idsOf(values map[string]any) (ids []string) {
	for _, name := range sortedKeys(values) {
		if ids = appendIDs(ids, name, values[name]); len(ids) > maxTargets {
			break
		}
	}
	return ids
}

// appendIDs appends the ids of one member.
func appendIDs(ids []string, name string, value any) []string {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if object, ok := element.(map[string]any); ok {
				ids = append(ids, idsOf(object)...)
			} else if isID(name) {
				ids = appendID(ids, element)
			}
		}
	case map[string]any:
		ids = append(ids, idsOf(value)...)
	default:
		if isID(name) {
			ids = appendID(ids, value)
		}
	}
	return ids
}

func isID(name string) bool {
	n := len(name)
	return n >= 2 && strings.EqualFold(name[n-2:], "id") || n >= 3 && strings.EqualFold(name[n-3:], "ids")
}

func appendID(ids []string, value any) []string {
	id := ""
	switch v := value.(type) {
	case int64:
		id = strconv.FormatInt(v, 10)
	case string:
		id = v
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return ids
		}
		id = strings.Trim(string(text), `"`)
	}
	if id == "" || id == "null" || len(id) > maxTarget || strings.Contains(id, ",") {
		return ids
	}
	return append(ids, id)
}

// changeTargets returns the keys of changed records.
func changeTargets(changes []store.Change) (ids []string) {
	for _, c := range changes {
		for _, key := range c.Key {
			ids = appendID(ids, key.Value)
		}
	}
	return ids
}

// boundTargets removes duplicates and the excess.
func boundTargets(ids []string) []string {
	kept := ids[:0]
	for _, id := range ids {
		if len(kept) < maxTargets && !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
