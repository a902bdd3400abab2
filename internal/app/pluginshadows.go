// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"sync"

	"example.org/app/internal/cluster"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/plugin/trace"
)

// pluginShadow asks a named node which calls the shadow of a plugin ended otherwise.
var pluginShadow = cluster.Endpoint[string, shadowAnswer]{Name: "plugin.shadow"}

type shadowAnswer struct {
	Samples []*trace.Sample `json:"samples,omitempty"`
}

// shareShadows lets other nodes ask for what the shadows of this process did.
func (a *App) shareShadows() error {
	for _, node := range a.nodes {
		err := cluster.Handle(node, pluginShadow, func(_ context.Context, id *string) (*shadowAnswer, error) {
			return &shadowAnswer{a.plugins.ShadowSamples(*id)}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shadowSamples gathers what the shadows of a plugin did on all nodes. A process with two nodes is asked once.
func (a *App) shadowSamples(ctx context.Context, id string) []catalog.NodeSamples {
	ctx, cancel := context.WithTimeout(ctx, pluginStatesTimeout)
	defer cancel()
	var list []catalog.NodeSamples
	asked := map[string]bool{}
	for _, m := range a.membersWithPlugins() {
		if !asked[m.ProcessID] {
			asked[m.ProcessID] = true
			list = append(list, catalog.NodeSamples{NodeID: m.NodeID})
		}
	}
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() {
			answer, err := cluster.CallNode(ctx, a.nodes[a.opts.Roles[0]], list[i].NodeID, pluginShadow, &id)
			if err != nil {
				list[i].Err = fmt.Errorf("the node did not answer: %w", err)
				return
			}
			list[i].Samples = answer.Samples
		})
	}
	wg.Wait()
	return list
}
