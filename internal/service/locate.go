// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"example.org/app/internal/presence"
	"example.org/app/internal/sleep"
)

// locateTime is how long a lane waits for the location of recipients.
const locateTime = 2 * time.Second

// locate returns the gateways of users. unknown are users whose location is not known in time.
func (n *Notifier) locate(ctx context.Context, ids []int64) (found []presence.Destination, unknown []int64) {
	found, unknown = n.presence.Locate(ctx, ids)
	if len(unknown) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, locateTime)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	for wait := retryMin; len(unknown) > 0 && sleep.For(ctx, wait) == nil; wait = min(2*wait, retryMax) {
		var more []presence.Destination
		more, unknown = n.presence.Locate(ctx, unknown)
		found = append(found, more...)
	}
	return found, unknown
}
