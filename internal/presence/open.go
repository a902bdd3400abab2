// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.org/app/internal/wire"
)

// Open registers a session of this process's gateway. decide gets what is known of the user, who
// may be offline. It may return an error, which Open returns unchanged, or the device types whose
// sessions must end, ideally all that conflict, because there may be sessions at disconnected
// gateways. The session of the same device type ends in any case. decide may be called several
// times, because of concurrent changes; nil means that no other session has to end. A position is
// dropped if positions are not kept. decide's answer, the status and the session take effect
// atomically.
//
// replaced are the sessions that had to end, possibly at other gateways, which learn of it
// asynchronously. Others may replace the new session at any moment: see Owns.
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

// Close removes a session that this gateway opened. It does not affect a session that has replaced
// it. If the bucket cannot be written now, that is done as soon as possible.
func (d *Directory) Close(ctx context.Context, userID int64, device wire.DeviceType, sessionID int32) {
	if d.registrar != nil {
		d.registrar.close(ctx, SessionKey{UserID: userID, Device: device, ID: sessionID})
	}
}

// Owns reports whether a session that this gateway opened still is the one of its user and device
// type, as far as is known. When that changes, Holder.Lost is called. So a gateway that calls Owns
// after it has made the session findable misses no change.
func (d *Directory) Owns(key SessionKey) bool { return d.registrar != nil && d.registrar.owns(key) }

// SetStatus sets the status of a user and reports whether the user is online. It may be called on
// any node.
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
