// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/recording/event"
)

// Recovery quarantines extensions that cannot run, and restores them and their plugins.
type Recovery struct {
	*work
	settings func() config.Plugin
	logger   *slog.Logger
	// m is the manager, which reloads plugins.
	m *Manager
}

// begin starts an extension. One without complete grants is started once it has them; after another
// failure it is retried.
func (r *Recovery) begin(ctx context.Context, b *member) (changed bool, err error) {
	changed, err = b.life.Do(ctx, Start)
	if _, waits := errors.AsType[*WaitingError](err); waits {
		b.waiting.Store(true)
		if b.life.State() == Loaded {
			b.record.quarantine("") // It is not down: it was not allowed to run.
		}
		if b.mayRun() == nil && b.waiting.CompareAndSwap(true, false) { // It was granted meanwhile.
			return r.begin(ctx, b)
		}
		return changed, err
	}
	if err != nil && b.life.State() == Loaded {
		r.startFailed(b, err)
	}
	return changed, err
}

// consider quarantines an extension after repeated failures, if the settings say so. A dead one is
// reloaded.
func (r *Recovery) consider(b *member, inARow int64, err error) {
	if errors.Is(err, ErrDead) {
		r.revive(b.plugin, err)
		return
	}
	q := r.settings().Quarantine
	if !q.Enabled || inARow != int64(q.Failures) {
		return
	}
	r.quarantine(b, fmt.Sprintf("quarantined after %d failures in a row, the last: %v", inARow, err))
}

// quarantine makes the calls of an extension fail until it is resumed.
func (r *Recovery) quarantine(b *member, why string) {
	b.record.quarantine(why)
	b.logger.Warn("extension cannot run; calls of it fail", "reason", why)
	event.Report(event.Incident{Reason: event.PluginQuarantined, Detail: b.plugin.ID + " " + b.Class()})
}

// Quarantine quarantines the started extensions of a plugin that their host cannot run, with the
// reason: their calls fail as the extension points define. An empty class selects all extensions.
// With again they are restarted, with back-off, until that succeeds; otherwise they must be
// resumed.
func (r *Recovery) Quarantine(id, class, why string, again bool) {
	if p, ok := r.m.Find(id); ok {
		r.quarantineIn(p, class, why, again)
	}
}

// QuarantineModule is Quarantine for a module's plugin, which may be a candidate.
func (r *Recovery) QuarantineModule(module Module, class, why string, again bool) {
	for _, p := range r.m.withTrials() {
		if p.module == module {
			r.quarantineIn(p, class, why, again)
		}
	}
}

func (r *Recovery) quarantineIn(p *Plugin, class, why string, again bool) {
	for _, b := range p.members {
		if class != "" && class != b.Class() {
			continue
		}
		b.record.fail("host", errors.New(why))
		switch b.life.State() {
		case Started:
			b.broken.Store(true)
			r.quarantine(b, why)
			if again {
				r.retry(b)
			}
		case Paused:
			b.broken.Store(true)
		}
	}
}

// startFailed records that the start of an extension failed, and retries it.
func (r *Recovery) startFailed(b *member, err error) {
	r.quarantine(b, fmt.Sprintf("start failed: %v", err))
	r.retry(b)
}

// retry tries to start an extension until it succeeds, or is no longer wanted.
func (r *Recovery) retry(b *member) {
	if !b.retrying.CompareAndSwap(false, true) {
		return
	}
	r.tellers.Go(func() {
		defer b.retrying.Store(false)
		for n := 0; r.sleep(retryDelay(n)); n++ {
			if !b.isDown() || b.calls.isClosed() {
				return
			}
			if _, err := b.life.Do(r.ctx, Start); err == nil {
				return
			} else if b.isDown() {
				r.quarantine(b, fmt.Sprintf("start failed %d times: %v", n+2, err))
			}
		}
	})
}

// retryDelay returns the pause after the n-th attempt.
func retryDelay(n int) time.Duration { return min(time.Second<<min(n, 10), time.Minute) }

// attend reloads a plugin when it dies, even if it is not called.
func (r *Recovery) attend(p *Plugin) {
	mortal, ok := p.module.(Mortal)
	if !ok {
		return
	}
	r.tellers.Go(func() {
		select {
		case <-mortal.Died():
			r.revive(p, mortal.Err())
		case <-p.left:
		case <-r.ctx.Done():
		}
	})
}

// revive reloads a dead plugin, with back-off if that happens often or fails. Calls meanwhile
// return that it died.
func (r *Recovery) revive(p *Plugin, err error) {
	if !p.dead.CompareAndSwap(false, true) {
		return
	}
	why := fmt.Sprintf("the plugin died and is loaded anew: %v", err)
	for _, b := range p.members {
		if b.life.State() == Started {
			r.quarantine(b, why)
		}
	}
	if p.trial.Load() {
		return // Its users get the other version, and the administrator decides.
	}
	attempt := 0
	if time.Since(p.LoadedAt) < time.Minute {
		attempt = p.renewals
	}
	r.logger.Error("a plugin died and is loaded anew", "plugin", p.ID, "version", p.Version, "error", err, "renewals", p.renewals)
	r.tellers.Go(func() {
		for ; attempt == 0 || r.sleep(retryDelay(attempt-1)); attempt++ {
			if r.renew(p) {
				return
			}
		}
	})
}

// renew reports whether a dead plugin was reloaded, or no longer exists.
func (r *Recovery) renew(p *Plugin) bool {
	gone := apierr.New(apierr.DuplicateResource, "plugin %q was replaced or removed meanwhile", p.ID)
	src := p.source
	src.Path, src.turn = p.Path, nil
	_, err := r.m.install(r.ctx, p.Language, src, true, func(next, old *Plugin) error {
		if old != p {
			return gone
		}
		next.renewals = p.renewals + 1
		return nil
	})
	if err == nil || errors.Is(err, gone) || r.ctx.Err() != nil {
		return true
	}
	r.logger.Error("a plugin that died could not be loaded anew", "plugin", p.ID, "version", p.Version, "error", err)
	for _, b := range p.members {
		if b.isDown() {
			b.record.quarantine(fmt.Sprintf("the plugin died and could not be loaded anew: %v", err))
		}
	}
	return false
}
