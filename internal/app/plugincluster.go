// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/plugin/catalog"
)

// pluginStates requests the state of the cluster's plugins from a named node.
var pluginStates = cluster.Endpoint[struct{}, pluginStatesAnswer]{Name: "plugin.states"}

type pluginStatesAnswer struct {
	States []catalog.State `json:"states"`
}

// buildCatalog creates the catalog of the cluster's plugins, and serves requests of other nodes for
// its state.
func (p *pluginHolder) buildCatalog() error {
	c := p.Process.opts.Config.Plugin
	p.catalog = catalog.New(catalog.Options{
		Store: p.Database.db, Manager: p.plugins.Manager, Enabled: c.Enabled && c.Cluster.Enabled, Settings: p.Process.pluginSettings, Granted: p.granted, Logger: p.Logs.logger,
		Changed: func() { p.Nodes.tell(changedPlugins) },
		NodeIDs: p.Nodes.ids(), Act: p.Audit.actByItself, Gather: p.peers.evidence, Leads: p.Nodes.leads,
	})
	p.plugins.Cluster = p.catalog
	for _, node := range p.Nodes.byRole {
		err := cluster.Handle(node, pluginStates, func(context.Context, *struct{}) (*pluginStatesAnswer, error) {
			return &pluginStatesAnswer{p.catalog.States()}, nil
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(p.shareTraces(), p.shareShadows(), p.shareEvidence())
}

// pluginEvidence requests the rollout figures of a named node's process.
var pluginEvidence = cluster.Endpoint[struct{}, evidenceAnswer]{Name: "plugin.evidence"}

type evidenceAnswer struct {
	Evidence []catalog.Evidence `json:"evidence,omitempty"`
}

// shareEvidence serves requests of other nodes for this process's rollout figures.
func (p *pluginHolder) shareEvidence() error {
	for _, node := range p.Nodes.byRole {
		err := cluster.Handle(node, pluginEvidence, func(context.Context, *struct{}) (*evidenceAnswer, error) {
			return &evidenceAnswer{p.catalog.Rollouts.Evidence()}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// evidence collects the rollout figures of all processes.
func (p *peers) evidence(ctx context.Context) []catalog.ProcessEvidence {
	return askPeers(ctx, p, pluginEvidence, &struct{}{}, func(p peer, answer *evidenceAnswer, err error) catalog.ProcessEvidence {
		evidence := catalog.ProcessEvidence{Err: err}
		for _, n := range p.nodes {
			evidence.NodeIDs, evidence.Roles = append(evidence.NodeIDs, n.NodeID), append(evidence.Roles, n.Type)
		}
		if answer != nil {
			evidence.Evidence = answer.Evidence
		}
		return evidence
	})
}

// ids are the ids of the nodes of this process.
func (p *nodes) ids() (ids []string) {
	for _, r := range p.Process.opts.Roles {
		ids = append(ids, p.byRole[r].ID())
	}
	return ids
}

// pluginStatesTimeout is how long an administrator waits for unresponsive nodes.
const pluginStatesTimeout = 2 * time.Second

// states collects the states of the cluster's plugins from all nodes.
func (p *peers) states(ctx context.Context) []catalog.NodeStates {
	ctx, cancel := context.WithTimeout(ctx, pluginStatesTimeout)
	defer cancel()
	members := p.members()
	list := make([]catalog.NodeStates, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		list[i] = catalog.NodeStates{NodeID: m.NodeID, Role: m.Type}
		wg.Go(func() {
			answer, err := cluster.CallNode(ctx, p.Nodes.first(), m.NodeID, pluginStates, &struct{}{})
			if err != nil {
				list[i].Err = fmt.Errorf("the node did not answer: %w", err)
				return
			}
			list[i].States = answer.States
		})
	}
	wg.Wait()
	return list
}

// peers are the processes that can have plugins, including this one, as sources of plugin data.
type peers struct {
	Process *process
	Nodes   *nodes
}

// A peer is a process that can have plugins, possibly this one. It has at least one node.
type peer struct {
	id    string
	nodes []cluster.Member
}

// processes are the processes that can have plugins, in the order of their first nodes.
func (p *peers) processes() (list []peer) {
	for _, m := range p.members() {
		if i := slices.IndexFunc(list, func(p peer) bool { return p.id == m.ProcessID }); i >= 0 {
			list[i].nodes = append(list[i].nodes, m)
		} else {
			list = append(list, peer{m.ProcessID, []cluster.Member{m}})
		}
	}
	return list
}

// askPeers calls all processes that can have plugins concurrently, each by its first node, and
// returns the converted responses; answer is nil if there is an error.
func askPeers[Q, A, R any](ctx context.Context, all *peers, e cluster.Endpoint[Q, A], question *Q, result func(p peer, answer *A, err error) R) []R {
	ctx, cancel := context.WithTimeout(ctx, pluginStatesTimeout)
	defer cancel()
	processes := all.processes()
	list := make([]R, len(processes))
	var wg sync.WaitGroup
	for i, p := range processes {
		wg.Go(func() {
			answer, err := cluster.CallNode(ctx, all.Nodes.first(), p.nodes[0].NodeID, e, question)
			if err != nil {
				answer, err = nil, fmt.Errorf("the node did not answer: %w", err)
			}
			list[i] = result(p, answer, err)
		})
	}
	wg.Wait()
	return list
}
