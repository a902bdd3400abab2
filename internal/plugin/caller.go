// SPDX-License-Identifier: Apache-2.0

package plugin

import "context"

type callerKey struct{}

// WithCaller marks what is done with a context as done by the plugin with an id. A plugin that removes, replaces or stops
// itself does not wait for its own end.
func WithCaller(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callerKey{}, id)
}

// isCaller reports whether a plugin does what is done with a context.
func (p *Plugin) isCaller(ctx context.Context) bool {
	id, _ := ctx.Value(callerKey{}).(string)
	return id != "" && id == p.ID
}
