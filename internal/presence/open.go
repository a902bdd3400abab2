// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.org/app/internal/wire"
)

// Open registers a session of this process's gateway. decide is asked with what is known of the user, who may be
// offline; it may refuse with an error, which Open returns as it is, or name the device types whose sessions must go,
// best all that conflict, as there may be sessions at gateways that are cut off. The session of the same device type
// goes in any case. decide may be asked several times, as others may be faster, and nil means that nothing else has to
// go. A position is dropped if positions are not kept. The answer, the status and the session take effect together or
// not at all.
//
// replaced are the sessions that had to go, possibly at other gateways. Those gateways learn of it by themselves, but
// nobody waits for that. Others may replace the new session at any moment: see Owns.
func (d *Directory) Open(
	ctx context.Context, s Session, status wire.UserStatus, decide func(current Entry) (conflicts []wire.DeviceType, err error),
) (replaced []Session, err error) {
	if d.registrar == nil {
		return nil, errors.New("open a session: this process has no gateway")
	}
	if d.positions == nil {
		s.Position = nil
	}
	return d.registrar.open(ctx, s, status, decide)
}

// Close removes a session that this gateway opened. One that was replaced meanwhile is somebody else's and stays. What
// cannot be told to the others now is told to them as soon as possible.
func (d *Directory) Close(ctx context.Context, userID int64, device wire.DeviceType, sessionID int32) {
	if d.registrar != nil {
		d.registrar.close(ctx, SessionKey{UserID: userID, Device: device, ID: sessionID})
	}
}

// Owns reports whether a session that this gateway opened is still the one of its user and device type, as far as is known.
// When that ends, Holder.Lost is called: a gateway that asks after it has made the session findable misses nothing.
func (d *Directory) Owns(key SessionKey) bool { return d.registrar != nil && d.registrar.owns(key) }

// SetStatus sets the status of a user who is online. It may be called on any node.
func (d *Directory) SetStatus(ctx context.Context, userID int64, status wire.UserStatus) (online bool, err error) {
	if status == wire.UserStatus_OFFLINE {
		return false, errors.New("set the status of a user: OFFLINE is not a status that can be set")
	}
	online, err = d.writer.update(ctx, userID, func(current content) (*content, bool) {
		if len(current.sessions) == 0 {
			return nil, false
		}
		if current.status == status {
			return nil, true
		}
		current.status = status
		return &current, true
	})
	if err != nil {
		return false, fmt.Errorf("set the status of user %d: %w", userID, err)
	}
	return online, nil
}

// SetStatuses is SetStatus for many users. It returns how many of them are online.
func (d *Directory) SetStatuses(ctx context.Context, userIDs []int64, status wire.UserStatus) (online int, err error) {
	var count atomic.Int64
	err = forEach(ctx, userIDs, func(ctx context.Context, userID int64) error {
		ok, err := d.SetStatus(ctx, userID, status)
		if ok {
			count.Add(1)
		}
		return err
	})
	return int(count.Load()), err
}
