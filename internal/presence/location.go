// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/geo"
	"example.org/app/internal/wire"
)

// Locations configure the positions of sessions.
type Locations struct {
	// Enabled is true if positions are kept.
	Enabled bool
	// PerDevice is true if each session of a user has its own position. Otherwise a user's position
	// is the latest one of any session.
	PerDevice bool
}

// NearbyLimits bound a search for users nearby. A default above the maximum counts as the maximum.
type NearbyLimits struct {
	DefaultCount, MaxCount   int32
	DefaultMeters, MaxMeters int32
}

// Check returns the number and the distance to search for; nil means the default.
func (l NearbyLimits) Check(count, meters *int32) (int, float64, error) {
	c, err := within("maxCount", count, l.DefaultCount, l.MaxCount)
	if err != nil {
		return 0, 0, err
	}
	m, err := within("maxDistance", meters, l.DefaultMeters, l.MaxMeters)
	return int(c), float64(m), err
}

func within(name string, asked *int32, standard, most int32) (int32, error) {
	if asked == nil {
		return min(standard, most), nil
	}
	if *asked < 1 || *asked > most {
		return 0, apierr.New(apierr.IllegalArgument, "%s %d must be 1 to %d", name, *asked, most)
	}
	return *asked, nil
}

// Locations returns the configuration of positions.
func (d *Directory) Locations() Locations { return d.options.Locations }

// errLocationsOff returns the error for all uses of positions when they are not kept.
func errLocationsOff() error { return apierr.New(apierr.UserLocationRelatedFeaturesAreDisabled, "") }

// SetPosition sets the position of a session. It may be called on any node.
func (d *Directory) SetPosition(ctx context.Context, userID int64, device wire.DeviceType, p Position) (online bool, err error) {
	if d.positions == nil {
		return false, errLocationsOff()
	}
	if !geo.Valid(float64(p.Longitude), float64(p.Latitude)) {
		return false, apierr.New(apierr.IllegalArgument, "longitude %v must be within ±%v and latitude %v within ±%v",
			p.Longitude, geo.MaxLongitude, p.Latitude, geo.MaxLatitude)
	}
	p.Date = p.Date.UTC().Truncate(time.Millisecond)
	online, err = d.writer.update(ctx, userID, func(current content) (*content, bool) {
		i := index(current.sessions, device)
		if i < 0 {
			return nil, false
		}
		current.sessions = slices.Clone(current.sessions)
		current.sessions[i].Position = &p
		return &current, true
	})
	if err != nil {
		return false, fmt.Errorf("set the position of user %d: %w", userID, err)
	}
	return online, nil
}
