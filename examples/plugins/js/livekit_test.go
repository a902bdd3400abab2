// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/protobuf/proto"

	"example.org/app/examples/plugins/exampletest"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// A livekit is a LiveKit server with rooms only. It checks tokens like the real one.
type livekit struct {
	*httptest.Server
	mu     sync.Mutex
	rooms  map[string]room
	broken bool
}

type room struct {
	Name            string `json:"name"`
	Metadata        string `json:"metadata"`
	MaxParticipants int    `json:"max_participants"`
	EmptyTimeout    int    `json:"empty_timeout"`
}

// A grant is the contents of a token.
type grant struct {
	jwt.RegisteredClaims
	Video struct {
		RoomCreate, RoomList, RoomJoin bool
		Room                           string
	} `json:"video"`
}

// accessKey and secretKey are the keys of the server.
const accessKey, secretKey = "operator", "very/secret"

// grantOf parses a token.
func grantOf(token string) (g grant, err error) {
	_, err = jwt.ParseWithClaims(token, &g, func(*jwt.Token) (any, error) { return []byte(secretKey), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(accessKey), jwt.WithExpirationRequired())
	return g, err
}

func newLiveKit(t *testing.T) *livekit {
	l := &livekit{rooms: map[string]room{}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.Close)
	return l
}

func (l *livekit) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	g, err := grantOf(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	var input struct {
		room
		Room string `json:"room"`
	}
	if err == nil {
		err = json.NewDecoder(r.Body).Decode(&input)
	}
	function := strings.TrimPrefix(r.URL.Path, "/twirp/livekit.RoomService/")
	switch {
	case err != nil || r.Method != http.MethodPost:
		http.Error(w, fmt.Sprint(err), http.StatusUnauthorized)
	case function == "CreateRoom" && g.Video.RoomCreate:
		if _, open := l.rooms[input.Name]; !open {
			l.rooms[input.Name] = input.room
		}
		_ = json.NewEncoder(w).Encode(l.rooms[input.Name])
	case function == "DeleteRoom" && g.Video.RoomCreate:
		if _, open := l.rooms[input.Room]; !open {
			http.Error(w, `{"code":"not_found"}`, http.StatusNotFound)
			return
		}
		delete(l.rooms, input.Room)
		_, _ = w.Write([]byte("{}"))
	case function == "ListRooms" && g.Video.RoomList:
		list := []room{}
		for _, one := range l.rooms {
			list = append(list, one)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"rooms": list})
	default:
		http.Error(w, "no grant", http.StatusForbidden)
	}
}

// find returns the room of a meeting.
func (l *livekit) find(meetingID int64) (room, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.rooms[strconv.FormatInt(meetingID, 10)]
	return r, ok
}

// finish ends the room of a meeting, as if all users had left.
func (l *livekit) finish(meetingID int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rooms, strconv.FormatInt(meetingID, 10))
}

func (l *livekit) setBroken(broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = broken
}

// wantAdmission checks that a token admits a user to the room of a meeting, and to nothing else.
func wantAdmission(t *testing.T, token string, userID, meetingID int64) {
	t.Helper()
	g, err := grantOf(token)
	if err != nil || g.Subject != strconv.FormatInt(userID, 10) || g.Video.Room != strconv.FormatInt(meetingID, 10) || !g.Video.RoomJoin || g.Video.RoomCreate || g.Video.RoomList {
		t.Errorf("the token of user %d for meeting %d is %+v: %v", userID, meetingID, g, err)
	}
}

func startLiveKit(t *testing.T, set ...string) (*livekit, *apptest.Server) {
	t.Helper()
	l := newLiveKit(t)
	return l, exampletest.Start(t, "livekit-conference.js", append([]string{
		"livekit-conference.url=" + l.URL + "/", "livekit-conference.api-key=" + accessKey, "livekit-conference.secret-key=" + secretKey,
		"livekit-conference.poll-millis=20",
		// The tests poll.
		"app.gateway.client-api.rate-limiting.capacity=100000", "app.gateway.client-api.rate-limiting.initial-tokens=100000",
	}, set...)...)
}

// meetingOf returns a meeting as seen by a user.
func meetingOf(t *testing.T, c *chat.Tester, id int64) *wire.Meeting {
	t.Helper()
	found := c.Request(&wire.QueryMeetingsRequest{Ids: []int64{id}}).GetData().GetMeetings().GetMeetings()
	if len(found) != 1 {
		t.Fatalf("the meetings are %v", found)
	}
	return found[0]
}

// invitationOf waits for an invitation to a meeting.
func invitationOf(t *testing.T, c *chat.Tester) *wire.Meeting {
	t.Helper()
	n := c.Relayed(8)
	records := n.GetRelayedRequest().GetCreateMessageRequest().GetRecords()
	m := new(wire.Meeting)
	if len(records) != 2 || string(records[0]) != "\x02" || proto.Unmarshal(records[1], m) != nil {
		t.Fatalf("the invitation is %v", n)
	}
	return m
}

