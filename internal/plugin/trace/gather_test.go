// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// source returns a source for a recorder. It counts the requests for traces.
func source(r *Recorder, id string, asked *int) Source {
	return Source{
		ProcessID: "process of " + id, Nodes: []Node{{id + "-gateway", role.Gateway}, {id + "-service", role.Service}},
		List: func(_ context.Context, f Filter, limit int) (Listing, error) { return r.List(f, limit), nil },
		Get: func(_ context.Context, ids []int64) (Batch, error) {
			*asked++
			return r.Get(ids), nil
		},
	}
}

// TestGather pages through the traces of two processes as one list.
func TestGather(t *testing.T) {
	all := settings(func(s *config.PluginTraces) { s.SampleRate = 1 })
	a, b := NewRecorder(all), NewRecorder(all)
	var want []string
	for i := range 20 {
		s := subject(int64(i), fmt.Sprint(i))
		from, id, r := "a-gateway", "a", a
		if i%3 == 0 {
			from, id, r, s.Role = "b-service", "b", b, role.Service
		}
		record(r, s, Attempt{})
		want = append(want, fmt.Sprint(i, from, " process of ", id))
	}
	slices.Reverse(want)
	var asked int
	sources := []Source{source(a, "a", new(int)), source(b, "b", &asked)}
	var got []string
	for offset := 0; offset < 24; offset += 4 {
		g := Gather(t.Context(), sources, Filter{}, offset, 4)
		if g.Total != 20 || g.Missing != nil {
			t.Errorf("the page from %d is %+v", offset, g)
		}
		for _, l := range g.Page {
			got = append(got, fmt.Sprint(l.RequestID, l.NodeID, " ", l.ProcessID))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages are %q, not %q", got, want)
	}
	if g := Gather(t.Context(), sources, Filter{UserIDs: []int64{3, 4}}, 0, 10); g.Total != 2 || len(g.Page) != 2 || g.Page[1].NodeID != "b-service" {
		t.Errorf("two users have %+v", g)
	}

	// The response of a source that fails later does not hide the others.
	sources[1].Get = func(context.Context, []int64) (Batch, error) { return Batch{}, errors.New("cut off") }
	failed := source(nil, "c", new(int))
	failed.List = func(context.Context, Filter, int) (Listing, error) { return Listing{}, errors.New("no answer") }
	g := Gather(t.Context(), append(sources, failed), Filter{}, 0, 5)
	if got := fmt.Sprint(g.Missing); g.Total != 20 || len(g.Page) != 3 ||
		got != "[{b-gateway cut off} {b-service cut off} {c-gateway no answer} {c-service no answer}]" {
		t.Errorf("with sources that fail it is %+v", g)
	}

	// Traces that were dropped between the two calls are omitted.
	sources[1] = source(b, "b", new(int))
	sources[1].Get = func(_ context.Context, ids []int64) (Batch, error) {
		b.Configure(settings(func(s *config.PluginTraces) { s.MaxBytes = 0 }))
		return b.Get(ids), nil
	}
	if g := Gather(t.Context(), sources, Filter{}, 0, 5); len(g.Page) != 3 || g.Missing != nil {
		t.Errorf("with traces that were forgotten it is %+v", g)
	}
}

// TestGatherLargeTraces uses traces of the maximum size: a batch must stay below the limit of calls
// between nodes.
func TestGatherLargeTraces(t *testing.T) {
	const traces = 5
	r := NewRecorder(settings(func(s *config.PluginTraces) { s.SampleRate, s.IncludeText = 1, true }))
	large := map[string]any{}
	for i := range maxChanges {
		large[fmt.Sprintf("%0*d", maxName, i)] = strings.Repeat("\x01", maxShown)
	}
	for range traces {
		c := r.Begin(subject(1, "1"))
		for range maxSteps {
			c.Add(Attempt{Outcome: Answered, After: large, Reason: strings.Repeat("\x01", maxReason)})
		}
		tr := c.End()
		kept := 0
		for _, s := range tr.Steps {
			if kept += len(s.Changes); len(s.Changes)+s.More != maxChanges {
				t.Errorf("a step has %d changes and %d more", len(s.Changes), s.More)
			}
		}
		if tr.bytes > maxBatch || kept == 0 {
			t.Errorf("a trace has %d bytes and %d changes", tr.bytes, kept)
		}
	}
	asked := 0
	s := source(r, "a", &asked)
	get := s.Get
	s.Get = func(ctx context.Context, ids []int64) (Batch, error) {
		b, err := get(ctx, ids)
		text, _ := json.Marshal(b)
		if len(text) > 1<<20-1<<10 {
			t.Errorf("an answer has %d bytes", len(text))
		}
		var copied Batch
		if err := json.Unmarshal(text, &copied); err != nil {
			t.Error(err)
		}
		return copied, err
	}
	g := Gather(t.Context(), []Source{s}, Filter{}, 0, 10)
	if len(g.Page) != traces || asked != traces || len(g.Page[0].Steps) != maxSteps {
		t.Errorf("got %d traces with %d calls", len(g.Page), asked)
	}
}

// TestGatherFromHangingNode includes a source that never responds: the others must have time left
// to send their traces.
func TestGatherFromHangingNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(settings(func(s *config.PluginTraces) { s.SampleRate = 1 }))
		record(r, subject(1, "1"), Attempt{})
		good, hanging := source(r, "good", new(int)), source(nil, "hanging", new(int))
		good.Get = func(ctx context.Context, ids []int64) (Batch, error) { return r.Get(ids), ctx.Err() }
		hanging.List = func(ctx context.Context, _ Filter, _ int) (Listing, error) {
			<-ctx.Done()
			return Listing{}, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g := Gather(ctx, []Source{good, hanging}, Filter{}, 0, 5)
		if g.Total != 1 || len(g.Page) != 1 || len(g.Missing) != 2 || g.Missing[0].NodeID != "hanging-gateway" {
			t.Errorf("gathered %+v", g)
		}
	})
}
