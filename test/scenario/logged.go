// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// session returns the only session of a user as administrators see it, or nil.
func (s *stage) session(userID int64) *adminSession {
	var list []struct{ Sessions []adminSession }
	s.data(fmt.Sprintf("/users/online-infos/sessions?ids=%d", userID), &list)
	if len(list) != 1 || len(list[0].Sessions) != 1 {
		return nil
	}
	return &list[0].Sessions[0]
}

type adminSession struct {
	DeviceDetails                       map[string]string
	LoginDate, LastHeartbeatRequestDate time.Time
}

// heartbeatIntervals changes how often clients must send heartbeats, and how often others see one.
func heartbeatIntervals(s *stage) {
	id := s.user()
	told := func(at Gateway) int32 {
		c := s.login(at, id, desktop)
		defer c.Close()
		return c.SessionInfo().GetHeartbeatIntervalSeconds()
	}
	for _, gateway := range s.Gateways {
		if got := told(gateway); got != 60 {
			s.Errorf("the client is told %d seconds, want 60", got)
		}
	}
	for _, test := range []struct {
		settings string
		want     int32
	}{
		{`{"clientHeartbeatIntervalSeconds":25}`, 25},
		{`{"clientHeartbeatIntervalSeconds":100}`, 60}, // A third of the time after which a silent session is closed.
		{`{"clientHeartbeatIntervalSeconds":0}`, 0},
		{`{"clientHeartbeatIntervalSeconds":60}`, 60},
	} {
		s.set(`{"gateway":{"session":` + test.settings + `}}`)
		for _, gateway := range s.Gateways {
			s.eventually(fmt.Sprintf("clients are told %d seconds", test.want), func() bool { return told(gateway) == test.want })
		}
	}
	var login time.Time
	c := s.login(s.last(), id, desktop)
	s.eventually("the session is seen", func() bool {
		session := s.session(id)
		if session != nil {
			login = session.LoginDate
		}
		// Dates have millisecond resolution.
		return session != nil && time.Since(login) > 2*time.Millisecond
	})
	seen := func() time.Time {
		if session := s.session(id); session != nil {
			return session.LastHeartbeatRequestDate
		}
		return time.Time{}
	}
	c.Beat()
	var first time.Time
	s.eventually("the first heartbeat is seen", func() bool {
		first = seen()
		return first.After(login)
	})
	c.Beat()
	if again := seen(); !again.Equal(first) && again.Sub(first) < 18*time.Second {
		s.Errorf("heartbeats at %s and %s are seen", first, again)
	}
	s.set(`{"gateway":{"session":{"minHeartbeatIntervalSeconds":0}}}`)
	s.eventually("each heartbeat is seen", func() bool {
		before := seen()
		c.Beat()
		return seen().After(before)
	})
	s.set(`{"gateway":{"session":{"minHeartbeatIntervalSeconds":18}}}`)
	c.Close()
}

// deviceDetailsExpire stores a detail and waits until it expires.
func deviceDetailsExpire(s *stage) {
	id := s.user()
	s.set(`{"gateway":{"session":{"deviceDetails":{"items":[{"fieldName":"token","redisFieldName":"push"}]}}}}`)
	details := func() map[string]string {
		if session := s.session(id); session != nil {
			return session.DeviceDetails
		}
		return nil
	}
	s.eventually("the detail is kept", func() bool {
		chat.LogIn(s, s.last().WebSocket, id, chat.WithPassword(secret), func(r *wire.CreateSessionRequest) {
			r.DeviceDetails = map[string]string{"token": "abc", "other": "x"}
		})
		got := details()
		return len(got) == 1 && got["push"] == "abc"
	})
	s.set(`{"gateway":{"session":{"deviceDetails":{"expireAfterSeconds":1}}}}`)
	s.eventually("the detail has expired", func() bool { got := details(); return got != nil && len(got) == 0 })
	s.set(`{"gateway":{"session":{"deviceDetails":{"expireAfterSeconds":0}}}}`)
	s.eventually("the detail does not expire", func() bool { return len(details()) == 1 })
	s.set(`{"gateway":{"session":{"deviceDetails":{"expireAfterSeconds":2592000,"items":[]}}}}`)
}

