// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Speaker contains what decides whether a user may send messages to a group. Whether the user is
// blocked and whether guests may speak is read only for users who are no members.
type Speaker struct {
	// Exists is true if the group exists and is not deleted.
	Exists bool
	Group  store.Group
	Type   store.GroupType
	// Member is the membership of the user; nil means none.
	Member  *store.GroupMember
	Blocked bool

	now time.Time
}

// Speaker returns what decides whether a user may send messages to a group.
func (m *Members) Speaker(ctx context.Context, r store.Reader, groupID, userID int64) (Speaker, error) {
	key := store.GroupUserKey{GroupID: groupID, UserID: userID}
	speakers, err := m.Speakers(ctx, r, []store.GroupUserKey{key})
	return speakers[key], err
}

// Speakers is Speaker for many users of groups, with as many statements as for one.
func (m *Members) Speakers(ctx context.Context, r store.Reader, keys []store.GroupUserKey) (map[store.GroupUserKey]Speaker, error) {
	speakers := make(map[store.GroupUserKey]Speaker, len(keys))
	groups, err := store.FindGroups(ctx, r, store.GroupFilter{IDs: distinct(convert(keys, groupOf)), Deleted: new(false)}, store.Page{})
	if err != nil || len(groups) == 0 {
		return speakers, err
	}
	types, err := store.FindGroupTypes(ctx, r, distinct(append(convert(groups, typeOf), DefaultTypeID)), store.Page{})
	if err != nil {
		return nil, err
	}
	members, err := store.GetGroupMembers(ctx, r, keys)
	if err != nil {
		return nil, err
	}
	typeByID, now := byID(types, func(t store.GroupType) int64 { return t.ID }), m.now()
	groupByID := byID(groups, func(g store.Group) int64 { return g.ID })
	memberByKey := byID(members, func(m store.GroupMember) store.GroupUserKey { return m.GroupUserKey })
	var strangers []store.GroupUserKey
	for _, key := range keys {
		g, exists := groupByID[key.GroupID]
		if !exists {
			continue
		}
		kind, known := typeByID[g.TypeID]
		if !known {
			kind = typeByID[DefaultTypeID]
		}
		s := Speaker{Exists: true, Group: g, Type: kind, now: now}
		if m, found := memberByKey[key]; found {
			s.Member = &m
		} else {
			strangers = append(strangers, key)
		}
		speakers[key] = s
	}
	if len(strangers) == 0 {
		return speakers, nil
	}
	blocked, err := store.FindGroupBlocks(ctx, r, strangers)
	for _, key := range blocked {
		s := speakers[key]
		s.Blocked = true
		speakers[key] = s
	}
	return speakers, err
}

func groupOf(key store.GroupUserKey) int64 { return key.GroupID }
func typeOf(g store.Group) int64           { return g.TypeID }

// byID maps records by their id.
func byID[K comparable, R any](records []R, id func(R) K) map[K]R {
	found := make(map[K]R, len(records))
	for _, record := range records {
		found[id(record)] = record
	}
	return found
}

// Active reports whether the group exists and is active.
func (s Speaker) Active() bool { return s.Exists && s.Group.IsActive }

// GroupMuted reports whether the group is muted now.
func (s Speaker) GroupMuted() bool { return muted(s.Group.MuteEndDate, s.now) }

// MemberMuted reports whether the user is muted now.
func (s Speaker) MemberMuted() bool { return s.Member != nil && muted(s.Member.MuteEndDate, s.now) }

func muted(end *time.Time, now time.Time) bool { return end != nil && end.After(now) }

// MaySend returns an error if a user may not send messages to the group. For members, an inactive
// group and their own mute count only if checkTarget is set; a mute of the group applies to
// everybody, its owner included.
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
