// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"net/http"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

func notificationSwitchedOff(s *stage) {
	sender, recipient := s.user(), s.user()
	a, b := s.login(s.first(), sender, desktop), s.login(s.last(), recipient, desktop)
	b.Request(&wire.CreateRelationshipRequest{UserId: sender})
	number := 0
	// delivered sends a message and reports whether the recipient was notified. The typing status
	// that follows is always delivered.
	delivered := func() bool {
		number++
		text := fmt.Sprintf("message %d", number)
		a.Request(&wire.CreateMessageRequest{RecipientId: &recipient, Text: &text})
		a.Request(&wire.UpdateTypingStatusRequest{ToId: recipient})
		b.Expect(func(n *wire.AppNotification) bool { return n.GetRelayedRequest().GetUpdateTypingStatusRequest() != nil })
		for _, n := range b.Inbox() {
			if n.GetRelayedRequest().GetCreateMessageRequest().GetText() == text {
				return true
			}
		}
		return false
	}
	s.eventually("messages are delivered", delivered)
	s.set(`{"service":{"notification":{"messageCreated":{"notifyMessageRecipients":false}}}}`)
	s.eventually("messages are not delivered any more", func() bool { return !delivered() })
	// The messages are stored nevertheless.
	stored := b.Request(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false), FromIds: []int64{sender}})
	if n := len(stored.GetData().GetMessages().GetMessages()); n != number {
		s.Errorf("%d messages are stored, want %d", n, number)
	}
	s.set(`{"service":{"notification":{"messageCreated":{"notifyMessageRecipients":true}}}}`)
	s.eventually("messages are delivered again", delivered)
}

func kindDisabled(s *stage) {
	id := s.user()
	c := s.login(s.first(), id, desktop)
	code := func() apierr.Code {
		return apierr.Code(c.Response(&wire.QueryUserProfilesRequest{UserIds: []int64{id}}).GetCode())
	}
	s.set(`{"service":{"clientApi":{"disabledEndpoints":["QUERY_USER_PROFILES"]}}}`)
	s.eventually("the kind is refused", func() bool { return code() == apierr.IllegalArgument })
	c.Request(&wire.QueryUserOnlineStatusesRequest{UserIds: []int64{id}})
	s.set(`{"service":{"clientApi":{"disabledEndpoints":[]}}}`)
	s.eventually("the kind is answered", func() bool { return code() == apierr.OK })
}

// rateLimited allows every address one request.
func rateLimited(s *stage) {
	id := s.user()
	c := s.loginFrom("198.51.100.10", id)
	code := func() apierr.Code {
		return apierr.Code(c.Response(&wire.QueryUserProfilesRequest{UserIds: []int64{id}}).GetCode())
	}
	if got := code(); got != apierr.OK {
		s.Fatalf("the request was answered with %d", got)
	}
	s.set(`{"gateway":{"clientApi":{"rateLimiting":{"capacity":1,"initialTokens":1,"tokensPerPeriod":1,"refillIntervalMillis":0}}}}`)
	s.eventually("requests are refused", func() bool { return code() == apierr.ClientRequestsTooFrequent })
	c.Beat() // Heartbeats are not limited.
	s.set(`{"gateway":{"clientApi":{"rateLimiting":{"capacity":1000000,"initialTokens":1000000,"tokensPerPeriod":1000000,"refillIntervalMillis":1}}}}`)
	attempts := 0
	for _, gateway := range s.Gateways {
		// The first of two requests may have used the only token of the small limit. Each attempt
		// uses another client, because a client that is refused a few times is blocked for good.
		s.eventually("requests are answered at "+gateway.WebSocket, func() bool {
			attempts++
			ip := fmt.Sprintf("198.18.%d.%d", attempts/250, attempts%250+1)
			first, second := s.loginCodeFrom(ip, gateway, id), s.loginCodeFrom(ip, gateway, id)
			return first == int32(apierr.OK) && second == int32(apierr.OK)
		})
	}
}

// gatewayDeactivated takes a gateway out of service: existing sessions stay.
func gatewayDeactivated(s *stage) {
	id, newcomer := s.user(), s.user()
	c := s.login(s.last(), id, desktop)
	node := s.last().Node
	activate := func(active bool) {
		s.ask(http.MethodPut, s.Service+"/cluster/members?id="+node, fmt.Sprintf(`{"isActive":%v}`, active))
	}
	activate(false)
	s.eventually("logins are refused", func() bool { return s.loginCode(s.last(), newcomer) == int32(apierr.ServerUnavailable) })
	c.Request(&wire.QueryUserProfilesRequest{UserIds: []int64{id}})
	if code := c.BeatCode(); code != int32(apierr.ServerUnavailable) {
		s.Errorf("a heartbeat was answered with %d", code)
	}
	if len(s.Gateways) > 1 {
		// Notifications still arrive.
		other := chat.LogIn(s, s.first().WebSocket, newcomer, chat.WithPassword(secret))
		other.Request(&wire.CreateMessageRequest{RecipientId: &id, Text: proto.String("still there?")})
		c.Expect(func(n *wire.AppNotification) bool { return n.GetRelayedRequest().GetCreateMessageRequest() != nil })
	}
	activate(true)
	s.eventually("logins are taken", func() bool { return s.loginCode(s.last(), newcomer) == int32(apierr.OK) })
	c.Beat()
}