// logged returns the log lines of a node about requests of a user.
func (s *stage) logged(node, role string, userID int64) (found []loggedRequest) {
	var paths struct{ Data []string }
	if err := json.Unmarshal([]byte(s.ask(http.MethodGet, node+"/logs/paths", "")), &paths); err != nil {
		s.Fatal(err)
	}
	for _, path := range paths.Data {
		if !strings.HasSuffix(path, "-client-api.log") {
			continue
		}
		for line := range strings.Lines(s.ask(http.MethodGet, node+"/logs?path="+url.QueryEscape(path), "")) {
			var r loggedRequest
			if !strings.HasSuffix(line, "\n") {
				continue // The line is being written.
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				s.Fatalf("%v in %s", err, line)
			}
			if r.Role == role && (r.UserID == userID || r.Type == "CREATE_SESSION") {
				found = append(found, r)
			}
		}
	}
	return found
}

type loggedRequest struct {
	Role, Type, DeviceType, IP string
	UserID, RequestID          int64
	SessionID, Code            int32
	Size                       int
	Millis                     float64
}

// requestsLogged changes which requests are logged, and reads the logs through the admin interface.
func requestsLogged(s *stage) {
	id := s.user()
	c := s.login(s.first(), id, desktop)
	query := func() { c.Request(&wire.QueryUserProfilesRequest{UserIds: []int64{id}}) }
	update := func() { c.Request(&wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_BUSY}) }
	count := func(node, role, kind string) (n int) {
		for _, r := range s.logged(node, role, id) {
			if r.Type == kind {
				n++
				if r.Code != int32(apierr.OK) || r.SessionID <= 0 || r.IP != "127.0.0.1" || r.DeviceType != "DESKTOP" || r.RequestID <= 0 || r.Size == 0 || r.Millis < 0 {
					s.Errorf("the line about a request is %+v", r)
				}
			}
		}
		return n
	}
	query()
	if lines := s.logged(s.first().Admin, "gateway", id); len(lines) != 0 {
		s.Errorf("by default requests are logged: %+v", lines)
	}
	const kinds = `{"includedRequestCategories":[{"category":"ALL"}],"excludedRequestCategories":["QUERY"]}`
	s.set(`{"gateway":{"clientApi":{"logging":` + kinds + `}},"service":{"clientApi":{"logging":` + kinds + `}}}`)
	for role, node := range map[string]string{"gateway": s.first().Admin, "service": s.Service} {
		s.eventually(role+" logs updates", func() bool {
			query()
			update()
			return count(node, role, "UPDATE_USER_ONLINE_STATUS") > 0
		})
		if n := count(node, role, "QUERY_USER_PROFILES"); n != 0 {
			s.Errorf("%s logs %d queries that are excluded", role, n)
		}
	}
	s.set(`{"gateway":{"clientApi":{"logging":{"includedRequests":[{"type":"QUERY_USER_PROFILES","sampleRate":1}],"excludedRequestTypes":["UPDATE_USER_ONLINE_STATUS"],"heartbeatSampleRate":1}}}}`)
	s.eventually("the gateway logs queries and heartbeats", func() bool {
		query()
		c.Beat()
		lines := s.logged(s.first().Admin, "gateway", id)
		heartbeats := 0
		for _, r := range lines {
			if r.Type == "HEARTBEAT" {
				heartbeats++
			}
		}
		return count(s.first().Admin, "gateway", "QUERY_USER_PROFILES") > 0 && heartbeats > 0
	})
	// The kind that is now excluded is no longer logged, but the query behind it on the connection
	// is.
	before := count(s.first().Admin, "gateway", "UPDATE_USER_ONLINE_STATUS")
	queries := count(s.first().Admin, "gateway", "QUERY_USER_PROFILES")
	update()
	s.eventually("a later query is logged", func() bool {
		query()
		return count(s.first().Admin, "gateway", "QUERY_USER_PROFILES") > queries
	})
	if after := count(s.first().Admin, "gateway", "UPDATE_USER_ONLINE_STATUS"); after != before {
		s.Errorf("%d requests were logged that are excluded", after-before)
	}
	// A refused login is a request, too.
	s.eventually("a refused login is logged", func() bool {
		if code := s.loginCodeWith(s.first(), id, "wrong"); code == int32(apierr.OK) {
			s.Fatal("a wrong password was taken")
		}
		for _, r := range s.logged(s.first().Admin, "gateway", id) {
			if r.Type == "CREATE_SESSION" && r.Code != int32(apierr.OK) {
				return true
			}
		}
		return false
	})
	const none = `{"includedRequestCategories":[],"includedRequests":[],"excludedRequestCategories":[],"excludedRequestTypes":[]`
	s.set(`{"gateway":{"clientApi":{"logging":` + none + `,"heartbeatSampleRate":0}}},"service":{"clientApi":{"logging":` + none + `}}}}`)
	c.Close()
}
