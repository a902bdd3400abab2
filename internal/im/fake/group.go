// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"time"

	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// secondType is the type of groups that users join by answering a question.
const secondType int64 = 1

// groupTypes creates the second type, and raises the member limit of the first for the first group.
func (w *world) groupTypes(ctx context.Context, tx store.Tx) error {
	if err := store.EnsureGroupType(ctx, tx, group.DefaultType()); err != nil {
		return err
	}
	types, err := store.FindGroupTypes(ctx, tx, []int64{group.DefaultTypeID}, store.Page{})
	if err != nil {
		return err
	}
	if size := int32(w.tenth()); types[0].GroupSizeLimit < size {
		change := store.GroupTypeChange{GroupSizeLimit: &size}
		if _, err := store.UpdateGroupTypes(ctx, tx, []int64{group.DefaultTypeID}, change); err != nil {
			return err
		}
	}
	return store.InsertGroupType(ctx, tx, store.GroupType{
		ID: secondType, Name: "COMMUNITY", GroupSizeLimit: 2000, InvitationStrategy: store.InviteOwnerManagerMember, JoinStrategy: store.JoinByQuestion,
		GroupInfoUpdateStrategy: store.UpdateByOwnerManager, MemberInfoUpdateStrategy: store.UpdateByOwnerManager,
		GuestSpeakable: true, SelfInfoUpdatable: true, EnableReadReceipt: true, MessageEditable: true,
	})
}

// firstGroup creates group 1, owned by user 1, and its question.
func (w *world) firstGroup(ctx context.Context, tx store.Tx) error {
	created := w.ago(60 * day)
	limits := w.Settings.Group.Question
	g := store.Group{
		ID: 1, TypeID: group.DefaultTypeID, CreatorID: 1, OwnerID: 1, Name: new("Everybody"), Intro: new("The first group."),
		Announcement: new("Welcome!"), MinimumScore: 10, CreationDate: created, LastUpdatedDate: w.Date, IsActive: true,
	}
	if err := store.InsertGroups(ctx, tx, g); err != nil {
		return err
	}
	if err := store.InsertGroupMembers(ctx, tx, membership(1, 1, store.GroupOwner, created)); err != nil {
		return err
	}
	if err := store.InsertGroupVersions(ctx, tx, w.Date, map[int64]int32{1: 1}); err != nil {
		return err
	}
	question := store.GroupQuestion{
		ID: 1, GroupID: 1, Question: within("What is 1 + 1?", limits.QuestionContentLimit),
		Answers: []string{within("2", limits.AnswerContentLimit), within("two", limits.AnswerContentLimit)}, Score: 10,
	}
	if limits.MaxAnswerCount == 1 {
		question.Answers = question.Answers[:1]
	}
	if err := store.InsertGroupQuestions(ctx, tx, question); err != nil {
		return err
	}
	if err := store.BumpGroupVersions(ctx, tx, store.GroupQuestions, []int64{1}, w.Date); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, w.Date, 1)
}

func membership(groupID, userID int64, role store.GroupMemberRole, joined time.Time) store.GroupMember {
	return store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: groupID, UserID: userID}, Role: role, JoinDate: joined}
}

// firstGroupMembers lets users join group 1; the first two are its managers.
func (w *world) firstGroupMembers(ctx context.Context, tx store.Tx, first, last int64) error {
	var members []store.GroupMember
	for id := first; id <= last; id++ {
		role := store.GroupRegularMember
		if id <= 3 {
			role = store.GroupManager
		}
		members = append(members, membership(1, id, role, w.ago(60*day-time.Duration(id)*time.Minute%(29*day))))
	}
	if err := store.InsertGroupMembers(ctx, tx, members...); err != nil {
		return err
	}
	if _, err := store.AddGroupMemberCount(ctx, tx, 1, len(members), w.Date); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, w.Date, numbers(first, last)...)
}

