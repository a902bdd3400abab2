// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin/trace"
)

func traceOperations(h pluginHandlers) []*admin.Operation {
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryPluginTraces", Method: http.MethodGet, Path: "/plugins/traces", Tag: pluginTag, Permission: permission.PluginTraceQuery,
			Summary: "Show what plugins did to single requests",
			Description: "Lists the calls of extension points, endpoints and schedules of plugins that all nodes of the cluster have recorded, the newest first: the extensions that were called, how long each took and how it ended, and which fields it changed. " +
				"What is recorded is said by `app.plugin.traces`: a share of all requests, those of named users, or requests with named ids; by default nothing is. " +
				"Numbers, dates and the like are shown; of texts and bytes the length is, unless `app.plugin.traces.include-text` is set; passwords and tokens never are. Records are kept in memory and end with the process. " +
				"A node that does not answer within 2 seconds is named in `missingNodes`. One can page through the newest 10,000 records; use the filters beyond that.",
		}, h.queryTraces),
	}
}

type traceRecord struct {
	ID        int64             `json:"id" doc:"Number of the record in the process." example:"1"`
	NodeID    string            `json:"nodeId" doc:"Id of the node that recorded it." example:"service-1"`
	ProcessID string            `json:"processId,omitempty" doc:"Id of the process that recorded it, as that of members (/cluster/members)." example:"VQ3XJ5"`
	Date      admin.Date        `json:"date" doc:"When the call began."`
	Duration  int64             `json:"durationMicros" doc:"How long the call took, in microseconds." example:"840"`
	RequestID string            `json:"requestId,omitempty" doc:"Id of the request: of a client the number that it chose, of an administrator the X-Request-Id of the answer. It is missing if the call was made for no request." example:"7264"`
	Request   string            `json:"request,omitempty" doc:"Kind of the request of a client, or the operation of an administrator." example:"CREATE_MESSAGE"`
	UserID    *int64            `json:"userId,omitempty" doc:"User who made the request." example:"1"`
	AdminID   *int64            `json:"adminId,omitempty" doc:"Administrator who made the request." example:"1"`
	Point     string            `json:"extensionPoint" doc:"Extension point that was called." example:"ClientRequestHandler"`
	Function  string            `json:"function" doc:"Function of the extension point; of an endpoint (Endpoint) the handler, of a schedule (Schedule) its name." example:"transform"`
	Outcome   string            `json:"outcome" enum:"UNCHANGED,CHANGED,ANSWERED,REFUSED,ERROR,TIMEOUT" doc:"How the call ended: the last of these that an extension ended with."`
	Steps     []traceStepRecord `json:"steps" doc:"Extensions that were called, in this order. Of an extension point that calls all extensions at the same time, each call is a record of its own."`
}

