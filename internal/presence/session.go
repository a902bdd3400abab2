// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"net/netip"
	"time"

	"example.org/app/internal/wire"
)

// A Session is a logged-in device of a user. It is read only after it was passed on.
type Session struct {
	UserID int64
	Device wire.DeviceType
	// ID distinguishes successive sessions of a user and a device type.
	ID int32
	// NodeID is the gateway that holds the session; Open sets it.
	NodeID string
	// Version is the version of the client protocol.
	Version   int32
	IP        netip.Addr
	LoginDate time.Time
	// LoginLocation is the location that the client sent at login; nil means unknown.
	LoginLocation *Location
	// Position is the last position that the client sent; nil means unknown.
	Position *Position
	// Details are the details of the device that the client sent and the gateway accepts.
	Details map[string]string

	gateway *gateway
	// excludes are the device types that had to end for this session. A gateway that could not be
	// notified learns from it that its session was not removed by mistake.
	excludes devices
}

// KeptDetails returns the details, or nil if they are older than the lifetime; 0 means unlimited.
func (s *Session) KeptDetails(now time.Time, lifetime time.Duration) map[string]string {
	if lifetime > 0 && now.Sub(s.LoginDate) >= lifetime {
		return nil
	}
	return s.Details
}

// devices is a set of device types.
type devices uint64

func devicesOf(types []wire.DeviceType) (set devices) {
	for _, t := range types {
		set |= 1 << (t & 63)
	}
	return set
}

func (d devices) has(t wire.DeviceType) bool { return d&devicesOf([]wire.DeviceType{t}) != 0 }

// A Location is a position with what a client says about it.
type Location struct {
	Position
	Details map[string]string
}

// A Position is a place on earth at a time.
type Position struct {
	// Longitude and Latitude are degrees.
	Longitude, Latitude float32
	Date                time.Time
}

// An Entry is what is known of an online user. Its sessions are unordered, at most one for each
// device type. It is read only.
type Entry struct {
	UserID   int64
	Status   wire.UserStatus
	Sessions []Session
}

// Session returns the session of a device type; ok is false if there is none.
func (e *Entry) Session(device wire.DeviceType) (Session, bool) {
	if i := index(e.Sessions, device); i >= 0 {
		return e.Sessions[i], true
	}
	return Session{}, false
}

// index returns the index of the session of a device type, or -1.
func index(sessions []Session, device wire.DeviceType) int {
	for i := range sessions {
		if sessions[i].Device == device {
			return i
		}
	}
	return -1
}

// rival returns the session for which another one had to end: one of the same device type, or one
// that excludes it; nil if there is none.
func rival(sessions []Session, of *Session) *Session {
	for i := range sessions {
		s := &sessions[i]
		if !s.same(of) && !s.gateway.dead.Load() && (s.Device == of.Device || s.excludes.has(of.Device)) {
			return s
		}
	}
	return nil
}

// is is same as a predicate.
func (s *Session) is(other Session) bool { return s.same(&other) }

// same reports whether both are the same session.
func (s *Session) same(other *Session) bool {
	return s.gateway == other.gateway && s.Device == other.Device && s.ID == other.ID
}
