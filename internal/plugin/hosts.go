// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// hosts run the plugins, one for each language.
type hosts struct {
	*work
	list     []Host
	settings func() config.Plugin
	logger   *slog.Logger
}

// of returns the host of a language.
func (hs *hosts) of(l Language) (Host, error) {
	i := slices.IndexFunc(hs.list, func(h Host) bool { return h.Language() == l })
	if i < 0 {
		return nil, apierr.New(apierr.IllegalArgument, "this server has no host for plugins in %s", l)
	}
	return hs.list[i], nil
}

// discard frees a plugin that cannot be called.
func (hs *hosts) discard(ctx context.Context, p *Plugin) {
	if err := p.module.Close(ctx); err != nil {
		hs.logger.Warn("a plugin could not be closed", "plugin", p.ID, "error", err)
	}
	if l, ok := p.module.(Leftover); ok && l.Left() != "" { // The host has logged it.
		for _, b := range p.members {
			b.record.fail("unload", errors.New(l.Left()))
		}
	}
	if p.host != nil {
		hs.closeHost(ctx, p.host, p.ID)
	}
}

// closeHost closes the host of a candidate.
func (hs *hosts) closeHost(ctx context.Context, host Host, name string) {
	if err := host.Close(context.WithoutCancel(ctx)); err != nil {
		hs.logger.Warn("the host of a candidate could not be closed", "plugin", name, "error", err)
	}
}
