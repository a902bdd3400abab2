// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/plugin/trace"
)

// pluginTraces requests the list of plugin traces from a named node's process, and
// pluginTraceRecords some of them.
var (
	pluginTraces       = cluster.Endpoint[traceSearch, trace.Listing]{Name: "plugin.traces"}
	pluginTraceRecords = cluster.Endpoint[[]int64, trace.Batch]{Name: "plugin.traces.records"}
)

type traceSearch struct {
	Filter trace.Filter `json:"filter"`
	Limit  int          `json:"limit"`
}

// shareTraces serves requests of other nodes for this process's traces.
func (p *pluginHolder) shareTraces() error {
	recorder := p.plugins.Calls.Traces()
	for _, node := range p.Nodes.byRole {
		err := cluster.Handle(node, pluginTraces, func(_ context.Context, s *traceSearch) (*trace.Listing, error) {
			l := recorder.List(s.Filter, s.Limit)
			return &l, nil
		})
		if err != nil {
			return err
		}
		err = cluster.Handle(node, pluginTraceRecords, func(_ context.Context, ids *[]int64) (*trace.Batch, error) {
			b := recorder.Get(*ids)
			return &b, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pluginTracesTimeout is how long an administrator waits for unresponsive nodes.
const pluginTracesTimeout = 2 * time.Second

// traces collects the traces of all nodes.
func (p *peers) traces(ctx context.Context, f trace.Filter, offset, limit int) trace.Gathering {
	ctx, cancel := context.WithTimeout(ctx, pluginTracesTimeout)
	defer cancel()
	var sources []trace.Source
	for _, of := range p.processes() {
		sources = append(sources, p.traceSource(of))
	}
	return trace.Gather(ctx, sources, f, offset, limit)
}

// traceSource returns a process's traces, requested from its first node.
func (p *peers) traceSource(of peer) trace.Source {
	own, node := p.Nodes.first(), of.nodes[0]
	source := trace.Source{
		ProcessID: of.id,
		List: func(ctx context.Context, f trace.Filter, limit int) (trace.Listing, error) {
			l, err := cluster.CallNode(ctx, own, node.NodeID, pluginTraces, &traceSearch{f, limit})
			if err != nil {
				return trace.Listing{}, fmt.Errorf("the node did not answer: %w", err)
			}
			return *l, nil
		},
		Get: func(ctx context.Context, ids []int64) (trace.Batch, error) {
			b, err := cluster.CallNode(ctx, own, node.NodeID, pluginTraceRecords, &ids)
			if err != nil {
				return trace.Batch{}, fmt.Errorf("the node did not send its traces: %w", err)
			}
			return *b, nil
		},
	}
	for _, n := range of.nodes {
		source.Nodes = append(source.Nodes, trace.Node{ID: n.NodeID, Role: n.Type})
	}
	return source
}

// members are the nodes that can have plugins, by their ids.
func (p *peers) members() []cluster.Member {
	members := slices.DeleteFunc(p.Nodes.cluster.Members(), func(m cluster.Member) bool { return m.ProcessID == "" })
	for _, own := range p.Nodes.byRole {
		if !slices.ContainsFunc(members, func(m cluster.Member) bool { return m.NodeID == own.ID() }) {
			members = append(members, own.Member()) // It is not in its own list yet.
		}
	}
	slices.SortFunc(members, func(a, b cluster.Member) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return members
}