type traceStepRecord struct {
	PluginID    string              `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Version     string              `json:"version,omitempty" doc:"Version that the plugin states." example:"1.0.0"`
	Extension   string              `json:"extensionClass" doc:"Name of the class of the extension." example:"WordFilter"`
	Duration    int64               `json:"durationMicros" doc:"How long it took, in microseconds." example:"820"`
	Outcome     string              `json:"outcome" enum:"UNCHANGED,CHANGED,ANSWERED,REFUSED,ERROR,TIMEOUT" doc:"How it ended: UNCHANGED left everything as it was, CHANGED replaced the request or the result, ANSWERED answered instead of those after it, REFUSED ended the request with a status code, ERROR and TIMEOUT failed."`
	Code        *int32              `json:"code,omitempty" doc:"Status code of a refusal." example:"1001"`
	Reason      string              `json:"reason,omitempty" doc:"Why it refused or failed."`
	Changes     []traceChangeRecord `json:"changes,omitempty" doc:"Fields that it changed."`
	MoreChanges int                 `json:"moreChanges,omitempty" doc:"How many fields it changed beyond those that are listed."`
}

type traceChangeRecord struct {
	Path   string  `json:"path" doc:"Field, by the names that plugins use; empty for an answer without fields. [] is an element of a list of values, [0] the element at that place, [id=1] the one with that id." example:"request.createMessageRequest.text"`
	Before *string `json:"before,omitempty" doc:"Value before; missing if there was none." example:"text of 12 characters"`
	After  *string `json:"after,omitempty" doc:"Value after; missing if there is none." example:"text of 10 characters"`
}

type tracePage struct {
	Total   int64         `json:"total" doc:"How many records match the filters on the nodes that answered." example:"1"`
	Records []traceRecord `json:"records" doc:"The records of this page."`
	Missing []missingNode `json:"missingNodes,omitempty" doc:"Nodes that did not answer, or not completely; missing if all did."`
}

type missingNode struct {
	NodeID string `json:"nodeId" doc:"Id of the node." example:"service-2"`
	Reason string `json:"reason" doc:"Why its records are missing."`
}

func newMissingNode(m trace.MissingNode) missingNode { return missingNode{m.NodeID, m.Err.Error()} }

func newTraceRecord(t trace.Located) traceRecord {
	return traceRecord{
		ID: t.ID, NodeID: t.NodeID, ProcessID: t.ProcessID, Date: admin.NewDate(t.Start), Duration: t.Duration.Microseconds(), RequestID: t.RequestID, Request: t.Request,
		UserID: t.UserID, AdminID: t.AdminID, Point: t.Point, Function: t.Method, Outcome: string(t.Outcome), Steps: resource.Convert(t.Steps, newTraceStepRecord),
	}
}

func newTraceStepRecord(s trace.Step) traceStepRecord {
	r := traceStepRecord{
		PluginID: s.Plugin, Version: s.Version, Extension: s.Extension, Duration: s.Duration.Microseconds(), Outcome: string(s.Outcome),
		Reason: s.Reason, MoreChanges: s.More,
		Changes: resource.Convert(s.Changes, func(c trace.Change) traceChangeRecord { return traceChangeRecord(c) }),
	}
	if s.Code != 0 {
		r.Code = &s.Code
	}
	return r
}

type traceQuery struct {
	RequestIDs []string `query:"requestIds" uniqueItems:"true" doc:"Ids of requests; empty means all." example:"7264"`
	UserIDs    []int64  `query:"userIds" uniqueItems:"true" doc:"Ids of users; empty means all." example:"[1,2]"`
	PluginIDs  []string `query:"pluginIds" uniqueItems:"true" doc:"Ids of plugins, one of which was called; empty means all." example:"word-filter"`
	Points     []string `query:"extensionPoints" uniqueItems:"true" doc:"Names of extension points; empty means all." example:"ClientRequestHandler"`
	Outcomes   []string `query:"outcomes" uniqueItems:"true" enum:"UNCHANGED,CHANGED,ANSWERED,REFUSED,ERROR,TIMEOUT" doc:"How an extension ended, that of pluginIds if they are given; empty means all." example:"REFUSED"`
	admin.PageRequest
}

func (h pluginHandlers) queryTraces(ctx context.Context, in *traceQuery) (admin.Optional[tracePage], error) {
	if in.Offset()+in.Limit() > trace.MaxGathered {
		return admin.Optional[tracePage]{}, apierr.New(apierr.IllegalArgument,
			"parameter \"page\": one can page through the newest %d records; use the filters beyond that", trace.MaxGathered)
	}
	g := h.Traces(ctx, trace.Filter{
		RequestIDs: in.RequestIDs, UserIDs: in.UserIDs, Plugins: in.PluginIDs, Points: in.Points,
		Outcomes: resource.Convert(in.Outcomes, func(s string) trace.Outcome { return trace.Outcome(s) }),
	}, in.Offset(), in.Limit())
	if g.Total == 0 && len(g.Missing) == 0 {
		return admin.Optional[tracePage]{}, nil
	}
	return admin.Optional[tracePage]{Value: &tracePage{Total: g.Total, Records: resource.Convert(g.Page, newTraceRecord), Missing: resource.Convert(g.Missing, newMissingNode)}}, nil
}
