// SPDX-License-Identifier: Apache-2.0

package group

import "testing"

// TestStandings lets users of every role do things under every strategy, and wrong things.
func TestStandings(t *testing.T) {
	onBothEngines(t, func(w *world) {
		whoMayAdd(w)
		whoMayInvite(w)
		whoMayRename(w)
		whoMayUpdate(w)
		joinAlone(w)
		addRefusals(w)
		memberEditRefusals(w)
	})
}
