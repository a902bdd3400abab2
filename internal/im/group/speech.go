// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Speaker is what decides whether a user may send messages to a group. A member
// needs less than a stranger: only of strangers it is known whether they are
// blocked and whether guests may speak.
type Speaker struct {
	// Exists is whether there is such a group that was not deleted.
	Exists bool
	Group  store.Group
	Type   store.GroupType
	// Member is the membership of the user; nil is none.
	Member  *store.GroupMember
	Blocked bool

	now time.Time
}

// Speaker finds out what decides whether a user may send messages to a group.
func (d *Directory) Speaker(ctx context.Context, r store.Reader, groupID, userID int64) (Speaker, error) {
	at, err := d.standing(ctx, r, groupID, userID)
	s := Speaker{Exists: at.exists, Group: at.group, Type: at.kind, Member: at.member, now: d.now()}
	if err != nil || !s.Exists || s.Member != nil {
		return s, err
	}
	s.Blocked, err = d.IsBlocked(ctx, r, groupID, userID)
	return s, err
}

// Active reports whether the group exists and is active.
func (s Speaker) Active() bool { return s.Exists && s.Group.IsActive }

// GroupMuted reports whether nobody may speak for the time being.
func (s Speaker) GroupMuted() bool { return muted(s.Group.MuteEndDate, s.now) }

// MemberMuted reports whether the user may not speak for the time being.
func (s Speaker) MemberMuted() bool { return s.Member != nil && muted(s.Member.MuteEndDate, s.now) }

func muted(end *time.Time, now time.Time) bool { return end != nil && end.After(now) }

// MaySend refuses a user who may not send messages to the group. Members are
// checked for an inactive group and a mute of their own only if checkTarget is
// set; that the group is muted holds for everybody, its owner included.
func (s Speaker) MaySend(checkTarget bool) error {
	member := s.Member != nil
	switch {
	case (!member || checkTarget) && !s.Active():
		return apierr.New(apierr.SendMessageToInactiveGroup, "")
	case !member && !s.Type.GuestSpeakable:
		return apierr.New(apierr.NotSpeakableGroupGuestToSendMessage, "")
	case s.GroupMuted():
		return apierr.New(apierr.SendMessageToMutedGroup, "")
	case !member && s.Blocked:
		return apierr.New(apierr.BlockedUserSendGroupMessage, "")
	case checkTarget && s.MemberMuted():
		return apierr.New(apierr.MutedGroupMemberSendMessage, "")
	}
	return nil
}
