// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// conference is a plugin that holds meetings. It refuses those named "full", and fails at others.
const conference = `
  open = new Map();
  createMeeting(requesterId, meeting, options) {
    app.log.info('created', JSON.stringify([requesterId, meeting, options]));
    if (meeting.name === 'full') throw new AppError('SERVER_UNAVAILABLE', 'there is no room');
    if (meeting.name === 'broken') throw new TypeError('x');
    this.open.set(meeting.id, requesterId);
    if (meeting.name !== 'without token') return { accessToken: requesterId + ' creates ' + meeting.id };
  }
  cancelMeeting(requesterId, meetingId) {
    if (this.open.get(meetingId) !== requesterId) throw new AppError('RESOURCE_NOT_FOUND', 'not under way');
    this.open.delete(meetingId);
  }
  countActiveMeetingsByUserId(userId) { return [...this.open.values()].filter((id) => id === userId).length; }
  async acceptMeetingInvitation(requesterId, meetingId) { return { accessToken: requesterId + ' enters ' + meetingId }; }`

// withConference enables meetings without a limit.
func (w *world) withConference() *notebook {
	w.T.Helper()
	w.Rules.Conference.Meeting.Quota.MaxActiveMeetingCountPerUser = 0
	return w.plugins("ConferenceServiceProvider", conference)
}

// meetingsOf returns the meetings that a user sees.
func (w *world) meetingsOf(userID int64, query *wire.QueryMeetingsRequest) []*wire.Meeting {
	w.T.Helper()
	found := w.want(apierr.OK, userID, query).Data.GetMeetings()
	if found == nil {
		w.T.Fatal("the answer has no meetings, not even an empty list")
	}
	return found.GetMeetings()
}

// wantMeetings compares meetings.
func wantMeetings(t *testing.T, got []*wire.Meeting, want ...*wire.Meeting) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCreateMeeting creates meetings for a user and for a group, and checks the invitations.
func TestCreateMeeting(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3)
	group := w.Group(1, 2, 3)
	notes := w.withConference()
	w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordOptional
	w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 60
	now := w.Now.UnixMilli()
	invited := func(to *wire.CreateMessageRequest, m *wire.Meeting, sessions ...session) {
		t.Helper()
		got := w.received(sessions[0])
		if len(got) != 1 {
			t.Fatalf("the invitation is %v", got)
		}
		relay := got[0].GetRelayedRequest().GetCreateMessageRequest()
		if got[0].RequestId == nil || got[0].GetRequestId() != 0 || got[0].GetRequesterId() != 1 {
			t.Errorf("the invitation is %v", got[0])
		}
		records := relay.GetRecords()
		if len(records) != 2 || len(records[0]) != 1 || records[0][0] != 2 {
			t.Fatalf("the records are %v", records)
		}
		announced := new(wire.Meeting)
		if err := proto.Unmarshal(records[1], announced); err != nil {
			t.Fatal(err)
		}
		wantMeetings(t, []*wire.Meeting{announced}, m)
		if stored := w.stored(relay.GetMessageId()); !stored.IsSystemMessage || stored.SenderID != 1 || len(stored.Records) != 2 || stored.IsGroupMessage != (to.GroupId != nil) {
			t.Errorf("stored is %+v", stored)
		}
		to.MessageId, to.DeliveryDate, to.IsSystemMessage, to.Records = relay.MessageId, proto.Int64(now), proto.Bool(true), records
		w.wantNotified(1, to, sessions[1:]...)
	}

	attributes := []*wire.Value{{Kind: &wire.Value_StringValue{StringValue: "a"}}}
	id := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{
		UserId: proto.Int64(2), Name: proto.String("name"), Intro: proto.String("intro"), Password: proto.String("123456"), CustomAttributes: attributes,
	}).Data.GetLong()
	m := &wire.Meeting{Id: id, UserId: proto.Int64(2), CreatorId: 1, Name: proto.String("name"), Intro: proto.String("intro"), StartDate: now, CustomAttributes: attributes}
	invited(&wire.CreateMessageRequest{RecipientId: proto.Int64(2)}, m, other(1, 2)...)
	for _, part := range []string{
		`["1",{"id":"`, `"creatorId":"1","userId":"2","name":"name","intro":"intro","password":"123456","creationDate":"2024-03-28T12:00:00.000Z","startDate":"2024-03-28T12:00:00.000Z"}`,
		`{"maxParticipants":2,"idleTimeoutMillis":"3600000"}]`,
	} {
		if line := <-notes.lines; !strings.Contains(line, part) {
			t.Errorf("the plugin got %s, without %s", line, part)
		} else {
			notes.lines <- line
		}
	}
	m.CustomAttributes = nil
	wantMeetings(t, w.meetingsOf(2, &wire.QueryMeetingsRequest{}), m)
	m.Password, m.AccessToken = proto.String("123456"), new("1 creates "+decimal(id))
	wantMeetings(t, w.meetingsOf(1, &wire.QueryMeetingsRequest{}), m)

	id = w.want(apierr.OK, 1, &wire.CreateMeetingRequest{GroupId: &group, Name: proto.String("without token")}).Data.GetLong()
	m = &wire.Meeting{Id: id, GroupId: &group, CreatorId: 1, Name: proto.String("without token"), StartDate: now}
	invited(&wire.CreateMessageRequest{GroupId: &group}, m, other(1, 2, 3)...)
	wantMeetings(t, w.meetingsOf(1, &wire.QueryMeetingsRequest{GroupIds: []int64{group}}), m)

	id = w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(3), StartDate: proto.Int64(now + 60_000)}).Data.GetLong()
	m = &wire.Meeting{Id: id, UserId: proto.Int64(3), CreatorId: 1, StartDate: now + 60_000}
	invited(&wire.CreateMessageRequest{RecipientId: proto.Int64(3)}, m, other(1, 3)...)
	wantMeetings(t, w.meetingsOf(3, &wire.QueryMeetingsRequest{UserIds: []int64{3}}), m)
}

