// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"example.org/app/internal/wire"
)

// codec encodes the frequent calls like protobuf messages, so that newer versions may add
// fields. It supports only types that implement encodable.
type codec struct{}

// encodable is a type of this package that codec supports.
type encodable interface {
	append(b []byte) []byte
	// set sets one field, with a number in n or bytes in data. The receiver owns the bytes.
	set(number protowire.Number, n uint64, data []byte) error
}

func (codec) Marshal(value any) ([]byte, error) {
	e, ok := value.(encodable)
	if !ok {
		return nil, fmt.Errorf("encode %T: it has no encoding", value)
	}
	return e.append(nil), nil
}

func (codec) Unmarshal(data []byte, value any) error {
	e, ok := value.(encodable)
	if !ok {
		return fmt.Errorf("decode %T: it has no encoding", value)
	}
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Errorf("decode %T: %w", value, protowire.ParseError(n))
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
			return fmt.Errorf("decode %T: %w", value, protowire.ParseError(n))
		}
		data = data[n:]
		if err := e.set(number, v, b); err != nil {
			return fmt.Errorf("decode field %d of %T: %w", number, value, err)
		}
	}
	return nil
}

func appendNumber[N int32 | int64 | int | wire.DeviceType](b []byte, number protowire.Number, v N) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
}

func appendBytes(b []byte, number protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
}

// appendIDs writes ids as a packed list.
func appendIDs(b []byte, number protowire.Number, ids []int64) []byte {
	if len(ids) == 0 {
		return b
	}
	size := 0
	for _, id := range ids {
		size += protowire.SizeVarint(uint64(id))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(size))
	for _, id := range ids {
		b = protowire.AppendVarint(b, uint64(id))
	}
	return b
}

func parseIDs(data []byte) ([]int64, error) {
	ids := make([]int64, 0, len(data)/4+1)
	for len(data) > 0 {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		ids = append(ids, int64(v))
		data = data[n:]
	}
	return ids, nil
}

func (r *Request) append(b []byte) []byte {
	b = appendNumber(b, 1, r.UserID)
	b = appendNumber(b, 2, r.Device)
	b = appendNumber(b, 3, r.SessionID)
	if r.IP.IsValid() {
		b = appendBytes(b, 4, r.IP.AsSlice())
	}
	b = appendBytes(b, 5, r.Payload)
	b = appendNumber(b, 6, int64(r.Conversation))
	if r.Key != nil {
		b = appendBytes(b, 7, r.Key)
	}
	if r.Repeated {
		b = appendNumber(b, 8, 1)
	}
	return b
}

func (r *Request) set(number protowire.Number, n uint64, data []byte) error {
	switch number {
	case 1:
		r.UserID = int64(n)
	case 2:
		r.Device = wire.DeviceType(n)
	case 3:
		r.SessionID = int32(n)
	case 4:
		ip, ok := netip.AddrFromSlice(data)
		if !ok {
			return fmt.Errorf("%x is not an address", data)
		}
		r.IP = ip
	case 5:
		r.Payload = data
	case 6:
		r.Conversation = n
	case 7:
		r.Key = data
	case 8:
		r.Repeated = n != 0
	}
	return nil
}

func (r *Response) append(b []byte) []byte {
	b = appendNumber(b, 1, r.Code)
	if r.Reason != "" {
		b = appendBytes(b, 2, []byte(r.Reason))
	}
	if r.Data != nil {
		b = appendBytes(b, 3, r.Data)
	}
	if r.Corrupted {
		b = appendNumber(b, 4, 1)
	}
	return b
}

func (r *Response) set(number protowire.Number, n uint64, data []byte) error {
	switch number {
	case 1:
		r.Code = int32(n)
	case 2:
		r.Reason = string(data)
	case 3:
		r.Data = data
	case 4:
		r.Corrupted = n != 0
	}
	return nil
}

func (d *Delivery) append(b []byte) []byte {
	b = appendBytes(b, 1, d.Notification)
	b = appendIDs(b, 2, d.Recipients)
	if d.Except != nil {
		b = appendBytes(b, 3, d.Except.append(nil))
	}
	if d.Message != nil {
		b = appendBytes(b, 4, d.Message.append(nil))
	}
	if d.Stored != nil {
		b = appendBytes(b, 5, d.Stored.append(nil))
	}
	return b
}

func (d *Delivery) set(number protowire.Number, _ uint64, data []byte) (err error) {
	switch number {
	case 1:
		d.Notification = data
	case 2:
		d.Recipients, err = parseIDs(data)
	case 3:
		d.Except = &Session{}
		err = codec{}.Unmarshal(data, d.Except)
	case 4:
		d.Message = &MessageOrder{}
		err = codec{}.Unmarshal(data, d.Message)
	case 5:
		d.Stored = &StoredMessage{}
		err = codec{}.Unmarshal(data, d.Stored)
	}
	return err
}

func (m *StoredMessage) append(b []byte) []byte {
	return appendNumber(appendNumber(b, 1, int64(m.Conversation)), 2, m.ID)
}

func (m *StoredMessage) set(number protowire.Number, n uint64, _ []byte) error {
	switch number {
	case 1:
		m.Conversation = n
	case 2:
		m.ID = int64(n)
	}
	return nil
}

func (m *MessageOrder) append(b []byte) []byte {
	b = appendNumber(b, 1, int64(m.Conversation))
	b = appendNumber(b, 2, m.ID)
	b = appendNumber(b, 3, m.Stored.UnixMicro())
	return appendBytes(b, 4, []byte(m.Service))
}

func (m *MessageOrder) set(number protowire.Number, n uint64, data []byte) error {
	switch number {
	case 1:
		m.Conversation = n
	case 2:
		m.ID = int64(n)
	case 3:
		m.Stored = time.UnixMicro(int64(n))
	case 4:
		m.Service = string(data)
	}
	return nil
}

func (s *Session) append(b []byte) []byte {
	return appendNumber(appendNumber(b, 1, s.UserID), 2, s.Device)
}

func (s *Session) set(number protowire.Number, n uint64, _ []byte) error {
	switch number {
	case 1:
		s.UserID = int64(n)
	case 2:
		s.Device = wire.DeviceType(n)
	}
	return nil
}

func (d *Delivered) append(b []byte) []byte {
	return appendIDs(appendNumber(b, 1, d.Sessions), 2, d.Missed)
}

func (d *Delivered) set(number protowire.Number, n uint64, data []byte) (err error) {
	switch number {
	case 1:
		d.Sessions = int(n)
	case 2:
		d.Missed, err = parseIDs(data)
	}
	return err
}
