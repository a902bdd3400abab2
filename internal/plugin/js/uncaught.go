// SPDX-License-Identifier: Apache-2.0

package js

import (
	"errors"
	"log/slog"

	"example.org/app/internal/plugin/js/engine"
)

// uncaught are errors that the plugin does not catch, and that no call waits for.
type uncaught struct {
	m *module
	// rejections are the unhandled ones of the current turn.
	rejections []rejection
}

// exception reports an exception of a job, which nobody can catch.
func (u *uncaught) exception(x *engine.Exception) {
	defer u.m.engine.Free(x.Value)
	err := u.m.exception(x)
	if x.Interrupted {
		if u.m.stopping.Load() {
			return // It was interrupted because the plugin is being removed.
		}
		end := &interruption{err.Location}
		u.tell(end, func() { u.m.log.Error("a plugin ran too long and was interrupted", slog.Any("error", end)) })
		return
	}
	u.tell(err, func() { u.m.log.Error("uncaught exception in a plugin", slog.Any("error", err)) })
	if u.m.debug.target != nil {
		u.m.debug.target.Uncaught(x.Value)
	}
}

// errTooLong means that code without a waiting caller ran too long.
var errTooLong = errors.New("code of the plugin ran too long and was interrupted")

// An interruption is errTooLong with the position of the code, "" if that is unknown.
type interruption struct{ location string }

func (e *interruption) Error() string {
	if e.location == "" {
		return errTooLong.Error()
	}
	return errTooLong.Error() + " (" + e.location + ")"
}

func (e *interruption) Unwrap() error { return errTooLong }

// tell logs an uncaught error, within the plugin's limit, and reports it to the server and to the
// host's owner.
func (u *uncaught) tell(err error, log func()) {
	if u.m.console.lines.Take(u.m.log) {
		log()
	}
	u.m.Note(err)
	if f := u.m.host.opts.Uncaught; f != nil {
		f(err)
	}
}

// A rejection is a promise that was rejected without a handler.
type rejection struct{ promise, reason engine.Value }

// maxUnhandled is the maximum number of recorded rejections of one turn.
const maxUnhandled = 100

// rejected is called for promises that are rejected without a handler, and for those that get one
// later.
func (u *uncaught) rejected(promise, reason engine.Value, handled bool) {
	if handled {
		u.handled(promise)
		return
	}
	if len(u.rejections) < maxUnhandled {
		u.rejections = append(u.rejections, rejection{u.m.engine.Dup(promise), u.m.engine.Dup(reason)})
	}
}

func (u *uncaught) handled(promise engine.Value) {
	for i, r := range u.rejections {
		if r.promise == promise {
			u.m.engine.Free(r.promise)
			u.m.engine.Free(r.reason)
			u.rejections = append(u.rejections[:i], u.rejections[i+1:]...)
			return
		}
	}
}

// report logs the rejections that are unhandled at the end of a turn.
func (u *uncaught) report() {
	list := u.rejections
	u.rejections = nil
	_ = u.m.engine.Run(u.m.turns.mustStop, func() {
		for _, r := range list {
			u.m.engine.Free(r.promise)
			x := u.m.engine.Describe(r.reason)
			err := u.m.exception(x)
			u.tell(err, func() {
				u.m.log.Error("a promise of a plugin was rejected and nobody listened", slog.Any("error", err))
			})
			if u.m.debug.target != nil {
				u.m.debug.target.Rejected(x.Value)
			}
			u.m.engine.Free(x.Value)
		}
	})
}

// free frees the rejections.
func (u *uncaught) free() {
	for _, r := range u.rejections {
		u.m.engine.Free(r.promise)
		u.m.engine.Free(r.reason)
	}
}