// TestMeetingQuery queries meetings by each filter.
func TestMeetingQuery(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	group := w.Group(2, 1)
	w.withConference()
	if got := w.meetingsOf(1, &wire.QueryMeetingsRequest{}); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
	begin := w.Now
	create := func(creator int64, r *wire.CreateMeetingRequest) int64 {
		w.advance(time.Minute)
		return w.want(apierr.OK, creator, r).Data.GetLong()
	}
	first := create(1, &wire.CreateMeetingRequest{UserId: proto.Int64(2)})
	second := create(2, &wire.CreateMeetingRequest{UserId: proto.Int64(1)})
	third := create(2, &wire.CreateMeetingRequest{GroupId: &group})
	create(2, &wire.CreateMeetingRequest{UserId: proto.Int64(3)})
	after := func(minutes int) *int64 {
		return proto.Int64(begin.Add(time.Duration(minutes) * time.Minute).UnixMilli())
	}
	for _, test := range []struct {
		query *wire.QueryMeetingsRequest
		want  []int64
	}{
		{&wire.QueryMeetingsRequest{}, []int64{first, second, third}},
		{&wire.QueryMeetingsRequest{Ids: []int64{third, 1}}, []int64{third}},
		{&wire.QueryMeetingsRequest{CreatorIds: []int64{2, 3}}, []int64{second, third}},
		{&wire.QueryMeetingsRequest{UserIds: []int64{1, 3}}, []int64{second}},
		{&wire.QueryMeetingsRequest{GroupIds: []int64{group}}, []int64{third}},
		{&wire.QueryMeetingsRequest{CreationDateStart: after(2)}, []int64{second, third}},
		{&wire.QueryMeetingsRequest{CreationDateEnd: after(2)}, []int64{first}},
		{&wire.QueryMeetingsRequest{Skip: proto.Int32(1), Limit: proto.Int32(1)}, []int64{second}},
		{&wire.QueryMeetingsRequest{CreatorIds: []int64{3}}, nil},
	} {
		var got []int64
		for _, m := range w.meetingsOf(1, test.query) {
			got = append(got, m.GetId())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.query, diff)
		}
	}
}

// meetingFlags returns the notification settings of meetings, each with the sessions that it
// selects, if the requester is one of two or more.
func meetingFlags(requester int64, others ...int64) map[config.NotifyOfMeeting][]session {
	return map[config.NotifyOfMeeting][]session{
		{}:                                nil,
		{NotifyMeetingParticipants: true}: other(requester, others...),
		{NotifyRequesterOtherOnlineSessions: true}:                                  other(requester),
		{NotifyRequesterOtherOnlineSessions: true, NotifyMeetingParticipants: true}: other(requester, others...),
	}
}

