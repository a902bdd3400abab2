// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"context"

	"example.org/app/internal/store"
)

// Query says which meetings a user wants to see. An empty field is no restriction.
type Query struct {
	IDs, CreatorIDs, UserIDs, GroupIDs []int64
	CreationDate                       store.DateRange
	// Limit is how many at most; 0 is as many as the server gives at once.
	Limit, Offset int
}

// maxFound bounds how many meetings a user gets at once.
const maxFound = 1000

// Query returns meetings that a user may see: those that it created and is invited
// to, by itself or with a group. Passwords and tokens are for their creators alone,
// and a token is only shown while it could let somebody in.
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
