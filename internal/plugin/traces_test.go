// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strconv"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/wire"
)

// traceAll lets a manager record every call.
func (w *world) traceAll(share float64) *trace.Recorder {
	s := config.Default().Plugin.Traces
	s.SampleRate = share
	w.Calls.tracer.traces = trace.NewRecorder(s)
	return w.Calls.tracer.traces
}

// TestTracesOfObservers records calls that nobody waits for, each by itself, and what consumers of
// events do.
func TestTracesOfObservers(t *testing.T) {
	w := newWorld(t)
	recorder := w.traceAll(1)
	observes := func(err error) functions {
		return functions{class: "A", points: []*Point{AdminActionHandler}, calls: map[*Method]func(context.Context, []any) (any, error){
			HandleAdminAction: func(context.Context, []any) (any, error) { return nil, err },
		}}
	}
	w.add("good", observes(nil))
	w.add("bad", observes(&Exception{Message: "x"}))
	admin := int64(3)
	w.Calls.Tell(ForAdminRequest(t.Context(), &admin, "XYZ", "queryUsers"), HandleAdminAction, &AdminAction{})
	w.Calls.Tell(ForAdminRequest(t.Context(), nil, "UVW", ""), HandleAdminAction, &AdminAction{})
	w.tellers.Wait()
	for _, test := range []struct {
		filter trace.Filter
		want   int64
	}{
		{trace.Filter{RequestIDs: []string{"XYZ"}}, 2},
		{trace.Filter{RequestIDs: []string{"UVW"}, Plugins: []string{"bad"}, Outcomes: []trace.Outcome{trace.Failed}}, 1},
		{trace.Filter{RequestIDs: []string{"UVW"}, Plugins: []string{"good"}, Outcomes: []trace.Outcome{trace.Unchanged}}, 1},
	} {
		total, page := recorder.Find(test.filter, 0, 10)
		if total != test.want {
			t.Errorf("%+v finds %d", test.filter, total)
			continue
		}
		if known := page[0].AdminID != nil && *page[0].AdminID == 3 && page[0].Request == "queryUsers"; known != (page[0].RequestID == "XYZ") {
			t.Errorf("the trace is %+v", page[0])
		}
	}
}

// TestTracesOfOnlyOnes records extensions that have no result, and masks what storages answer.
func TestTracesOfOnlyOnes(t *testing.T) {
	w := newWorld(t)
	recorder := w.traceAll(1)
	w.add("meets", functions{class: "A", points: []*Point{ConferenceServiceProvider, StorageServiceProvider}, calls: map[*Method]func(context.Context, []any) (any, error){
		CancelMeeting: func(context.Context, []any) (any, error) { return nil, apierr.New(apierr.IllegalArgument, "not now") },
		QueryUserProfilePictureUploadInfo: func(context.Context, []any) (any, error) {
			return map[string]string{"url": "https://x"}, nil
		},
	}})
	if _, err := w.Calls.Run(ForUser(ForRequest(t.Context(), 1, 2, wire.KindDeleteGroup), 1), CancelMeeting, int64(1), int64(2)); err == nil {
		t.Error("the plugin refused nothing")
	}
	if _, page := recorder.Find(trace.Filter{}, 0, 1); len(page) != 1 || page[0].RequestID != "2" || page[0].Steps[0].Reason != "not now" || page[0].Steps[0].Code != int32(apierr.IllegalArgument) {
		t.Errorf("the trace is %+v", page)
	}
	if _, _, err := Ask[map[string]string](ForUser(ForRequest(t.Context(), 1, 2, wire.KindDeleteGroup), 9), w.Calls, QueryUserProfilePictureUploadInfo, int64(1), nil, nil, nil); err != nil {
		t.Error(err)
	}
	if _, page := recorder.Find(trace.Filter{}, 0, 1); *page[0].UserID != 9 || page[0].RequestID != "" || *page[0].Steps[0].Changes[0].After != "***" {
		t.Errorf("the trace is %+v", page[0])
	}
}

// TestTracesThatAreOff proves that calls which are not recorded cost no memory.
func TestTracesThatAreOff(t *testing.T) {
	w := newWorld(t)
	w.traceAll(0)
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		tr := w.Calls.tracer.method(ctx, TransformRequest)
		_ = tr.begin(ctx, nil)
		tr.called(nil, nil)
		tr.end()
		if w.Calls.Recording() {
			t.Error("it is recorded")
		}
	}); n != 0 {
		t.Errorf("a call that is not recorded allocates %v times for its trace", n)
	}
	p := w.add("same", transforms(func(context.Context, *ClientRequest) (any, error) { return nil, nil }))
	p.members[0].record.observe = nil // The test notes what it observes, which allocates more or less.
	request := &ClientRequest{}
	allocations := func() float64 {
		return testing.AllocsPerRun(1000, func() {
			if _, err := Pass(ctx, w.Calls, TransformRequest, request); err != nil {
				t.Error(err)
			}
		})
	}
	off := allocations()
	w.Calls.tracer.traces = nil
	if without := allocations(); off != without {
		t.Errorf("a call allocates %v times, without a recorder %v times", off, without)
	}
}

// BenchmarkTrace is what recording costs a call: nothing is recorded, one of a hundred requests is,
// all are.
func BenchmarkTrace(b *testing.B) {
	m := NewManager(Options{Settings: func() config.Plugin { return config.Plugin{} }})
	for _, share := range []float64{0, 0.01, 1} {
		b.Run(strconv.FormatFloat(share, 'g', -1, 64), func(b *testing.B) {
			s := config.Default().Plugin.Traces
			s.SampleRate = share
			m.Calls.tracer.traces = trace.NewRecorder(s)
			extension := &member{Extension: &goExtension{functions{class: "A"}}, plugin: &Plugin{Descriptor: Descriptor{ID: "p", Version: "1"}}}
			text, changed := "well, darn", "well, ****"
			request := func(text *string) *ClientRequest {
				return &ClientRequest{UserID: 1, RequestID: 2, Request: &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: text}}}}
			}
			before, after := request(&text), request(&changed)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				t := m.Calls.tracer.method(ctx, TransformRequest)
				_ = t.begin(ctx, extension)
				if t != nil {
					t.passed(extension, true, nil, before, after)
				}
				t.end()
			}
		})
	}
}
