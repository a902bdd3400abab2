// SPDX-License-Identifier: Apache-2.0

// Package session implements the part of the client protocol that load generators need. It decodes
// as little as possible.
package session

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
	"example.org/app/internal/wire"
)

const codeOK = 1000

// Open logs a user in at a gateway.
func Open(addr string, userID int64, password string) (*websocket.Socket, error) {
	s, err := websocket.Dial(addr, "/", websocket.Binary)
	if err != nil {
		return nil, err
	}
	if err := login(s, userID, password); err != nil {
		return nil, fmt.Errorf("log in user %d: %w", userID, errors.Join(err, s.Close()))
	}
	return s, nil
}

func login(s *websocket.Socket, userID int64, password string) error {
	err := s.Write(encode(1, &wire.AppRequest{Kind: &wire.AppRequest_CreateSessionRequest{
		CreateSessionRequest: &wire.CreateSessionRequest{
			Version: wire.Version, UserId: userID, Password: &password, DeviceType: wire.DeviceType_DESKTOP,
		},
	}}))
	if err != nil {
		return err
	}
	for {
		answer, err := s.Read()
		if err != nil {
			return err
		}
		switch id, code, closed := parse(answer); {
		case closed != 0:
			return fmt.Errorf("the server closes the connection with status %d and code %d", closed, code)
		case id == 0:
		case code != codeOK:
			return fmt.Errorf("the server answered %d", code)
		default:
			return nil
		}
	}
}

// ToUser returns messages to a user.
func ToUser(id int64) *talk.Letter { return letter(&wire.CreateMessageRequest{RecipientId: &id}) }

// ToGroup returns messages to a group.
func ToGroup(id int64) *talk.Letter { return letter(&wire.CreateMessageRequest{GroupId: &id}) }

func letter(r *wire.CreateMessageRequest) *talk.Letter {
	r.Text = &talk.Text
	return talk.NewLetter(encode(2, &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: r}}))
}

func encode(id int64, r *wire.AppRequest) []byte {
	r.RequestId = &id
	payload, err := proto.Marshal(r)
	if err != nil {
		panic(err) // All texts are UTF-8.
	}
	return payload
}

// Judge is the talk.Judge of this protocol.
func Judge(payload []byte) (acknowledges bool, err error) {
	id, code, closed := parse(payload)
	switch {
	case closed != 0:
		return false, fmt.Errorf("the server closes the session with status %d", closed)
	case id != 0 && code != codeOK:
		return false, fmt.Errorf("the server answered a message with %d", code)
	}
	return id != 0, nil
}

// parse returns the id of the request that a notification responds to and the code, or the status
// with which the session ends; 0 means none. It reads no further than the code of a response.
func parse(payload []byte) (id int64, code, closed int) {
	const requestID, codeField, closeStatus = 4, 5, 11
	for len(payload) > 0 {
		field, kind, n := protowire.ConsumeTag(payload)
		if n < 0 {
			return 0, 0, 0
		}
		payload = payload[n:]
		if kind == protowire.VarintType {
			value, n := protowire.ConsumeVarint(payload)
			if n < 0 {
				return 0, 0, 0
			}
			switch field {
			case requestID:
				id = int64(value)
			case codeField:
				if code = int(value); id != 0 {
					return id, code, 0
				}
			case closeStatus:
				return 0, code, int(value)
			}
			payload = payload[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(field, kind, payload); n < 0 {
			return 0, 0, 0
		}
		payload = payload[n:]
	}
	return id, code, 0
}
