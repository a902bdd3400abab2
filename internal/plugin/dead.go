// SPDX-License-Identifier: Apache-2.0

package plugin

import "errors"

// ErrDead is in the chain of the error of every call of a module that can run nothing any more, because what runs it
// is broken. Only loading the plugin anew helps.
var ErrDead = errors.New("the plugin is dead")
