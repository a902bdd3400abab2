// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"example.org/app/internal/apierr"
)

// Debug enables or disables debugging of a plugin. It reloads the plugin in its current state,
// without losing calls. The setting lasts until the plugin is replaced.
func (m *Manager) Debug(ctx context.Context, id string, on bool) (*Plugin, error) {
	p, ok := m.Find(id)
	if !ok {
		return nil, apierr.New(apierr.ResourceNotFound, "there is no plugin %q on this node", id)
	}
	if _, can := p.module.(Debuggable); !can {
		return nil, apierr.New(apierr.IllegalArgument, "plugin %q is not written in JavaScript; debuggers for Java attach to app.plugin.java.debug.port", id)
	}
	now := p.Debugger()
	switch {
	case on == (now.Address != ""):
		return p, nil
	case now.Configured:
		return nil, apierr.New(apierr.IllegalArgument, "plugin %q is debugged because app.plugin.js.debug.enabled says so", id)
	}
	src := p.source
	src.Path, src.turn, src.Debug = p.Path, nil, on
	return m.install(ctx, p.Language, src, true, func(_, old *Plugin) error {
		if old != p {
			return apierr.New(apierr.DuplicateResource, "plugin %q was replaced or removed meanwhile", id)
		}
		return nil
	})
}
