// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Creation defines a new meeting.
type Creation struct {
	CreatorID int64
	// UserID or GroupID is invited; the other one is nil.
	UserID, GroupID       *int64
	Name, Intro, Password *string
	// StartDate is when it begins; nil or a past date means at once.
	StartDate *time.Time
	// Key is stored as the key of the request that creates the meeting; nil means none.
	Key *store.MessageKey
}

// forgotten is how long the creation of a meeting may take. If it takes longer, the server has
// died.
const forgotten = 10 * time.Minute

// Create creates a meeting.
//
// The meeting is stored before the provider is called, which reserves its id and counts towards the
// creator's quota. It becomes visible when the provider has agreed. No transaction is open during
// the provider's call, which may take long and use the store.
func (d *Directory) Create(ctx context.Context, c Creation) (store.Meeting, error) {
	if err := d.available(); err != nil {
		return store.Meeting{}, err
	}
	settings := d.opts.Settings().Meeting
	m, err := d.compose(c, settings)
	if err != nil {
		return store.Meeting{}, err
	}
	m, before, err := d.reserve(ctx, m, c.Key, settings)
	if err != nil {
		return store.Meeting{}, err
	}
	if err := d.checkQuota(ctx, m.CreatorID, before, settings); err != nil {
		d.giveUp(ctx, m.ID)
		return store.Meeting{}, err
	}
	begins := !m.StartDate.After(m.CreationDate)
	if begins {
		token, err := d.opts.Provider.Create(ctx, m.CreatorID, m, limitsOf(m))
		if err != nil {
			d.giveUp(ctx, m.ID)
			return store.Meeting{}, err
		}
		if token != "" {
			m.AccessToken = &token
		}
	}
	if err := d.confirm(ctx, m, c.Key); err != nil {
		if begins {
			d.takeBack(ctx, m)
		}
		if _, known := errors.AsType[*store.KnownRequest](err); known || errors.Is(err, store.ErrDuplicateKey) {
			d.giveUp(ctx, m.ID) // The same request was faster elsewhere.
		}
		return store.Meeting{}, err
	}
	return m, nil
}

// compose validates the properties of a meeting and returns it, without an id.
func (d *Directory) compose(c Creation, s config.Meeting) (store.Meeting, error) {
	now := d.now()
	m := store.Meeting{
		CreatorID: c.CreatorID, UserID: c.UserID, GroupID: c.GroupID, Name: c.Name, Intro: c.Intro, CreationDate: now, StartDate: now,
	}
	if (c.UserID == nil) == (c.GroupID == nil) {
		return m, apierr.New(apierr.IllegalArgument, "either userId or groupId is required")
	}
	if c.UserID != nil {
		if err := check.UserID("userId", *c.UserID); err != nil {
			return m, err
		}
	}
	err := cmp.Or(
		checkText("name", c.Name, s.Name.MinLength, s.Name.MaxLength), checkText("intro", c.Intro, s.Intro.MinLength, s.Intro.MaxLength),
	)
	if err != nil {
		return m, err
	}
	if c.StartDate != nil && c.StartDate.After(now) {
		m.StartDate = c.StartDate.UTC().Truncate(time.Millisecond)
		if latest := now.Add(time.Duration(s.Scheduling.MaxAllowedStartDateOffsetSeconds) * time.Second); m.StartDate.After(latest) {
			return m, apierr.New(apierr.IllegalArgument, "startDate: %s must be at most %d seconds in the future", m.StartDate.Format(time.RFC3339), s.Scheduling.MaxAllowedStartDateOffsetSeconds)
		}
	}
	m.Password, err = newPassword(c.Password, s.Password)
	return m, err
}

// checkText returns an error if a text is too short or too long. A missing text counts as empty.
func checkText(field string, text *string, least, most int32) error {
	if text == nil {
		text = new("")
	}
	if n := check.Length(*text); n < int(least) {
		return apierr.New(apierr.IllegalArgument, "%s: must have at least %d characters, but has %d", field, least, n)
	}
	return check.MaxLength(field, *text, most)
}

