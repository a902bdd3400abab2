// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin/trace"
)

func sampleOperation(h pluginHandlers) *admin.Operation {
	return admin.Handle(admin.Operation{
		ID: "queryPluginRolloutSamples", Method: http.MethodGet, Path: "/plugins/rollouts/samples", Tag: pluginTag, Permission: permission.PluginTraceQuery,
		Summary: "Show calls that a shadow ended otherwise or failed at",
		Description: "Lists calls of a rollout with SHADOW that the candidate did not end as the active version did, or that it failed at, the newest first: the arguments, what both versions did, and the fields in which their answers differ. " +
			"Each node keeps the newest 20 differences and the newest 20 failures in memory, until it is restarted or the plugin gets another rollout with SHADOW. " +
			"Values are masked as those of traces are: of texts and bytes the length is shown, unless `app.plugin.traces.include-text` is set; passwords and tokens never are.",
		Errors: []apierr.Code{apierr.ResourceNotFound},
	}, h.querySamples)
}

type sampleQuery struct {
	ID int64 `query:"id" required:"true" doc:"Id of the rollout." example:"1"`
}

type sampleRecord struct {
	NodeID        string             `json:"nodeId" doc:"Id of the node that made the call; the first one of a process with two." example:"service-1"`
	Date          admin.Date         `json:"date" doc:"When the call began."`
	RequestID     string             `json:"requestId,omitempty" doc:"Id of the request: of a client the number that it chose, of an administrator the X-Request-Id of the answer; missing if it is not known." example:"7264"`
	Request       string             `json:"request,omitempty" doc:"Kind of the request of a client, or the operation of an administrator." example:"CREATE_MESSAGE"`
	UserID        *int64             `json:"userId,omitempty" doc:"User who made the request." example:"1"`
	AdminID       *int64             `json:"adminId,omitempty" doc:"Administrator who made the request." example:"1"`
	Point         string             `json:"extensionPoint" doc:"Extension point that was called." example:"ClientRequestHandler"`
	Function      string             `json:"function" doc:"Function of the extension point." example:"transform"`
	Arguments     []argumentRecord   `json:"arguments,omitempty" doc:"Fields of the arguments."`
	MoreArguments int                `json:"moreArguments,omitempty" doc:"How many fields there are beyond those that are listed."`
	Active        *sampleStepRecord  `json:"active,omitempty" doc:"What the active version did; missing if the call has no answer to compare."`
	Candidate     sampleStepRecord   `json:"candidate" doc:"What the candidate did."`
	Differences   []sampleDifference `json:"differences,omitempty" doc:"Fields in which the answers differ."`
	More          int                `json:"moreDifferences,omitempty" doc:"How many fields differ beyond those that are listed."`
}

type argumentRecord struct {
	Path  string `json:"path" doc:"Path of the field as plugins name it, beginning with the name of the parameter." example:"clientRequest.request.createMessageRequest.text"`
	Value string `json:"value" doc:"Its value." example:"text of 12 characters"`
}

// sampleStepRecord is what a version did.
type sampleStepRecord struct {
	Version     string              `json:"version,omitempty" doc:"Version that the plugin states." example:"1.0.0"`
	Duration    int64               `json:"durationMicros" doc:"How long it took, in microseconds." example:"820"`
	Outcome     string              `json:"outcome" enum:"UNCHANGED,CHANGED,ANSWERED,REFUSED,ERROR,TIMEOUT" doc:"How it ended, as in queryPluginTraces."`
	Code        *int32              `json:"code,omitempty" doc:"Status code of a refusal." example:"1001"`
	Reason      string              `json:"reason,omitempty" doc:"Why it refused or failed."`
	Changes     []traceChangeRecord `json:"changes,omitempty" doc:"Fields that it changed, or those of its answer."`
	MoreChanges int                 `json:"moreChanges,omitempty" doc:"How many fields there are beyond those that are listed."`
}

// sampleDifference is a field in which two answers differ.
type sampleDifference struct {
	Path      string  `json:"path" doc:"Field, by the names that plugins use; empty for an answer without fields." example:"request.createMessageRequest.text"`
	Active    *string `json:"active,omitempty" doc:"Value of the active version; missing if it has none." example:"text of 12 characters"`
	Candidate *string `json:"candidate,omitempty" doc:"Value of the candidate; missing if it has none." example:"text of 10 characters"`
}

func newSampleStepRecord(s trace.Step) sampleStepRecord {
	step := newTraceStepRecord(s)
	return sampleStepRecord{
		Version: step.Version, Duration: step.Duration, Outcome: step.Outcome, Code: step.Code, Reason: step.Reason, Changes: step.Changes, MoreChanges: step.MoreChanges,
	}
}

func newSampleRecord(nodeID string, s *trace.Sample) sampleRecord {
	r := sampleRecord{
		NodeID: nodeID, Date: admin.NewDate(s.Start), RequestID: s.RequestID, Request: s.Request, UserID: s.UserID, AdminID: s.AdminID, Point: s.Point, Function: s.Method,
		Arguments: resource.Convert(s.Arguments, func(c trace.Change) argumentRecord { return argumentRecord{c.Path, *c.After} }), MoreArguments: s.MoreArguments,
		Candidate:   newSampleStepRecord(s.Candidate),
		Differences: resource.Convert(s.Differences, func(c trace.Change) sampleDifference { return sampleDifference{c.Path, c.Before, c.After} }), More: s.MoreDifferences,
	}
	if s.Active.Outcome != "" {
		active := newSampleStepRecord(s.Active)
		r.Active = &active
	}
	return r
}

type samplePage struct {
	Records []sampleRecord `json:"records" doc:"The calls."`
	Missing []missingNode  `json:"missingNodes,omitempty" doc:"Nodes that did not answer; missing if all did."`
}

func (h pluginHandlers) querySamples(ctx context.Context, in *sampleQuery) (samplePage, error) {
	r, isLast, err := h.Catalog.Rollouts.Shadow(ctx, in.ID)
	if err != nil {
		return samplePage{}, err
	}
	page := samplePage{Records: []sampleRecord{}}
	if !isLast {
		return page, nil
	}
	type located struct {
		nodeID string
		*trace.Sample
	}
	var samples []located
	for _, n := range h.Samples(ctx, r.PluginID) {
		if n.Err != nil {
			page.Missing = append(page.Missing, missingNode{n.NodeID, n.Err.Error()})
		}
		if n.Number != r.Number {
			continue // The node has not begun with it.
		}
		for _, s := range n.Samples {
			samples = append(samples, located{n.NodeID, s})
		}
	}
	slices.SortStableFunc(samples, func(a, b located) int { return b.Start.Compare(a.Start) })
	for _, s := range samples {
		page.Records = append(page.Records, newSampleRecord(s.nodeID, s.Sample))
	}
	return page, nil
}
