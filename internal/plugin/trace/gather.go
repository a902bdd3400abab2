// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/role"
)

// MaxGathered bounds paging through the newest traces of all processes.
const MaxGathered = 10_000

// maxBatch is the approximate size of a batch of traces in bytes: the largest trace, and less than
// the limit of a call between nodes even if every character is escaped.
const maxBatch = maxSteps*(stepSize+maxReason) + maxChangesSize

// A Listing contains a process's matches of a filter.
type Listing struct {
	Total int64 `json:"total"`
	// Keys are the keys of the newest traces, the newest first.
	Keys []Key `json:"keys,omitempty"`
}

// A Key identifies a trace of a process, and orders traces.
type Key struct {
	ID int64 `json:"id"`
	// Start is when the call began, in nanoseconds since 1970.
	Start int64 `json:"start"`
}

// List returns the number of matching traces, and the keys of at most limit of the newest.
func (r *Recorder) List(f Filter, limit int) Listing {
	total, page := r.Find(f, 0, min(limit, MaxGathered))
	l := Listing{Total: total, Keys: make([]Key, len(page))}
	for i, t := range page {
		l.Keys[i] = Key{t.ID, t.Start.UnixNano()}
	}
	return l
}

// A Batch contains as many of the requested traces as fit.
type Batch struct {
	Traces []*Trace `json:"traces"`
	// Seen is how many of the ids it covers, at least one, including those of dropped traces.
	Seen int `json:"seen"`
}

// Get returns the traces with some ids.
func (r *Recorder) Get(ids []int64) Batch {
	b := Batch{}
	if r == nil {
		b.Seen = len(ids)
		return b
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	size := int64(0)
	for _, id := range ids {
		i, ok := slices.BinarySearchFunc(r.kept, id, func(t *Trace, id int64) int { return cmp.Compare(t.ID, id) })
		if ok {
			if size += r.kept[i].bytes; size > maxBatch && b.Seen > 0 {
				return b
			}
			b.Traces = append(b.Traces, r.kept[i])
		}
		b.Seen++
	}
	return b
}

// A Source is a process from which traces are gathered.
type Source struct {
	ProcessID string
	// Nodes are the nodes of the process; at least one.
	Nodes []Node
	// List and Get call the methods of the process's recorder.
	List func(ctx context.Context, f Filter, limit int) (Listing, error)
	Get  func(ctx context.Context, ids []int64) (Batch, error)
}

// A Node is a node of a process.
type Node struct {
	ID   string
	Role role.Role
}

// nodeOf returns the id of the node that made a call; that of the first one if its role is unknown.
func (s Source) nodeOf(t *Trace) string {
	i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Role == t.Role })
	return s.Nodes[max(i, 0)].ID
}

// A Located is a trace and where it was recorded.
type Located struct {
	*Trace
	NodeID, ProcessID string
}

// A Gathering is the result of Gather.
type Gathering struct {
	// Total is the number of matching traces on the nodes that responded.
	Total int64
	Page  []Located
	// Missing are the nodes that did not respond, or not completely.
	Missing []MissingNode
}

// A MissingNode is a node that did not respond.
type MissingNode struct {
	NodeID string
	Err    error
}

// Gather returns a page of the traces of all sources, the newest first. Sources that do not respond
// before ctx ends are listed as missing; half of the time is reserved for fetching the traces of
// the others. Traces that are dropped meanwhile are omitted.
func Gather(ctx context.Context, sources []Source, f Filter, offset, limit int) Gathering {
	g := gatherer{sources: sources, errs: make([]error, len(sources))}
	listings := make([]Listing, len(sources))
	listing, cancel := halfTime(ctx)
	g.each(func(i int, s Source) (err error) {
		listings[i], err = s.List(listing, f, offset+limit)
		return err
	})
	cancel()
	var result Gathering
	type place struct {
		source int
		Key
	}
	var places []place
	for i, l := range listings {
		result.Total += l.Total
		for _, k := range l.Keys {
			places = append(places, place{i, k})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(a.source, b.source), cmp.Compare(b.ID, a.ID))
	})
	places = places[min(offset, len(places)):min(offset+limit, len(places))]
	wanted := make([][]int64, len(sources))
	for _, p := range places {
		wanted[p.source] = append(wanted[p.source], p.ID)
	}
	found := make([]map[int64]*Trace, len(sources))
	g.each(func(i int, s Source) error {
		found[i] = map[int64]*Trace{}
		for ids := wanted[i]; len(ids) > 0; {
			b, err := s.Get(ctx, ids)
			if err != nil {
				return err
			}
			for _, t := range b.Traces {
				found[i][t.ID] = t
			}
			ids = ids[min(max(b.Seen, 1), len(ids)):]
		}
		return nil
	})
	for _, p := range places {
		if t := found[p.source][p.ID]; t != nil {
			s := sources[p.source]
			result.Page = append(result.Page, Located{t, s.nodeOf(t), s.ProcessID})
		}
	}
	result.Missing = g.missing()
	return result
}

// halfTime returns a context that ends after half of the remaining time of ctx.
func halfTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

// gatherer calls sources concurrently.
type gatherer struct {
	sources []Source
	// errs contains the first error of each source, which is not called again.
	errs []error
}

func (g *gatherer) each(ask func(i int, s Source) error) {
	var wg sync.WaitGroup
	for i, s := range g.sources {
		if g.errs[i] == nil {
			wg.Go(func() { g.errs[i] = ask(i, s) })
		}
	}
	wg.Wait()
}

// missing returns the nodes of the sources that did not respond.
func (g *gatherer) missing() (list []MissingNode) {
	for i, s := range g.sources {
		if g.errs[i] != nil {
			for _, n := range s.Nodes {
				list = append(list, MissingNode{n.ID, g.errs[i]})
			}
		}
	}
	return list
}
