// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
)

// ErrDead is in the chain of the error of every call of a module that can run nothing any more, because what runs it
// is broken. Only loading the plugin anew helps.
var ErrDead = errors.New("the plugin is dead")

// ErrInterrupted is in the chain of the error of a call that was under way when what ran it ended, or that waited in vain
// for the next one. The host starts that anew by itself; whether the call has done its work is not known. Such a call says
// nothing of its plugin, because another one may have ended what runs both.
var ErrInterrupted = errors.New("the call was interrupted")

// NoteRestart notes that a call waits until what runs its plugin is started anew. If the call takes too long then, its error
// has ErrInterrupted in its chain. A host calls it with the context of the call; other contexts are ignored.
func NoteRestart(ctx context.Context) {
	if l := limitedOf(ctx); l != nil {
		l.restarted.Store(true)
	}
}

// A restartError is a call that took too long after it had waited for a restart.
type restartError struct{ timeout error }

func (e *restartError) Error() string {
	return e.timeout.Error() + ", as what runs the plugin was being started anew"
}

// Unwrap makes it a time-out and an interruption.
func (e *restartError) Unwrap() []error { return []error{e.timeout, ErrInterrupted} }