// TestCancelMeeting cancels meetings and checks the notifications.
func TestCancelMeeting(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 4)
	group := w.Group(2, 1, 3)
	w.withConference()
	for _, target := range []struct {
		request *wire.CreateMeetingRequest
		others  []int64
	}{
		{&wire.CreateMeetingRequest{UserId: proto.Int64(2)}, []int64{2}},
		{&wire.CreateMeetingRequest{GroupId: &group}, []int64{2, 3}},
	} {
		for flags, sessions := range meetingFlags(1, target.others...) {
			w.quiet().MeetingCanceled = flags
			id := w.want(apierr.OK, 1, target.request).Data.GetLong()
			request := &wire.DeleteMeetingRequest{Id: &id}
			w.want(apierr.CancelNonexistentMeeting, 4, request)
			w.want(apierr.NotCreatorToCancelMeeting, 2, request)
			w.want(apierr.OK, 1, request)
			w.wantNotified(1, request, sessions...)
			w.want(apierr.OK, 1, request)
			w.wantNotified(1, nil)
			found := w.meetingsOf(2, &wire.QueryMeetingsRequest{Ids: []int64{id}})
			if len(found) != 1 || found[0].GetCancelDate() != w.Now.UnixMilli() {
				t.Errorf("the meeting is %v", found)
			}
			w.want(apierr.AcceptMeetingInvitationOfCanceledMeeting, 2, &wire.UpdateMeetingInvitationRequest{MeetingId: id})
		}
	}
	w.want(apierr.CancelNonexistentMeeting, 1, &wire.DeleteMeetingRequest{Id: proto.Int64(9)})
	w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 60
	later := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2), StartDate: proto.Int64(w.Now.UnixMilli() + 1)}).Data.GetLong()
	if a := w.want(apierr.ResourceNotFound, 1, &wire.DeleteMeetingRequest{Id: &later}); a.Reason != "not under way" {
		t.Errorf("the reason is %q", a.Reason)
	}
	if m := w.meetingsOf(1, &wire.QueryMeetingsRequest{Ids: []int64{later}})[0]; m.CancelDate != nil {
		t.Errorf("cancelled against the will of the plugin: %v", m)
	}
	w.Rules.Conference.Meeting.Scheduling.AllowCancel = false
	w.want(apierr.CancelingMeetingIsDisabled, 1, &wire.DeleteMeetingRequest{Id: &later})
}

// TestUpdateMeeting changes meetings and checks the notifications, which omit the password.
func TestUpdateMeeting(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3)
	group := w.Group(2, 1)
	w.withConference()
	w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordOptional
	w.quiet()
	id := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{GroupId: &group}).Data.GetLong()
	for flags, sessions := range meetingFlags(2, 1) {
		w.quiet().MeetingUpdated = flags
		request := &wire.UpdateMeetingRequest{Id: &id, Name: proto.String("n"), Intro: proto.String("i")}
		w.want(apierr.OK, 2, request)
		w.wantNotified(2, request, sessions...)
	}
	w.quiet().MeetingUpdated = config.NotifyOfMeeting{NotifyMeetingParticipants: true}
	both := &wire.UpdateMeetingRequest{Id: &id, Name: proto.String("m"), Password: proto.String("123456")}
	w.want(apierr.OK, 1, both)
	phone := session{"gateway2", 1, android}
	if got := w.received(phone); len(got) != 1 || !proto.Equal(got[0].GetRelayedRequest().GetUpdateMeetingRequest(), both) {
		t.Errorf("the creator's phone got %v", got)
	}
	w.wantNotified(1, &wire.UpdateMeetingRequest{Id: &id, Name: proto.String("m")}, all(2)...)
	w.want(apierr.OK, 1, &wire.UpdateMeetingRequest{Id: &id, Password: proto.String("654321")})
	w.want(apierr.OK, 1, &wire.UpdateMeetingRequest{Id: &id})
	w.wantNotified(1, nil)
	w.want(apierr.NotCreatorToUpdateMeetingPassword, 2, &wire.UpdateMeetingRequest{Id: &id, Password: proto.String("123456")})
	w.want(apierr.UpdateInfoOfNonexistentMeeting, 3, &wire.UpdateMeetingRequest{Id: &id, Name: proto.String("x")})
	w.want(apierr.IllegalArgument, 1, &wire.UpdateMeetingRequest{Id: &id, Name: proto.String(strings.Repeat("x", 21))})
	w.want(apierr.AcceptMeetingInvitationWithWrongPassword, 2, &wire.UpdateMeetingInvitationRequest{MeetingId: id, Password: proto.String("123456")})
	m := &wire.Meeting{
		Id: id, GroupId: &group, CreatorId: 1, Name: proto.String("m"), Intro: proto.String("i"), Password: proto.String("654321"),
		StartDate: w.Now.UnixMilli(), AccessToken: new("1 creates " + decimal(id)),
	}
	wantMeetings(t, w.meetingsOf(1, &wire.QueryMeetingsRequest{}), m)
}

