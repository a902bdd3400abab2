// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestPluginsHoldMeetings has a plugin hold meetings that calls the server during its calls, is
// replaced during a meeting, and is removed.
func TestPluginsHoldMeetings(t *testing.T) {
	s := apptest.Start(t, role.All)
	for _, id := range []string{"5", "6", "7"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	version := func(n int) string {
		code := pluginScript("rooms", "'ConferenceServiceProvider'", fmt.Sprintf(`
  addMeetingEndedEventListener(listener) { this.ended = listener; }
  async createMeeting(requesterId, meeting) {
    await app.storage.set('room/' + meeting.id, requesterId);
    const [user] = await app.api.users.query({ids: [requesterId]});
    await app.api.users.update({ids: [requesterId], body: {intro: 'in ' + meeting.id}});
    return {accessToken: 'version %[1]d for ' + user.id};
  }
  async acceptMeetingInvitation(requesterId, meetingId) {
    if (requesterId !== '7') return {accessToken: 'version %[1]d for ' + requesterId};
    await this.ended({meetingId});
    throw new AppError('RESOURCE_NOT_FOUND', 'everybody has left');
  }
  async cancelMeeting(requesterId, meetingId) { await app.meetings.ended(meetingId); }`, n))
		b, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"fileName": "rooms", "code": code}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	ann, bob, cid := chat.Connect(t, s.ClientURLs()[1]), chat.Connect(t, s.ClientURLs()[1]), chat.Connect(t, s.ClientURLs()[1])
	ann.MustLogin(5, chat.WithPassword("secret"))
	bob.MustLogin(6, chat.WithPassword("secret"))
	cid.MustLogin(7, chat.WithPassword("secret"))
	group := ann.Request(&wire.CreateGroupRequest{Name: "all"}).GetData().GetLong()
	for _, id := range []int64{6, 7} {
		want(t, s, role.Service, "POST", "/groups/members", fmt.Sprintf(`{"groupId":%d,"userId":%d,"role":"MEMBER"}`, group, id), 200)
	}
	create := &wire.CreateMeetingRequest{GroupId: &group}
	ann.WantCode(create, 8000)
	want(t, s, role.Service, "POST", "/plugins/js", version(1), 200)
	ann.WantCode(create, 8000) // It is only loaded.
	want(t, s, role.Service, "PUT", "/plugins?ids=rooms", `{"status":"STARTED"}`, 200)
	meeting := func(c *chat.Tester, id int64) *wire.Meeting {
		t.Helper()
		found := c.Request(&wire.QueryMeetingsRequest{Ids: []int64{id}}).GetData().GetMeetings().GetMeetings()
		if len(found) != 1 {
			t.Fatalf("the meetings are %v", found)
		}
		return found[0]
	}
	id := ann.Request(create).GetData().GetLong()
	if m := meeting(ann, id); m.GetAccessToken() != "version 1 for 5" || m.EndDate != nil {
		t.Errorf("the meeting is %v", m)
	}
	want(t, s, role.Service, "GET", "/users?ids=5", "", 200, fmt.Sprintf(`"intro":"in %d"`, id))

	want(t, s, role.Service, "POST", "/plugins/js?replace=true", version(2), 200, `"replaced":true`)
	accept := &wire.UpdateMeetingInvitationRequest{MeetingId: id}
	if got := bob.Request(accept).GetData().GetString_(); got != "version 2 for 6" {
		t.Errorf("the token is %q", got)
	}
	if n := cid.WantCode(accept, 1302); n.GetReason() != "everybody has left" {
		t.Errorf("Cid heard %v", n)
	}
	if m := meeting(bob, id); m.EndDate == nil {
		t.Errorf("the meeting is %v", m)
	}
	bob.WantCode(accept, 8202)

	second := ann.Request(create).GetData().GetLong()
	ann.Request(&wire.DeleteMeetingRequest{Id: &second})
	if m := meeting(bob, second); m.EndDate == nil || m.CancelDate == nil {
		t.Errorf("the meeting is %v", m)
	}
	private := ann.Request(&wire.CreateMeetingRequest{UserId: proto.Int64(6)}).GetData().GetLong()
	want(t, s, role.Service, "DELETE", fmt.Sprintf("/groups?ids=%d", group), "", 200)
	if left := ann.Request(&wire.QueryMeetingsRequest{}).GetData().GetMeetings().GetMeetings(); len(left) != 1 || left[0].GetId() != private {
		t.Errorf("the meetings are %v", left)
	}
	want(t, s, role.Service, "DELETE", "/users?ids=6&deleteLogically=false", "", 200)
	if left := ann.Request(&wire.QueryMeetingsRequest{}).GetData().GetMeetings(); left == nil || len(left.GetMeetings()) != 0 {
		t.Errorf("the meetings are %v", left)
	}
	want(t, s, role.Service, "DELETE", "/plugins?ids=rooms", "", 204)
	ann.WantCode(&wire.QueryMeetingsRequest{}, 8000)
}

// TestMeetingsOfGateways checks that a plugin cannot report meetings to a server without service
// role.
func TestMeetingsOfGateways(t *testing.T) {
	dir := folderOf(t, map[string]string{"lost.js": pluginScript("lost", "'AdminActionHandler'", `async start() { await app.meetings.ended('5'); }`)})
	s := apptest.Start(t, []role.Role{role.Gateway}, "app.plugin.dir="+dir)
	eventually(t, "the plugin is refused", func() bool {
		logs, err := filepath.Glob(filepath.Join(s.LogDir(), "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(logs, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && bytes.Contains(text, []byte("this server has no service role: only services know meetings"))
		})
	})
}
