// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"example.org/app/internal/cluster"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/plugin/trace"
)

// pluginShadow requests the calls with different results of a plugin's shadow from a named node.
var pluginShadow = cluster.Endpoint[string, shadowAnswer]{Name: "plugin.shadow"}

type shadowAnswer struct {
	// Number is that of the version.
	Number  int64           `json:"number,omitempty"`
	Samples []*trace.Sample `json:"samples,omitempty"`
}

// shareShadows serves requests of other nodes for this process's shadow results.
func (p *pluginHolder) shareShadows() error {
	for _, node := range p.Nodes.byRole {
		err := cluster.Handle(node, pluginShadow, func(_ context.Context, id *string) (*shadowAnswer, error) {
			number, samples := p.plugins.Trials.ShadowSamples(*id)
			return &shadowAnswer{number, samples}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shadowSamples collects the shadow results of a plugin from all nodes.
func (p *peers) shadowSamples(ctx context.Context, id string) []catalog.NodeSamples {
	return askPeers(ctx, p, pluginShadow, &id, func(p peer, answer *shadowAnswer, err error) catalog.NodeSamples {
		samples := catalog.NodeSamples{NodeID: p.nodes[0].NodeID, Err: err}
		if answer != nil {
			samples.Samples, samples.Number = answer.Samples, answer.Number
		}
		return samples
	})
}
