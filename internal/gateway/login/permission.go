// SPDX-License-Identifier: Apache-2.0

package login

import (
	"fmt"
	"slices"
	"sync"

	"example.org/app/internal/wire"
)

// Permissions are the kinds of requests that a session may send. They are immutable.
type Permissions struct {
	// bits has one bit for each kind, in the order of the list of kinds.
	bits [2]uint64
}

// kinds are the kinds that permissions cover, by number.
var kinds = sync.OnceValue(func() []wire.Kind {
	all := slices.DeleteFunc(wire.Kinds(), ofSession)
	if most := 64 * len(Permissions{}.bits); len(all) > most {
		panic(fmt.Sprintf("there are %d kinds of requests, but only %d bits for them", len(all), most))
	}
	return all
})

// ofSession reports whether a kind is about the session itself, which needs no permission.
func ofSession(k wire.Kind) bool { return k == wire.KindCreateSession || k == wire.KindDeleteSession }

var everything = sync.OnceValue(func() *Permissions {
	p := new(Permissions)
	for _, k := range kinds() {
		p.set(k, true)
	}
	return p
})

// All returns the permission for every kind of request.
func All() *Permissions { return everything() }

// Allows reports whether a request of the kind may be sent. A session may always be opened and
// closed.
func (p *Permissions) Allows(k wire.Kind) bool {
	if ofSession(k) {
		return true
	}
	i, ok := slices.BinarySearch(kinds(), k)
	return ok && p.bits[i/64]&(1<<(i%64)) != 0
}

func (p *Permissions) set(k wire.Kind, allowed bool) {
	i, ok := slices.BinarySearch(kinds(), k)
	switch {
	case !ok:
		panic(fmt.Sprintf("there is no permission for %s", k))
	case allowed:
		p.bits[i/64] |= 1 << (i % 64)
	default:
		p.bits[i/64] &^= 1 << (i % 64)
	}
}