// TestMeetingInvitations answers invitations and checks the notifications.
func TestMeetingInvitations(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 4)
	group := w.Group(2, 1, 3)
	w.withConference()
	rules := &w.Rules.Conference.Meeting
	rules.Password.Policy = config.MeetingPasswordOptional
	rules.Scheduling.MaxAllowedStartDateOffsetSeconds = 60
	w.quiet()
	id := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{GroupId: &group}).Data.GetLong()
	for flags, sessions := range meetingFlags(3, 1, 2) {
		w.quiet().MeetingInvitationUpdated = flags
		for action, token := range map[wire.ResponseAction]string{
			wire.ResponseAction_ACCEPT: "3 enters " + decimal(id), wire.ResponseAction_DECLINE: "", wire.ResponseAction_IGNORE: "",
		} {
			request := &wire.UpdateMeetingInvitationRequest{MeetingId: id, ResponseAction: action}
			a := w.want(apierr.OK, 3, request)
			if _, isText := a.Data.GetKind().(*wire.AppNotification_Data_String_); isText != (token != "") || a.Data.GetString_() != token {
				t.Errorf("%s is answered with %v", action, a.Data)
			}
			if action == wire.ResponseAction_IGNORE {
				w.wantNotified(3, nil)
			} else {
				w.wantNotified(3, request, sessions...)
			}
		}
	}
	w.quiet()
	answer := func(code apierr.Code, user, meeting int64, password *string) {
		t.Helper()
		w.want(code, user, &wire.UpdateMeetingInvitationRequest{MeetingId: meeting, Password: password})
	}
	answer(apierr.AcceptNonexistentMeetingInvitation, 4, id, nil)
	answer(apierr.AcceptNonexistentMeetingInvitation, 3, 9, nil)
	answer(apierr.OK, 1, id, nil)

	// No other user gets the password.
	locked := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(3), Password: proto.String("123456")}).Data.GetLong()
	answer(apierr.AcceptMeetingInvitationWithWrongPassword, 3, locked, nil)
	w.quiet().MeetingInvitationUpdated = config.NotifyOfMeeting{NotifyMeetingParticipants: true}
	accepted := &wire.UpdateMeetingInvitationRequest{MeetingId: locked, Password: proto.String("123456")}
	w.want(apierr.OK, 3, accepted)
	if got := w.received(session{"gateway2", 3, android}); len(got) != 1 || !proto.Equal(got[0].GetRelayedRequest().GetUpdateMeetingInvitationRequest(), accepted) {
		t.Errorf("the phone got %v", got)
	}
	w.wantNotified(3, &wire.UpdateMeetingInvitationRequest{MeetingId: locked}, all(1)...)

	later := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(3), StartDate: proto.Int64(w.Now.UnixMilli() + 1000)}).Data.GetLong()
	answer(apierr.AcceptMeetingInvitationOfPendingMeeting, 3, later, nil)
	w.advance(time.Second)
	answer(apierr.OK, 3, later, nil)
	w.advance(25 * time.Hour)
	answer(apierr.AcceptMeetingInvitationOfExpiredMeeting, 3, later, nil)
	if err := w.Meetings.Ended(t.Context(), later, w.Now); err != nil {
		t.Fatal(err)
	}
	answer(apierr.AcceptMeetingInvitationOfEndedMeeting, 3, later, nil)
	w.want(apierr.CancelNonexistentMeeting, 1, &wire.DeleteMeetingRequest{Id: &later})
}

