// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"net/http"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

const (
	desktop = wire.DeviceType_DESKTOP
	android = wire.DeviceType_ANDROID
)

// pair logs a user in on two devices, at different gateways if there are several.
func (s *stage) pair(userID int64) (there, here *chat.Tester) {
	s.Helper()
	return s.login(s.first(), userID, desktop), s.login(s.last(), userID, android)
}

// closed expects that the server closes the sessions of clients with a status.
func closed(status wire.CloseStatus, clients ...*chat.Tester) {
	for _, c := range clients {
		c.Closed(status)
		c.Gone()
	}
}

func userDeactivated(s *stage) {
	id := s.user()
	a, b := s.pair(id)
	s.ask(http.MethodPut, fmt.Sprintf("%s/users?ids=%d", s.Service, id), `{"isActive":false}`)
	closed(wire.ClosedUserDeletedInactive, a, b)
	if code := s.loginCode(s.first(), id); code != int32(apierr.LoggingInUserNotActive) {
		s.Errorf("the login of an inactive user was answered with %d", code)
	}
	s.ask(http.MethodPut, fmt.Sprintf("%s/users?ids=%d", s.Service, id), `{"isActive":true}`)
	s.login(s.last(), id, desktop)
}

func userDeleted(s *stage) {
	id := s.user()
	a, b := s.pair(id)
	s.ask(http.MethodDelete, fmt.Sprintf("%s/users?ids=%d", s.Service, id), "")
	closed(wire.ClosedUserDeletedInactive, a, b)
	if code := s.loginCode(s.first(), id); code != int32(apierr.LoggingInUserNotActive) {
		s.Errorf("the login of a deleted user was answered with %d", code)
	}
}

func userBlocked(s *stage) {
	id, other := s.user(), s.user()
	a, b := s.pair(id)
	bystander := s.login(s.first(), other, desktop)
	s.ask(http.MethodPost, s.Service+"/blocked-clients/users", fmt.Sprintf(`{"ids":[%d],"blockDurationMillis":3600000}`, id))
	closed(wire.ClosedUserBlocked, a, b)
	// Once the gateway knows of the block, it closes connections of the user without a response.
	password := secret
	s.eventually("the user is kept out", func() bool {
		c := chat.Connect(s, s.last().WebSocket)
		defer c.Close()
		_, err := c.Do(s.Context(), &wire.CreateSessionRequest{Version: wire.Version, UserId: id, Password: &password})
		return errors.Is(err, chat.ErrClosed) && len(c.Inbox()) == 0
	})
	bystander.Beat()
	s.ask(http.MethodDelete, fmt.Sprintf("%s/blocked-clients/users?ids=%d", s.Service, id), "")
	s.eventually("the user may come back", func() bool {
		c := chat.Connect(s, s.last().WebSocket)
		defer c.Close()
		return c.Login(s.Context(), &wire.CreateSessionRequest{Version: wire.Version, UserId: id, Password: &password}) == nil
	})
}

func addressBlocked(s *stage) {
	const ip, near = "198.51.100.7", "198.51.100.8"
	id, other := s.user(), s.user()
	blocked, bystander := s.loginFrom(ip, id), s.loginFrom(near, other)
	s.ask(http.MethodPost, s.Service+"/blocked-clients/ips", fmt.Sprintf(`{"ids":[%q],"blockDurationMillis":3600000}`, ip))
	closed(wire.ClosedUserBlocked, blocked)
	bystander.Beat()
	dial := func() error {
		c, err := chat.Dial(s.Context(), s.first().WebSocket, from(ip))
		if err == nil {
			c.Close()
		}
		return err
	}
	s.eventually("the address is kept out", func() bool { return dial() != nil })
	s.ask(http.MethodDelete, s.Service+"/blocked-clients/ips?ids="+ip, "")
	s.eventually("the address may connect again", func() bool { return dial() == nil })
}

func sessionsDeleted(s *stage) {
	id, other := s.user(), s.user()
	a, b := s.pair(id)
	bystander := s.login(s.first(), other, desktop)
	s.ask(http.MethodDelete, fmt.Sprintf("%s/sessions?ids=%d", s.first().Admin, id), "")
	closed(wire.ClosedByAdmin, a)
	if len(s.Gateways) > 1 {
		b.Beat() // It is at another gateway.
		s.ask(http.MethodDelete, fmt.Sprintf("%s/sessions?ids=%d", s.last().Admin, id), "")
	}
	closed(wire.ClosedByAdmin, b)
	bystander.Beat()
	const ip = "198.51.100.9"
	c := s.loginFrom(ip, id)
	s.ask(http.MethodDelete, s.first().Admin+"/sessions?ips="+ip, "")
	closed(wire.ClosedByAdmin, c)
	bystander.Beat()
	s.login(s.first(), id, desktop) // The user may log in again.
}

// ownDevicesOffline closes sessions by a request of their user: first another session, then all.
func ownDevicesOffline(s *stage) {
	id := s.user()
	a, b := s.pair(id)
	offline := &wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_OFFLINE, DeviceTypes: []wire.DeviceType{desktop}}
	b.WantCode(offline, int32(apierr.OK))
	closed(wire.ClosedByOtherDevice, a)
	b.Beat()
	a = s.login(s.first(), id, desktop)
	// The session of the request may be closed before the response arrives. If there is a response,
	// it is a success.
	response, err := b.Do(s.Context(), &wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_OFFLINE})
	if err == nil && response.GetCode() != int32(apierr.OK) || err != nil && !errors.Is(err, chat.ErrClosed) {
		s.Errorf("the request was answered with %v, %v", response, err)
	}
	closed(wire.ClosedByOtherDevice, a, b)
}