func TestLiveKitConference(t *testing.T) {
	l, s := startLiveKit(t)
	ann, bob := exampletest.LogIn(t, s, 5), exampletest.LogIn(t, s, 6)
	create := &wire.CreateMeetingRequest{UserId: proto.Int64(6), Name: proto.String("Plans")}

	// A meeting has a room, which both users can join.
	id := ann.Request(create).GetData().GetLong()
	if r, ok := l.find(id); !ok || r.Metadata != `{"creator":"5"}` || r.MaxParticipants != 2 || r.EmptyTimeout != 3600 {
		t.Errorf("the room is %+v", r)
	}
	wantAdmission(t, meetingOf(t, ann, id).GetAccessToken(), 5, id)
	if m := invitationOf(t, bob); m.GetId() != id || m.GetName() != "Plans" || m.AccessToken != nil {
		t.Errorf("the invitation is %v", m)
	}
	accept := &wire.UpdateMeetingInvitationRequest{MeetingId: id}
	wantAdmission(t, bob.Request(accept).GetData().GetString_(), 6, id)
	if n := ann.Relayed(904); n.GetRequesterId() != 6 || n.GetRelayedRequest().GetUpdateMeetingInvitationRequest().GetMeetingId() != id {
		t.Errorf("Ann heard %v", n)
	}

	// One at a time.
	ann.WantCode(create, 8100)

	// When all users have left, the meeting has ended.
	l.finish(id)
	exampletest.Eventually(t, "the meeting has ended", func() bool { return meetingOf(t, bob, id).EndDate != nil })
	bob.WantCode(accept, 8202)

	// A cancelled meeting has no room.
	second := ann.Request(create).GetData().GetLong()
	bob.WantCode(&wire.DeleteMeetingRequest{Id: &second}, 8101)
	ann.Request(&wire.DeleteMeetingRequest{Id: &second})
	if r, ok := l.find(second); ok {
		t.Errorf("there is still the room %+v", r)
	}
	bob.WantCode(&wire.UpdateMeetingInvitationRequest{MeetingId: second}, 8201)
	if m := meetingOf(t, bob, second); m.CancelDate == nil {
		t.Errorf("the meeting is %v", m)
	}

	// If LiveKit fails, the request fails.
	l.setBroken(true)
	ann.WantCode(create, 1200)
	l.setBroken(false)
	if found := ann.Request(&wire.QueryMeetingsRequest{}).GetData().GetMeetings().GetMeetings(); len(found) != 2 {
		t.Errorf("there are %v", found)
	}
	ann.Request(create)
}

// TestLiveKitConferenceOfGroups schedules a meeting of a group and joins it later.
func TestLiveKitConferenceOfGroups(t *testing.T) {
	l, s := startLiveKit(t, "app.service.conference.meeting.scheduling.max-allowed-start-date-offset-seconds=3600",
		"app.service.conference.meeting.password.policy=SYSTEM_GENERATED", "app.service.conference.meeting.quota.max-active-meeting-count-per-user=0")
	ann, bob := exampletest.LogIn(t, s, 5), exampletest.LogIn(t, s, 6)
	group := ann.Request(&wire.CreateGroupRequest{Name: "Friends"}).GetData().GetLong()
	if status, body := exampletest.Admin(t, s, "POST", "/groups/members", fmt.Sprintf(`{"groupId":%d,"userId":6,"role":"MEMBER"}`, group)); status != 200 {
		t.Fatal(body)
	}
	id := planned(t, ann, bob, group)
	if r, ok := l.find(id); ok {
		t.Errorf("there is already the room %+v", r)
	}
	m := meetingOf(t, ann, id)
	if len(m.GetPassword()) != 6 {
		t.Fatalf("the password is %q", m.GetPassword())
	}
	accept := &wire.UpdateMeetingInvitationRequest{MeetingId: id, Password: m.Password}
	bob.WantCode(&wire.UpdateMeetingInvitationRequest{MeetingId: id}, 8200)
	exampletest.Eventually(t, "the meeting begins", func() bool {
		n := bob.Response(accept)
		if n.GetCode() == 1000 {
			wantAdmission(t, n.GetData().GetString_(), 6, id)
		} else if n.GetCode() != 8204 {
			t.Fatalf("Bob heard %v", n)
		}
		return n.GetCode() == 1000
	})
	if _, ok := l.find(id); !ok {
		t.Error("there is no room")
	}
	l.finish(id)
	exampletest.Eventually(t, "the meeting has ended", func() bool { return meetingOf(t, ann, id).EndDate != nil })
}

// planned creates a meeting of a group that begins soon. If a slow server treats it as one that
// begins immediately, it creates another one that begins later.
func planned(t *testing.T, creator, member *chat.Tester, group int64) int64 {
	t.Helper()
	for ahead := 2 * time.Second; ; ahead *= 2 {
		begin := time.Now().Add(ahead).UnixMilli()
		id := creator.Request(&wire.CreateMeetingRequest{GroupId: &group, StartDate: &begin}).GetData().GetLong()
		m := invitationOf(t, member)
		if m.GetId() != id || m.GetGroupId() != group || m.Password != nil {
			t.Errorf("the invitation is %v", m)
		}
		if m.GetStartDate() == begin {
			return id
		}
	}
}
