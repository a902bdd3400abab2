// SPDX-License-Identifier: Apache-2.0

package group

import "testing"

// TestStandings has users of every role do things under every strategy, including invalid ones.
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