// attempts is how many ids are tried.
const attempts = 16

// reserve gives a meeting an id and stores it, if its creator may send messages to the invited
// users. It returns how many other meetings of the creator were being created.
func (d *Directory) reserve(ctx context.Context, m store.Meeting, key *store.MessageKey, s config.Meeting) (_ store.Meeting, before int64, err error) {
	for range attempts {
		if m.ID, err = newID(s.ID.Type); err != nil {
			return m, 0, err
		}
		err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			if err := key.Recall(ctx, tx); err != nil {
				return err
			}
			if err := d.mayInvite(ctx, tx, m); err != nil {
				return err
			}
			if err := store.DeletePendingMeetings(ctx, tx, m.CreatorID, m.CreationDate.Add(-forgotten)); err != nil {
				return err
			}
			if before, err = store.CountPendingMeetings(ctx, tx, m.CreatorID); err != nil {
				return err
			}
			return store.InsertPendingMeeting(ctx, tx, m)
		})
		if !errors.Is(err, store.ErrDuplicateKey) {
			return m, before, err
		}
	}
	return m, 0, apierr.Wrap(apierr.ServerUnavailable, fmt.Errorf("find an id for a meeting that is free: %d attempts: %w", attempts, err))
}

func (d *Directory) mayInvite(ctx context.Context, r store.Reader, m store.Meeting) error {
	if m.GroupID != nil {
		return d.opts.Messages.MaySend(ctx, r, m.CreatorID, *m.GroupID, true)
	}
	return d.opts.Messages.MaySend(ctx, r, m.CreatorID, *m.UserID, false)
}

// newID returns a random number with the configured number of digits.
func newID(t config.MeetingIDType) (int64, error) {
	least := int64(100_000_000)
	if t == config.MeetingDigits10 {
		least *= 10
	}
	n, err := rand.Int(rand.Reader, big.NewInt(9*least))
	if err != nil {
		return 0, fmt.Errorf("make an id for a meeting: %w", err)
	}
	return least + n.Int64(), nil
}

// checkQuota returns an error if a creator has reached the limit of active meetings. Those being
// created count, too: the provider may not know them yet.
func (d *Directory) checkQuota(ctx context.Context, creatorID, before int64, s config.Meeting) error {
	limit := int64(s.Quota.MaxActiveMeetingCountPerUser)
	if limit <= 0 {
		return nil
	}
	n, known, err := d.opts.Provider.CountActive(ctx, creatorID)
	if err != nil || !known || int64(n)+before < limit {
		return err
	}
	return apierr.New(apierr.CreateMeetingExceedingMaxActiveMeetingCount, "a user may have %d meetings at a time", limit)
}

// confirm makes a meeting visible.
func (d *Directory) confirm(ctx context.Context, m store.Meeting, key *store.MessageKey) error {
	return d.opts.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx store.Tx) error {
		if err := key.Remember(ctx, tx, m.ID); err != nil {
			return err
		}
		ok, err := store.ConfirmMeeting(ctx, tx, m.ID, m.AccessToken)
		if err == nil && !ok {
			err = apierr.New(apierr.ResourceNotFound, "the meeting was deleted, with whoever was to take part, while it was created")
		}
		return err
	})
}

// giveUp deletes a meeting whose creation failed. If that fails, it is deleted later.
func (d *Directory) giveUp(ctx context.Context, meetingID int64) {
	err := d.opts.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx store.Tx) error {
		_, err := store.DeleteMeetings(ctx, tx, []int64{meetingID})
		return err
	})
	if err != nil {
		d.opts.Logger.WarnContext(ctx, "a meeting that was not created is still stored", "meeting", meetingID, "error", err)
	}
}

// takeBack makes the provider cancel a meeting that could not be confirmed.
func (d *Directory) takeBack(ctx context.Context, m store.Meeting) {
	if err := d.opts.Provider.Cancel(context.WithoutCancel(ctx), m.CreatorID, m.ID); err != nil {
		d.opts.Logger.WarnContext(ctx, "a meeting that was not created goes on at its provider", "meeting", m.ID, "error", err)
	}
}
