// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Lists of which the devices of users keep a copy. Whoever asks for one says of
// which date the copy is, or nil for none, and gets the list and the date of its
// last change. The date is nil, and the list is not read, if the copy is up to
// date; it always is of what has never been there.

// version finds out when a list changed last; nil is never.
type version func(ctx context.Context, r store.Reader) (*time.Time, error)

func (d *Directory) versionOfGroup(part store.GroupPart, groupID int64) version {
	return func(ctx context.Context, r store.Reader) (*time.Time, error) {
		at, found, err := d.Version(ctx, r, part, groupID)
		if err != nil || !found {
			return nil, err
		}
		return &at, nil
	}
}

func versionOfUser(kind store.UserVersion, userID int64) version {
	return func(ctx context.Context, r store.Reader) (*time.Time, error) {
		return store.FindUserVersion(ctx, r, kind, userID)
	}
}

// list reads a list unless the copy is up to date. The date is read first: a change
// in between makes the copy look too old, never too new.
func list[T any](ctx context.Context, r store.Reader, since *time.Time, version version, items func() ([]T, error)) ([]T, *time.Time, error) {
	at, err := version(ctx, r)
	if err != nil || at == nil || since != nil && !since.Before(*at) {
		return nil, nil, err
	}
	found, err := items()
	if err != nil {
		return nil, nil, err
	}
	return found, at, nil
}

// JoinedGroupIDList returns the groups that a user is a member of.
func (d *Directory) JoinedGroupIDList(ctx context.Context, userID int64, since *time.Time) (found []int64, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, date, err = list(ctx, r, since, versionOfUser(store.VersionJoinedGroups, userID), func() ([]int64, error) {
			return store.JoinedGroupIDs(ctx, r, userID)
		})
		return err
	})
	return found, date, err
}

// JoinedGroupList returns the groups that a user is a member of.
func (d *Directory) JoinedGroupList(ctx context.Context, userID int64, since *time.Time) (found []store.Group, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, date, err = list(ctx, r, since, versionOfUser(store.VersionJoinedGroups, userID), func() ([]store.Group, error) {
			return store.FindGroups(ctx, r, store.GroupFilter{MemberIDs: []int64{userID}, Deleted: new(false)}, store.Page{})
		})
		return err
	})
	return found, date, err
}

// ChangedGroups returns those of the groups that were not deleted and, if since is
// not nil, have changed after it.
func (d *Directory) ChangedGroups(ctx context.Context, groupIDs []int64, since *time.Time) ([]store.Group, error) {
	if len(groupIDs) == 0 {
		return nil, nil
	}
	f := store.GroupFilter{IDs: groupIDs, Deleted: new(false)}
	if since != nil {
		f.LastUpdatedDate.Start = new(since.Add(time.Millisecond))
	}
	return d.Find(ctx, f, 0, 0)
}

// MemberList returns the members of a group to one of them.
func (d *Directory) MemberList(ctx context.Context, requester, groupID int64, since *time.Time) (found []store.GroupMember, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if err := d.maySeeMembers(ctx, r, requester, groupID); err != nil {
			return err
		}
		found, date, err = list(ctx, r, since, d.versionOfGroup(store.GroupMembers, groupID), func() ([]store.GroupMember, error) {
			return store.FindGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{groupID}}, store.Page{})
		})
		return err
	})
	return found, date, err
}

// SomeMembers returns those of the users who are members of a group to one of its
// members.
func (d *Directory) SomeMembers(ctx context.Context, requester, groupID int64, userIDs []int64) (found []store.GroupMember, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if err := d.maySeeMembers(ctx, r, requester, groupID); err != nil {
			return err
		}
		found = nil
		if len(userIDs) > 0 {
			found, err = store.FindGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{groupID}, UserIDs: userIDs}, store.Page{})
		}
		return err
	})
	return found, err
}

func (d *Directory) maySeeMembers(ctx context.Context, r store.Reader, requester, groupID int64) error {
	member, err := d.IsMember(ctx, r, groupID, requester)
	if err == nil && !member {
		err = apierr.New(apierr.NotGroupMemberToQueryGroupMemberInfo, "")
	}
	return err
}

// BlockedUserIDList returns the users whom a group keeps out.
func (d *Directory) BlockedUserIDList(ctx context.Context, groupID int64, since *time.Time) (found []int64, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, date, err = list(ctx, r, since, d.versionOfGroup(store.GroupBlocklist, groupID), func() ([]int64, error) {
			blocked, err := store.FindGroupBlockedUsers(ctx, r, store.GroupBlockedUserFilter{GroupIDs: []int64{groupID}}, store.Page{})
			return convert(blocked, func(u store.GroupBlockedUser) int64 { return u.UserID }), err
		})
		return err
	})
	return found, date, err
}