// invitations creates invitations of user 1 to group 1.
func (w *world) invitations(ctx context.Context, tx store.Tx, first, last int64) error {
	random := w.random(partInvitations, first)
	var invitations []store.GroupInvitation
	for id := first; id <= last; id++ {
		invitations = append(invitations, store.GroupInvitation{
			ID: id - 2*w.tenth(), GroupID: 1, InviterID: 1, InviteeID: id, CreationDate: w.lately(random),
			Content: within("Come and join us!", w.Settings.Group.Invitation.MaxContentLength),
		})
	}
	if err := store.InsertGroupInvitations(ctx, tx, invitations...); err != nil {
		return err
	}
	if err := store.BumpGroupVersions(ctx, tx, store.GroupInvitations, []int64{1}, w.Date); err != nil {
		return err
	}
	if err := store.BumpUserVersion(ctx, tx, store.VersionSentGroupInvitations, w.Date, 1); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionReceivedGroupInvitations, w.Date, numbers(first, last)...)
}

// joinRequests creates requests to join group 1.
func (w *world) joinRequests(ctx context.Context, tx store.Tx, first, last int64) error {
	random := w.random(partJoinRequests, first)
	var requests []store.GroupJoinRequest
	for id := first; id <= last; id++ {
		requests = append(requests, store.GroupJoinRequest{
			ID: id - 3*w.tenth(), GroupID: 1, RequesterID: id, CreationDate: w.lately(random),
			Content: within("May I join?", w.Settings.Group.JoinRequest.MaxContentLength),
		})
	}
	if err := store.InsertGroupJoinRequests(ctx, tx, requests...); err != nil {
		return err
	}
	if err := store.BumpGroupVersions(ctx, tx, store.GroupJoinRequests, []int64{1}, w.Date); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionSentGroupJoinRequests, w.Date, numbers(first, last)...)
}

// blockedUsers blocks users from group 1.
func (w *world) blockedUsers(ctx context.Context, tx store.Tx, first, last int64) error {
	var blocked []store.GroupBlockedUser
	for id := first; id <= last; id++ {
		blocked = append(blocked, store.GroupBlockedUser{
			GroupUserKey: store.GroupUserKey{GroupID: 1, UserID: id}, BlockDate: w.ago(time.Duration(1+id%20) * day), RequesterID: 1,
		})
	}
	if err := store.InsertGroupBlockedUsers(ctx, tx, blocked...); err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupBlocklist, []int64{1}, w.Date)
}

// owner returns who owns a group.
func (w *world) owner(groupID int64) int64 {
	if groupID == 1 {
		return 1
	}
	random := w.random(partOwners, groupID)
	for {
		if user := 1 + random.Int64N(int64(w.Users)); w.fit(user) {
			return user
		}
	}
}

// groups makes groups of some users each.
func (w *world) groups(ctx context.Context, tx store.Tx, first, last int64) error {
	random := w.random(partGroups, first)
	var groups []store.Group
	var members []store.GroupMember
	var users []int64
	counts := map[int64]int32{}
	for id := first; id <= last; id++ {
		owner := w.owner(id)
		created := w.ago(time.Duration(31+random.IntN(30)) * day)
		g := store.Group{
			ID: id, TypeID: group.DefaultTypeID, CreatorID: owner, OwnerID: owner, CreationDate: created, LastUpdatedDate: w.Date, IsActive: true,
			Name: new(pick(random, groupWords[0]) + " " + pick(random, groupWords[1])), Intro: new(pick(random, intros)),
		}
		if organiser(owner) {
			g.TypeID = secondType
		}
		groups = append(groups, g)
		members = append(members, membership(id, owner, store.GroupOwner, created))
		in := map[int64]bool{owner: true}
		for range random.IntN(20) {
			user := 1 + random.Int64N(int64(w.Users))
			if in[user] {
				continue
			}
			in[user] = true
			role := store.GroupRegularMember
			switch random.IntN(10) {
			case 0:
				role = store.GroupManager
			case 1:
				role = store.GroupGuest
			}
			members = append(members, membership(id, user, role, created.Add(time.Duration(random.IntN(24))*time.Hour)))
		}
		for user := range in {
			users = append(users, user)
		}
		counts[id] = int32(len(in))
	}
	if err := store.InsertGroups(ctx, tx, groups...); err != nil {
		return err
	}
	if err := store.InsertGroupMembers(ctx, tx, members...); err != nil {
		return err
	}
	if err := store.InsertGroupVersions(ctx, tx, w.Date, counts); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, w.Date, users...)
}
