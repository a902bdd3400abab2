// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"example.org/app/internal/wire"
)

// The value of a user's key is encoded like a protobuf message, so that a newer program may add
// fields. It is written at each login and decoded by every node.

// errTruncated means that a value is incomplete.
var errTruncated = errors.New("the value is not an entry")

// content is what the bucket stores about a user.
type content struct {
	status   wire.UserStatus
	sessions []Session
}

func (c *content) encode() []byte {
	b := make([]byte, 0, 16+160*len(c.sessions))
	b = appendVarint(b, 1, uint64(c.status))
	for i := range c.sessions {
		b = appendMessage(b, 2, c.sessions[i].append)
	}
	return b
}

// decode decodes an entry. intern returns the shared value of a gateway.
func decode(userID int64, data []byte, intern func(id, incarnation string) *gateway) (c content, err error) {
	err = fields(data, func(number protowire.Number, n uint64, data []byte) error {
		switch number {
		case 1:
			c.status = wire.UserStatus(n)
		case 2:
			s := Session{UserID: userID}
			incarnation := ""
			if err := fields(data, func(number protowire.Number, n uint64, data []byte) error {
				return s.set(number, n, data, &incarnation)
			}); err != nil {
				return err
			}
			s.gateway = intern(s.NodeID, incarnation)
			s.NodeID = s.gateway.id
			c.sessions = append(c.sessions, s)
		}
		return nil
	})
	return c, err
}

func (s *Session) append(b []byte) []byte {
	b = appendVarint(b, 1, uint64(s.Device))
	b = appendVarint(b, 2, uint64(s.ID))
	b = appendVarint(b, 3, uint64(s.Version))
	if s.IP.IsValid() {
		b = appendText(b, 4, s.IP.AsSlice())
	}
	b = appendVarint(b, 5, uint64(s.LoginDate.UnixMilli()))
	b = appendText(b, 6, s.gateway.id)
	b = appendText(b, 7, s.gateway.incarnation)
	if s.LoginLocation != nil {
		b = appendMessage(b, 8, s.LoginLocation.append)
	}
	b = appendDetails(b, 9, s.Details)
	if s.Position != nil {
		b = appendMessage(b, 10, s.Position.append)
	}
	if s.excludes != 0 {
		b = appendVarint(b, 11, uint64(s.excludes))
	}
	return b
}

func (s *Session) set(number protowire.Number, n uint64, data []byte, incarnation *string) (err error) {
	switch number {
	case 1:
		s.Device = wire.DeviceType(n)
	case 2:
		s.ID = int32(n)
	case 3:
		s.Version = int32(n)
	case 4:
		ip, ok := netip.AddrFromSlice(data)
		if !ok {
			return fmt.Errorf("%x is not an address", data)
		}
		s.IP = ip
	case 5:
		s.LoginDate = time.UnixMilli(int64(n)).UTC()
	case 6:
		s.NodeID = string(data)
	case 7:
		*incarnation = string(data)
	case 8:
		s.LoginLocation = &Location{}
		err = fields(data, s.LoginLocation.set)
	case 9:
		s.Details, err = setDetail(s.Details, data)
	case 10:
		s.Position = &Position{}
		err = fields(data, s.Position.set)
	case 11:
		s.excludes = devices(n)
	}
	return err
}

func (l *Location) append(b []byte) []byte { return appendDetails(l.Position.append(b), 4, l.Details) }

func (l *Location) set(number protowire.Number, n uint64, data []byte) (err error) {
	if number == 4 {
		l.Details, err = setDetail(l.Details, data)
		return err
	}
	return l.Position.set(number, n, data)
}

func (p *Position) append(b []byte) []byte {
	b = appendVarint(b, 1, uint64(math.Float32bits(p.Longitude)))
	b = appendVarint(b, 2, uint64(math.Float32bits(p.Latitude)))
	return appendVarint(b, 3, uint64(p.Date.UnixMilli()))
}

func (p *Position) set(number protowire.Number, n uint64, _ []byte) error {
	switch number {
	case 1:
		p.Longitude = math.Float32frombits(uint32(n))
	case 2:
		p.Latitude = math.Float32frombits(uint32(n))
	case 3:
		p.Date = time.UnixMilli(int64(n)).UTC()
	}
	return nil
}

// fields calls set for each field, with a number in n or bytes in data. The bytes are owned by the
// caller of fields.
func fields(data []byte, set func(number protowire.Number, n uint64, data []byte) error) error {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errTruncated
		}
		data = data[n:]
		var v uint64
		var b []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, typ, data)
		}
		if n < 0 {
			return errTruncated
		}
		data = data[n:]
		if err := set(number, v, b); err != nil {
			return err
		}
	}
	return nil
}

func appendVarint(b []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}

func appendText[T string | []byte](b []byte, number protowire.Number, text T) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(text)))
	return append(b, text...)
}

func appendMessage(b []byte, number protowire.Number, add func([]byte) []byte) []byte {
	return appendText(b, number, add(nil))
}

func appendDetails(b []byte, number protowire.Number, details map[string]string) []byte {
	for key, value := range details {
		b = appendMessage(b, number, func(b []byte) []byte { return appendText(appendText(b, 1, key), 2, value) })
	}
	return b
}

func setDetail(details map[string]string, data []byte) (map[string]string, error) {
	var pair [2]string
	err := fields(data, func(number protowire.Number, _ uint64, data []byte) error {
		if number == 1 || number == 2 {
			pair[number-1] = string(data)
		}
		return nil
	})
	if details == nil {
		details = map[string]string{}
	}
	details[pair[0]] = pair[1]
	return details, err
}
