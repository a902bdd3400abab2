// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"context"

	"example.org/app/internal/store"
)

// Query selects meetings. Empty fields do not restrict it.
type Query struct {
	IDs, CreatorIDs, UserIDs, GroupIDs []int64
	CreationDate                       store.DateRange
	// Limit is the maximum number; 0 means maxFound.
	Limit, Offset int
}

// maxFound bounds how many meetings a user gets at once.
const maxFound = 1000

// Query returns the meetings that a user may see: those that it created or is invited to, directly
// or with a group. Only the creator gets passwords and tokens, and tokens only while they may be
// used.
func (d *Directory) Query(ctx context.Context, requesterID int64, q Query) (found []store.Meeting, err error) {
	if err := d.available(); err != nil {
		return nil, err
	}
	page := store.Page{Limit: q.Limit, Offset: max(q.Offset, 0)}
	if page.Limit <= 0 || page.Limit > maxFound {
		page.Limit = maxFound
	}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		joined, err := store.JoinedGroupIDs(ctx, r, requesterID)
		if err != nil {
			return err
		}
		found, err = store.FindMeetings(ctx, r, store.MeetingFilter{
			IDs: q.IDs, CreatorIDs: q.CreatorIDs, UserIDs: q.UserIDs, GroupIDs: q.GroupIDs, CreationDate: q.CreationDate,
			For: &store.MeetingViewer{UserID: requesterID, GroupIDs: joined},
		}, page)
		return err
	})
	for i := range found {
		m := &found[i]
		if m.CreatorID != requesterID {
			m.Password = nil
		}
		if m.CreatorID != requesterID || d.mayEnter(*m) != nil {
			m.AccessToken = nil
		}
	}
	return found, err
}
