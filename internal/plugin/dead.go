// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
)

// ErrDead is in the chain of every call's error once a module is broken and can run nothing. Only
// reloading the plugin helps.
var ErrDead = errors.New("the plugin is dead")

// ErrInterrupted is in the chain of a call's error if the process that ran it ended during the
// call, or did not restart in time. The host restarts it by itself; whether the call took effect is
// unknown. It does not count as a failure of its plugin, because another one may have ended the
// shared process.
var ErrInterrupted = errors.New("the call was interrupted")

// NoteRestart records that a call waits for a restart of the process that runs its plugin. If the
// call times out, its error then has ErrInterrupted in its chain. A host passes the context of the
// call; other contexts are ignored.
func NoteRestart(ctx context.Context) {
	if l := limitedOf(ctx); l != nil {
		l.restarted.Store(true)
	}
}

// A restartError is a time-out of a call that waited for a restart.
type restartError struct{ timeout error }

func (e *restartError) Error() string {
	return e.timeout.Error() + ", as what runs the plugin was being started anew"
}

// Unwrap makes it a time-out and an interruption.
func (e *restartError) Unwrap() []error { return []error{e.timeout, ErrInterrupted} }
