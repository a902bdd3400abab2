// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types of this file convert fields whose columns have another form. Each is a pointer to a
// field, or contains one, and both scans a column into the field and returns the field's value for
// the column.

// millis is a time, stored in milliseconds since 1970.
type millis time.Time

func (m *millis) Scan(source any) error {
	ms, ok := source.(int64)
	if !ok {
		return fmt.Errorf("read a date: it is %T", source)
	}
	*m = millis(time.UnixMilli(ms).UTC())
	return nil
}

func (m *millis) Value() (driver.Value, error) { return (*time.Time)(m).UnixMilli(), nil }

// optionalMillis is a time that is stored as NULL if it is nil.
type optionalMillis struct{ field **time.Time }

func (m optionalMillis) Scan(source any) error {
	if source == nil {
		*m.field = nil
		return nil
	}
	*m.field = new(time.Time)
	return (*millis)(*m.field).Scan(source)
}

func (m optionalMillis) Value() (driver.Value, error) {
	if *m.field == nil {
		return nil, nil
	}
	return (*m.field).UnixMilli(), nil
}

// millisOrZero is a time that is stored as NULL if it is zero.
type millisOrZero time.Time

func (m *millisOrZero) Scan(source any) error {
	if source == nil {
		*m = millisOrZero{}
		return nil
	}
	return (*millis)(m).Scan(source)
}

func (m *millisOrZero) Value() (driver.Value, error) {
	if (*time.Time)(m).IsZero() {
		return nil, nil
	}
	return (*millis)(m).Value()
}

// list is a list of names, stored as text with commas in between. It is never nil when read.
type list []string

func (l *list) Scan(source any) error {
	data, err := bytesFrom(source)
	*l = list{}
	if len(data) > 0 {
		*l = strings.Split(string(data), ",")
	}
	return err
}

func (l *list) Value() (driver.Value, error) { return strings.Join(*l, ","), nil }

// idList is a list of ids, separated by commas.
type idList []int64

func (l *idList) Scan(source any) error {
	var texts list
	err := texts.Scan(source)
	*l = idList{}
	for _, text := range texts {
		id, bad := strconv.ParseInt(text, 10, 64)
		*l, err = append(*l, id), errors.Join(err, bad)
	}
	return err
}

func (l *idList) Value() (driver.Value, error) {
	texts := make([]string, len(*l))
	for i, id := range *l {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, ","), nil
}

// auditTargets is a list that is stored with commas before, between and after its elements, so that
// one can be searched.
type auditTargets []string

func (l *auditTargets) Scan(source any) error {
	data, err := bytesFrom(source)
	*l = auditTargets{}
	if text := strings.Trim(string(data), ","); text != "" {
		*l = strings.Split(text, ",")
	}
	return err
}

func (l *auditTargets) Value() (driver.Value, error) {
	if len(*l) == 0 {
		return "", nil
	}
	return "," + strings.Join(*l, ",") + ",", nil
}

// auditEntries are the entries of a seal, without their dates.
type auditEntries []AuditEntry

func (l *auditEntries) Scan(source any) error {
	data, err := bytesFrom(source)
	if err != nil {
		return err
	}
	const size = 8 + sha256.Size
	if len(data)%size != 0 {
		// Somebody changed them. Without entries, the hash of the seal does not match.
		*l = nil
		return nil
	}
	*l = make(auditEntries, 0, len(data)/size)
	for ; len(data) > 0; data = data[size:] {
		*l = append(*l, AuditEntry{ID: int64(binary.BigEndian.Uint64(data)), Digest: [sha256.Size]byte(data[8:size])})
	}
	return nil
}

func (l *auditEntries) Value() (driver.Value, error) {
	return AppendAuditEntries(make([]byte, 0, len(*l)*(8+sha256.Size)), *l), nil
}

// optionalList is a list that is stored as NULL if it is nil.
type optionalList struct{ field *[]string }

func (l optionalList) Scan(source any) error {
	if source == nil {
		*l.field = nil
		return nil
	}
	return (*list)(l.field).Scan(source)
}

