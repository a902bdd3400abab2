// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const auditTag = "AuditController"

// NewTrail keeps the writes of an interface in an audit trail.
func NewTrail(t *audit.Trail) admin.Trail { return trail{t} }

type trail struct{ audit *audit.Trail }

// Begin implements admin.Trail.
func (t trail) Begin(ctx context.Context, rec *admin.Record) (context.Context, func(context.Context, apierr.Code, int, string)) {
	act := audit.Act{
		Date: rec.Time, LoginName: rec.LoginName, Remote: rec.Remote, RequestID: rec.RequestID, Operation: rec.Action, Params: rec.Params,
	}
	if p := rec.Admin; p != nil {
		act.LoginName, act.PluginID, act.PluginVersion, act.OnBehalfOf = p.LoginName, p.Plugin, p.PluginVersion, p.OnBehalfOf
		if p.Plugin == "" {
			act.AdminID = &p.ID
		}
		if p.Token != nil {
			act.TokenID = &p.Token.ID
		}
	}
	work, entry := t.audit.Begin(ctx, act)
	return work, func(ctx context.Context, code apierr.Code, status int, reason string) {
		entry.End(ctx, audit.Result{Code: int32(code), Status: int32(status), Reason: reason})
	}
}

type auditHandlers struct{ trail *audit.Trail }

func auditOperations(t *audit.Trail) []*admin.Operation {
	h := auditHandlers{t}
	r := resource.Resource{
		Path: "/audit", Tag: auditTag, Name: "AuditRecord", Query: permission.AuditQuery,
		Pages: "Returns a page of what `GET /audit` returns, and how many match.",
	}
	return concat(
		resource.List(r, admin.Operation{
			Summary: "Query the audit trail",
			Description: "Returns what administrators, tokens, plugins and the command line changed or were refused, the newest first. " +
				"A request that needs several transactions has a record for each.",
		}, auditFilter.filter, h.find, t.FindPage, newAuditRecord),
		resource.Handle(r, admin.Operation{
			ID: "queryAuditRecordsAsCsv", Method: http.MethodGet, Path: "/audit/csv", Permission: permission.AuditQuery,
			Summary: "Download the audit trail as CSV", Description: "Sends one line for each record, the newest first, as many as `size` says.",
			Media: &admin.Media{ContentType: "text/csv", Description: "The file `app-audit.csv`.", Example: strings.Join(auditColumns, ",") + "\n"},
		}, h.csv),
	)
}

// AuditRecord is a record of the audit trail as the interface returns it.
type AuditRecord struct {
	ID             int64         `json:"id" doc:"Id." example:"1234567890123456789"`
	Date           admin.Date    `json:"date" doc:"When the request was received."`
	Outcome        string        `json:"outcome" enum:"DONE,REFUSED,FAILED" doc:"Whether it was executed, the caller was refused, or the server failed." example:"DONE"`
	AdminID        *int64        `json:"adminId,omitempty" doc:"Id of the administrator; absent for plugins and callers without valid credentials." example:"0"`
	LoginName      string        `json:"loginName,omitempty" doc:"Login name of the administrator, or the one in a failed login." example:"app"`
	TokenID        *int64        `json:"tokenId,omitempty" doc:"Id of the token or session of the request." example:"1234567890123456789"`
	PluginID       string        `json:"pluginId,omitempty" doc:"Id of the plugin that acted." example:"example.org.word-filter"`
	PluginVersion  string        `json:"pluginVersion,omitempty" doc:"Version of the plugin." example:"1.0.0"`
	OnBehalfOf     string        `json:"onBehalfOf,omitempty" doc:"Origin of the request that the plugin was handling, if known." example:"user 12"`
	IP             string        `json:"ip,omitempty" doc:"Address of the caller." example:"192.0.2.1"`
	NodeID         string        `json:"nodeId" doc:"Node that served the request." example:"node1"`
	RequestID      string        `json:"requestId,omitempty" doc:"Id of the request, as in the header X-Request-Id." example:"JBSWY3DPEHPK3PXP"`
	Operation      string        `json:"operation" doc:"Id of the operation." example:"updateUsers"`
	TargetIDs      []string      `json:"targetIds" doc:"Ids that the request named or changed." example:"[\"12\"]"`
	Params         any           `json:"params,omitempty" doc:"Parameters of the request, with secrets masked; absent if the changes include them."`
	Changes        []AuditChange `json:"changes,omitempty" doc:"What changed in the database."`
	OmittedChanges int64         `json:"omittedChanges,omitempty" doc:"Number of changes that are omitted." example:"0"`
	Code           int32         `json:"code" doc:"Status code of the answer." example:"1000"`
	Status         int32         `json:"status" doc:"HTTP status of the answer." example:"200"`
	Reason         string        `json:"reason,omitempty" doc:"Why it was not executed." example:"the permission USER_UPDATE is needed"`
}

// AuditChange is what a request did to one record.
type AuditChange struct {
	Record string         `json:"record" doc:"Kind of the record." example:"user"`
	Action string         `json:"action" enum:"CREATE,UPDATE,DELETE" doc:"Kind of change." example:"UPDATE"`
	Key    map[string]any `json:"key,omitempty" doc:"What identifies the record."`
	Before map[string]any `json:"before,omitempty" doc:"Values before the change, with secrets masked."`
	After  map[string]any `json:"after,omitempty" doc:"Values after the change, with secrets masked."`
}