// GroupInvitationList returns the invitations to a group to somebody who manages
// it.
func (d *Directory) GroupInvitationList(ctx context.Context, requester, groupID int64, since *time.Time) ([]Invitation, *time.Time, error) {
	allowed := func(ctx context.Context, r store.Reader) error {
		_, err := d.managed(ctx, r, groupID, requester, apierr.NotGroupOwnerOrManagerToQueryGroupInvitation)
		return err
	}
	return d.invitationList(ctx, allowed, since, d.versionOfGroup(store.GroupInvitations, groupID), store.GroupInvitationFilter{GroupIDs: []int64{groupID}})
}

// SentInvitationList returns the invitations that a user has sent.
func (d *Directory) SentInvitationList(ctx context.Context, userID int64, since *time.Time) ([]Invitation, *time.Time, error) {
	version := versionOfUser(store.VersionSentGroupInvitations, userID)
	return d.invitationList(ctx, anybody, since, version, store.GroupInvitationFilter{InviterIDs: []int64{userID}})
}

// ReceivedInvitationList returns the invitations that a user has got.
func (d *Directory) ReceivedInvitationList(ctx context.Context, userID int64, since *time.Time) ([]Invitation, *time.Time, error) {
	version := versionOfUser(store.VersionReceivedGroupInvitations, userID)
	return d.invitationList(ctx, anybody, since, version, store.GroupInvitationFilter{InviteeIDs: []int64{userID}})
}

// anybody may read a list.
func anybody(context.Context, store.Reader) error { return nil }

func (d *Directory) invitationList(ctx context.Context, allowed func(context.Context, store.Reader) error, since *time.Time, version version, f store.GroupInvitationFilter) (found []Invitation, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if err := allowed(ctx, r); err != nil {
			return err
		}
		found, date, err = list(ctx, r, since, version, func() ([]Invitation, error) {
			found, err := store.FindGroupInvitations(ctx, r, f, store.Page{})
			return convert(found, d.invitation), err
		})
		return err
	})
	return found, date, err
}

// GroupJoinRequestList returns the requests to join a group to somebody who
// manages it.
func (d *Directory) GroupJoinRequestList(ctx context.Context, requester, groupID int64, since *time.Time) ([]JoinRequest, *time.Time, error) {
	allowed := func(ctx context.Context, r store.Reader) error {
		_, err := d.managed(ctx, r, groupID, requester, apierr.NotGroupOwnerOrManagerToQueryGroupJoinRequest)
		return err
	}
	return d.joinRequestList(ctx, allowed, since, d.versionOfGroup(store.GroupJoinRequests, groupID), store.GroupJoinRequestFilter{GroupIDs: []int64{groupID}})
}

// SentJoinRequestList returns the join requests that a user has sent.
func (d *Directory) SentJoinRequestList(ctx context.Context, userID int64, since *time.Time) ([]JoinRequest, *time.Time, error) {
	version := versionOfUser(store.VersionSentGroupJoinRequests, userID)
	return d.joinRequestList(ctx, anybody, since, version, store.GroupJoinRequestFilter{RequesterIDs: []int64{userID}})
}

func (d *Directory) joinRequestList(ctx context.Context, allowed func(context.Context, store.Reader) error, since *time.Time, version version, f store.GroupJoinRequestFilter) (found []JoinRequest, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if err := allowed(ctx, r); err != nil {
			return err
		}
		found, date, err = list(ctx, r, since, version, func() ([]JoinRequest, error) {
			found, err := store.FindGroupJoinRequests(ctx, r, f, store.Page{})
			return convert(found, d.joinRequest), err
		})
		return err
	})
	return found, date, err
}

// QuestionList returns the questions of a group. The answers are for those alone
// who manage it.
func (d *Directory) QuestionList(ctx context.Context, requester, groupID int64, withAnswers bool, since *time.Time) (found []store.GroupQuestion, date *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if withAnswers {
			if _, err := d.managed(ctx, r, groupID, requester, apierr.NotGroupOwnerOrManagerToQueryGroupQuestionAnswer); err != nil {
				return err
			}
		}
		found, date, err = list(ctx, r, since, d.versionOfGroup(store.GroupQuestions, groupID), func() ([]store.GroupQuestion, error) {
			return store.FindGroupQuestions(ctx, r, store.GroupQuestionFilter{GroupIDs: []int64{groupID}}, store.Page{})
		})
		return err
	})
	if !withAnswers {
		for i := range found {
			found[i].Answers = nil
		}
	}
	return found, date, err
}