// TestMeetingRefusals tries to create invalid meetings.
func TestMeetingRefusals(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3, 4, 5)
	w.Relate(3, 1, true)
	if _, err := w.Users.Update(t.Context(), []int64{4}, user.Change{IsActive: new(false)}); err != nil {
		t.Fatal(err)
	}
	muted, silenced, foreign := w.Group(1, 2), w.Group(5, 1), w.Group(5)
	w.UpdateGroup(muted, store.GroupChange{MuteEndDate: new(w.Now.Add(time.Hour))})
	w.silence(silenced, 1)
	open := w.groupOf(store.GroupType{GuestSpeakable: true}, 5)
	blocked := store.GroupBlockedUser{GroupUserKey: store.GroupUserKey{GroupID: open, UserID: 1}, RequesterID: 5}
	if _, err := w.Groups.Blocklist.Block(t.Context(), blocked, nil); err != nil {
		t.Fatal(err)
	}
	w.withConference()
	named := func(name string) *wire.CreateMeetingRequest {
		return &wire.CreateMeetingRequest{UserId: proto.Int64(2), Name: &name}
	}
	for name, test := range map[string]struct {
		code    apierr.Code
		request *wire.CreateMeetingRequest
	}{
		"oneself":        {apierr.SendingMessagesToOneselfIsDisabled, &wire.CreateMeetingRequest{UserId: proto.Int64(1)}},
		"blocking user":  {apierr.BlockedUserSendPrivateMessage, &wire.CreateMeetingRequest{UserId: proto.Int64(3)}},
		"inactive user":  {apierr.MessageRecipientNotActive, &wire.CreateMeetingRequest{UserId: proto.Int64(4)}},
		"unknown group":  {apierr.SendMessageToInactiveGroup, &wire.CreateMeetingRequest{GroupId: proto.Int64(99)}},
		"muted group":    {apierr.SendMessageToMutedGroup, &wire.CreateMeetingRequest{GroupId: &muted}},
		"silenced":       {apierr.MutedGroupMemberSendMessage, &wire.CreateMeetingRequest{GroupId: &silenced}},
		"foreign group":  {apierr.NotSpeakableGroupGuestToSendMessage, &wire.CreateMeetingRequest{GroupId: &foreign}},
		"blocked":        {apierr.BlockedUserSendGroupMessage, &wire.CreateMeetingRequest{GroupId: &open}},
		"long name":      {apierr.IllegalArgument, named(strings.Repeat("n", 21))},
		"password":       {apierr.IllegalArgument, &wire.CreateMeetingRequest{UserId: proto.Int64(2), Password: proto.String("123456")}},
		"later":          {apierr.IllegalArgument, &wire.CreateMeetingRequest{UserId: proto.Int64(2), StartDate: proto.Int64(w.Now.UnixMilli() + 1)}},
		"plugin refuses": {apierr.ServerUnavailable, named("full")},
		"plugin breaks":  {apierr.ServerInternalError, named("broken")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.request(1, test.request); got.Code != test.code || got.Reason == "" {
				t.Errorf("the answer is %v %q, want %v", got.Code, got.Reason, test.code)
			}
		})
	}
	w.Rules.Message.AllowSendMessagesToStranger = false
	w.want(apierr.NotFriendToSendPrivateMessage, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2)})
	w.Rules.Message.AllowSendMessagesToStranger = true
	if got := w.meetingsOf(1, &wire.QueryMeetingsRequest{}); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
	w.Rules.Conference.Meeting.Quota.MaxActiveMeetingCountPerUser = 1
	id := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2)}).Data.GetLong()
	w.want(apierr.CreateMeetingExceedingMaxActiveMeetingCount, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2)})
	w.want(apierr.OK, 1, &wire.DeleteMeetingRequest{Id: &id})
	w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2)})
}

// TestPartialConference calls functions that a plugin does not implement.
func TestPartialConference(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 60
	w.plugins("ConferenceServiceProvider", `addMeetingEndedEventListener(listener) { this.listener = listener; }`)
	w.want(apierr.ConferenceNotImplemented, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2)})
	id := w.want(apierr.OK, 1, &wire.CreateMeetingRequest{UserId: proto.Int64(2), StartDate: proto.Int64(w.Now.UnixMilli() + 1000)}).Data.GetLong()
	w.want(apierr.ConferenceNotImplemented, 1, &wire.DeleteMeetingRequest{Id: &id})
	w.advance(time.Second)
	w.want(apierr.ConferenceNotImplemented, 2, &wire.UpdateMeetingInvitationRequest{MeetingId: id})
	if got := w.meetingsOf(2, &wire.QueryMeetingsRequest{}); len(got) != 1 || got[0].CancelDate != nil {
		t.Errorf("there are %v", got)
	}
}

// decimal returns an id in the form for plugins.
func decimal(id int64) string { return strconv.FormatInt(id, 10) }