func newAuditRecord(r store.AuditRecord) AuditRecord {
	out := AuditRecord{
		ID: r.ID, Date: admin.NewDate(r.Date), Outcome: r.Outcome,
		AdminID: r.AdminID, LoginName: r.LoginName, TokenID: r.TokenID, PluginID: r.PluginID, PluginVersion: r.PluginVersion, OnBehalfOf: r.OnBehalfOf,
		NodeID: r.NodeID, RequestID: r.RequestID, Operation: r.Operation, TargetIDs: r.TargetIDs, OmittedChanges: r.OmittedChanges,
		Code: r.Code, Status: r.Status, Reason: r.Reason,
	}
	if r.IP.IsValid() {
		out.IP = r.IP.String()
	}
	if r.Params != nil {
		out.Params = decodeStored(*r.Params, new(any))
	}
	if r.Changes != nil {
		out.Changes = *decodeStored(*r.Changes, new([]AuditChange))
	}
	return out
}

// decodeStored decodes JSON of the trail. Invalid JSON, which app audit verify reports, becomes the
// zero value.
func decodeStored[T any](text string, dst *T) *T {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(dst); err != nil {
		return new(T)
	}
	return dst
}

type auditFilter struct {
	IDs        []int64     `query:"ids" uniqueItems:"true" doc:"Ids of records." example:"[1]"`
	DateStart  *admin.Date `query:"dateStart" doc:"Earliest date."`
	DateEnd    *admin.Date `query:"dateEnd" doc:"Date before which the records are."`
	Outcomes   []string    `query:"outcomes" uniqueItems:"true" enum:"DONE,REFUSED,FAILED" doc:"Outcomes."`
	AdminIDs   []int64     `query:"adminIds" uniqueItems:"true" doc:"Ids of administrators." example:"[0]"`
	LoginNames []string    `query:"loginNames" uniqueItems:"true" doc:"Login names, also those that were tried." example:"[\"app\"]"`
	TokenIDs   []int64     `query:"tokenIds" uniqueItems:"true" doc:"Ids of tokens and sessions." example:"[1]"`
	PluginIDs  []string    `query:"pluginIds" uniqueItems:"true" doc:"Ids of plugins." example:"[\"example.org.word-filter\"]"`
	RequestIDs []string    `query:"requestIds" uniqueItems:"true" doc:"Ids of requests." example:"[\"JBSWY3DPEHPK3PXP\"]"`
	Operations []string    `query:"operations" uniqueItems:"true" doc:"Ids of operations." example:"[\"updateUsers\"]"`
	TargetID   string      `query:"targetId" maxLength:"128" doc:"An id that the request named or changed." example:"12"`
}

func (f auditFilter) filter() (store.AuditFilter, error) {
	dates, err := dateRange("date", f.DateStart, f.DateEnd)
	return store.AuditFilter{
		IDs: f.IDs, Dates: dates, Outcomes: f.Outcomes, AdminIDs: f.AdminIDs, LoginNames: f.LoginNames, TokenIDs: f.TokenIDs,
		PluginIDs: f.PluginIDs, RequestIDs: f.RequestIDs, Operations: f.Operations, TargetID: f.TargetID,
	}, err
}

type auditQuery struct {
	auditFilter
	admin.Paging
}

func (h auditHandlers) find(ctx context.Context, f store.AuditFilter, limit, offset int) ([]store.AuditRecord, error) {
	return h.trail.Find(ctx, f, store.Page{Limit: limit, Offset: offset})
}

// auditColumns are the columns of the CSV form.
var auditColumns = []string{
	"id", "date", "outcome", "operation", "adminId", "loginName", "tokenId", "pluginId", "pluginVersion", "onBehalfOf",
	"ip", "nodeId", "requestId", "targetIds", "params", "changes", "omittedChanges", "code", "status", "reason",
}

func (h auditHandlers) csv(ctx context.Context, in *auditQuery) (*admin.Download, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	found, err := h.find(ctx, filter, in.Limit(), 0)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(auditColumns); err != nil {
		return nil, err
	}
	for _, r := range found {
		if err := w.Write(auditLine(r)); err != nil {
			return nil, err
		}
	}
	if w.Flush(); w.Error() != nil {
		return nil, w.Error()
	}
	return &admin.Download{Name: "app-audit.csv", ContentType: "text/csv; charset=UTF-8", Size: int64(b.Len()), Content: io.NopCloser(&b)}, nil
}

// auditLine is a record in the order of auditColumns.
func auditLine(r store.AuditRecord) []string {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	ip := ""
	if r.IP.IsValid() {
		ip = r.IP.String()
	}
	line := []string{
		strconv.FormatInt(r.ID, 10), r.Date.UTC().Format("2006-01-02T15:04:05.000Z"), r.Outcome, r.Operation,
		number(r.AdminID), r.LoginName, number(r.TokenID), r.PluginID, r.PluginVersion, r.OnBehalfOf,
		ip, r.NodeID, r.RequestID, strings.Join(r.TargetIDs, " "), text(r.Params), text(r.Changes), strconv.FormatInt(r.OmittedChanges, 10),
		strconv.Itoa(int(r.Code)), strconv.Itoa(int(r.Status)), r.Reason,
	}
	for i, cell := range line {
		// A spreadsheet would run a cell that begins like a formula, and callers choose names and
		// parameters.
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			if _, err := strconv.ParseInt(cell, 10, 64); err != nil {
				line[i] = "'" + cell
			}
		}
	}
	return line
}
