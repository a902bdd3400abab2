// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"cmp"
	"slices"

	"example.org/app/internal/geo"
	"example.org/app/internal/wire"
)

// positions indexes the positions of the sessions that this process knows.
type positions struct {
	*geo.Index[spot]
	// perDevice is Locations.PerDevice.
	perDevice bool
}

// A spot is an entry of the index of positions. The gateway tells whether the session is still
// alive.
type spot struct {
	userID  int64
	device  wire.DeviceType
	gateway *gateway
}

func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(a.userID, b.userID), cmp.Compare(a.device, b.device))
}

// placed returns the sessions to index: all that have a position, or only the one with the latest.
func (p *positions) placed(sessions []Session) (placed []*Session) {
	for i := range sessions {
		s := &sessions[i]
		switch {
		case s.Position == nil:
		case p.perDevice || len(placed) == 0:
			placed = append(placed, s)
		case s.Position.Date.After(placed[0].Position.Date):
			placed[0] = s
		}
	}
	return placed
}

// follow updates the index after a record was replaced.
func (p *positions) follow(before, after *record) {
	var old, now []*Session
	if before != nil {
		old = p.placed(before.sessions)
	}
	if after != nil {
		now = p.placed(after.sessions)
	}
	for _, s := range old {
		if !slices.ContainsFunc(now, func(n *Session) bool { return n.Device == s.Device && n.gateway == s.gateway }) {
			p.Remove(spot{s.UserID, s.Device, s.gateway})
		}
	}
	for _, s := range now {
		p.Set(spot{s.UserID, s.Device, s.gateway}, float64(s.Position.Longitude), float64(s.Position.Latitude))
	}
}
