// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"context"
	"time"

	"example.org/app/internal/store"
)

// expiryBatch bounds how many meetings one transaction of the clean-up deletes.
const expiryBatch = 500

// DeleteExpired deletes expired meetings and those whose creation was not finished, and returns how
// many. One node at a time should call it; it can be interrupted and repeated.
func (d *Directory) DeleteExpired(ctx context.Context, db store.Writer) (deleted int64, err error) {
	now, s := d.now(), d.opts.Settings().Meeting
	over := store.OverMeeting{Pending: now.Add(-forgotten)}
	if s.RetentionPeriodHours > 0 {
		// Milliseconds, because the hours may overflow a time.Duration.
		over.Ended = time.UnixMilli(now.UnixMilli() - int64(s.RetentionPeriodHours)*time.Hour.Milliseconds())
		if lifetime := s.Scheduling.ExpireAfterSeconds; lifetime > 0 {
			over.Begun = over.Ended.Add(-time.Duration(lifetime) * time.Second)
		}
	}
	for {
		var n int
		err := db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			ids, err := store.FindOverMeetings(ctx, tx, over, expiryBatch)
			if n = len(ids); err != nil || n == 0 {
				return err
			}
			_, err = store.DeleteMeetings(ctx, tx, ids)
			return err
		})
		if err != nil {
			return deleted, err
		}
		if deleted += int64(n); n < expiryBatch {
			return deleted, nil
		}
	}
}
