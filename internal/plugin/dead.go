// SPDX-License-Identifier: Apache-2.0

package plugin

import "errors"

// ErrDead is in the chain of the error of every call of a module that can run nothing any more, because what runs it
// is broken. Only loading the plugin anew helps.
var ErrDead = errors.New("the plugin is dead")

// ErrInterrupted is in the chain of the error of a call that was under way when what ran it ended. The host starts that
// anew by itself; whether the call has done its work is not known.
var ErrInterrupted = errors.New("the call was interrupted")
