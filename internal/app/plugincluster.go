// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/plugin/catalog"
)

// pluginStates asks a named node how far it is with the plugins of the cluster.
var pluginStates = cluster.Endpoint[struct{}, pluginStatesAnswer]{Name: "plugin.states"}

type pluginStatesAnswer struct {
	States []catalog.State `json:"states"`
}

// buildCatalog makes what follows the plugins of the cluster, and lets other nodes ask for it.
func (a *App) buildCatalog() error {
	c := a.opts.Config.Plugin
	a.catalog = catalog.New(catalog.Options{
		Store: a.store, Manager: a.plugins.Manager, Enabled: c.Enabled && c.Cluster.Enabled, Settings: a.pluginSettings, Granted: a.granted, Logger: a.logger,
		Changed: func() { a.tell(changedPlugins) },
		NodeIDs: a.nodeIDs(), Act: a.actByItself,
	})
	a.plugins.Cluster = a.catalog
	for _, node := range a.nodes {
		err := cluster.Handle(node, pluginStates, func(context.Context, *struct{}) (*pluginStatesAnswer, error) {
			return &pluginStatesAnswer{a.catalog.States()}, nil
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(a.shareTraces(), a.shareShadows())
}

// nodeIDs are the ids of the nodes of this process.
func (a *App) nodeIDs() (ids []string) {
	for _, r := range a.opts.Roles {
		ids = append(ids, a.nodes[r].ID())
	}
	return ids
}

// pluginStatesTimeout bounds how long an administrator waits for nodes that do not answer.
const pluginStatesTimeout = 2 * time.Second

// pluginStates asks all nodes how far they are with the plugins of the cluster.
func (a *App) pluginStates(ctx context.Context) []catalog.NodeStates {
	ctx, cancel := context.WithTimeout(ctx, pluginStatesTimeout)
	defer cancel()
	members := a.membersWithPlugins()
	list := make([]catalog.NodeStates, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		list[i] = catalog.NodeStates{NodeID: m.NodeID, Role: m.Type}
		wg.Go(func() {
			answer, err := cluster.CallNode(ctx, a.nodes[a.opts.Roles[0]], m.NodeID, pluginStates, &struct{}{})
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