func (l optionalList) Value() (driver.Value, error) {
	if *l.field == nil {
		return nil, nil
	}
	return (*list)(l.field).Value()
}

// blob is a NOT NULL column of bytes: nil is stored as empty.
type blob []byte

func (b *blob) Scan(source any) error {
	data, err := bytesFrom(source)
	*b = bytesOf(data)
	return err
}

func (b *blob) Value() (driver.Value, error) { return bytesOf(*b), nil }

// optionalBytes are bytes, stored as NULL if there are none.
type optionalBytes []byte

func (b *optionalBytes) Scan(source any) (err error) {
	*b, err = bytesFrom(source)
	return err
}

func (b *optionalBytes) Value() (driver.Value, error) { return nullIfEmpty(*b), nil }

// nullIfEmpty returns NULL for no bytes.
func nullIfEmpty(b []byte) driver.Value {
	if len(b) == 0 {
		return nil
	}
	return b
}

// bytesFrom copies the bytes of a column.
func bytesFrom(source any) ([]byte, error) {
	switch s := source.(type) {
	case nil:
		return nil, nil
	case []byte:
		return slices.Clone(s), nil
	case string:
		return []byte(s), nil
	}
	return nil, fmt.Errorf("read bytes: they are %T", source)
}

// bytesOf returns empty bytes instead of nil, because the schema does not allow NULL.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// address is the 4 or 16 bytes of an address, stored as NULL if it is invalid.
type address netip.Addr

func (a *address) Scan(source any) error {
	data, err := bytesFrom(source)
	if err != nil || data == nil {
		*a = address{}
		return err
	}
	ip, ok := netip.AddrFromSlice(data)
	if !ok {
		return fmt.Errorf("read an address: it has %d bytes", len(data))
	}
	*a = address(ip)
	return nil
}

func (a *address) Value() (driver.Value, error) { return nullIfEmpty(addrBytes(netip.Addr(*a))), nil }

// addrBytes are the 4 or 16 bytes of an address; an IPv4 address that is written as an IPv6 one has
// 4.
func addrBytes(ip netip.Addr) []byte {
	if !ip.IsValid() {
		return nil
	}
	return ip.Unmap().AsSlice()
}

// records is a list of bytes, stored as NULL if it is empty.
type records [][]byte

func (r *records) Scan(source any) error {
	data, err := bytesFrom(source)
	if err == nil {
		*r, err = unpackRecords(data)
	}
	return err
}

func (r *records) Value() (driver.Value, error) { return nullIfEmpty(packRecords(*r)), nil }

// object is a JSON object, stored as text. Its numbers are json.Number when read.
type object map[string]any

func (o *object) Scan(source any) error {
	data, err := bytesFrom(source)
	if err != nil || data == nil {
		*o = nil
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode((*map[string]any)(o)); err != nil {
		return fmt.Errorf("read a JSON object: %w", err)
	}
	return nil
}

func (o *object) Value() (driver.Value, error) {
	document, err := json.Marshal(*o)
	if err != nil {
		return nil, fmt.Errorf("%w: JSON object: %w", ErrInvalidValue, err)
	}
	return string(document), nil
}

// attributes is an object that is stored as NULL if it is empty.
type attributes map[string]any

func (a *attributes) Scan(source any) error { return (*object)(a).Scan(source) }

func (a *attributes) Value() (driver.Value, error) {
	if len(*a) == 0 {
		return nil, nil
	}
	return (*object)(a).Value()
}

// document is a value that is stored as canonical JSON text, so that equal values are equal texts.
type document[T any] struct {
	field *T
	// form returns the value in its stored form.
	form func(T) any
}

func (d document[T]) Scan(source any) error {
	data, err := bytesFrom(source)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, d.field); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

func (d document[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(d.form(*d.field))
	if err != nil {
		return nil, fmt.Errorf("%w: JSON: %w", ErrInvalidValue, err)
	}
	return string(text), nil
}

func (d document[T]) journalValue() any { return d.form(*d.field) }
