// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.org/app/internal/apierr"
)

// Query is a parsed query string. It implements only the grammar; input defines the parameters of
// an operation and their types.
//
// The spellings ids=1,2, ids=1&ids=2, ids[]=1&ids[]=2 and ids[0]=1&ids[1]=2 are equivalent;
// keys[0].a=1&keys[0].b=2 makes one object. Every percent escape is decoded; a plus sign is a plus
// sign.
type Query map[string]*queryParam

// queryParam contains all values of one name.
type queryParam struct {
	values  []string
	style   bracketStyle
	objects []queryObject
	byIndex map[int]int // position in objects
}

// queryObject is one element of a list of objects.
type queryObject struct {
	index  int
	fields []queryField
}

type queryField struct{ name, value string }

type bracketStyle int

const (
	noBrackets bracketStyle = iota
	emptyBrackets
	indexedBrackets
)

// maxObjectIndex bounds n in keys[n], and so the number of objects; no URL holds more.
const maxObjectIndex = 1 << 16

// ParseQuery reads a query string.
func ParseQuery(raw string) (Query, error) {
	q := Query{}
	for raw != "" {
		pair, rest, more := strings.Cut(raw, "&")
		raw = rest
		if pair == "" {
			continue
		}
		rawKey, rawValue, _ := strings.Cut(pair, "=")
		if rawValue == "" && !more {
			continue // A name without value at the end counts as absent.
		}
		key, err := unescape(rawKey)
		if err != nil {
			return nil, illegal("query parameter name %q %v", clip(rawKey), err)
		}
		value, err := unescape(rawValue)
		if err != nil {
			return nil, illegal("parameter %q: value %q %v", clip(key), clip(rawValue), err)
		}
		if err := q.add(key, value); err != nil {
			return nil, err
		}
	}
	for name, p := range q {
		slices.SortFunc(p.objects, func(a, b queryObject) int { return a.index - b.index })
		for i, o := range p.objects {
			if o.index != i {
				return nil, illegal("parameter %q: indexes of objects must start at 0 and grow by one, but %d is missing", clip(name), i)
			}
		}
	}
	return q, nil
}

// add files one key and its value.
func (q Query) add(key, value string) error {
	name, rest, bracket := strings.Cut(key, "[")
	if name == "" {
		return illegal("query parameter %q has no name", clip(key))
	}
	p := q[name]
	if p == nil {
		p = &queryParam{}
		q[name] = p
	}
	if !bracket {
		p.values = append(p.values, value)
		return nil
	}
	index, field, closed := strings.Cut(rest, "]")
	if !closed {
		return illegal("query parameter %q has a bracket that is not closed", clip(key))
	}
	style, n := emptyBrackets, -1
	if index != "" {
		var err error
		style = indexedBrackets
		if n, err = strconv.Atoi(index); err != nil || n < 0 || n > maxObjectIndex {
			return illegal("query parameter %q: the index %q must be a number from 0 to %d", clip(key), clip(index), maxObjectIndex)
		}
	}
	if p.style != noBrackets && p.style != style {
		return illegal("parameter %q: name[] and name[n] cannot be mixed", clip(name))
	}
	p.style = style
	if field == "" {
		p.values = append(p.values, value)
		return nil
	}
	if field[0] != '.' || len(field) == 1 || style != indexedBrackets {
		return illegal("query parameter %q must have the form name[0].field", clip(key))
	}
	p.addField(n, queryField{field[1:], value})
	return nil
}

func (p *queryParam) addField(index int, f queryField) {
	i, found := p.byIndex[index]
	if !found {
		i = len(p.objects)
		p.objects = append(p.objects, queryObject{index: index})
		if p.byIndex == nil {
			p.byIndex = map[int]int{}
		}
		p.byIndex[index] = i
	}
	p.objects[i].fields = append(p.objects[i].fields, f)
}

type escapeError string

func (e escapeError) Error() string { return string(e) }

// unescape decodes percent escapes, but not plus signs.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		if !utf8.ValidString(s) {
			return "", escapeError("is not UTF-8")
		}
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", escapeError("ends in the middle of a percent escape")
		}
		hi, lo := unhex(s[i+1]), unhex(s[i+2])
		if hi < 0 || lo < 0 {
			return "", escapeError("has the malformed percent escape " + strconv.Quote(s[i:i+3]))
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	if !utf8.Valid(b) {
		return "", escapeError("is not UTF-8 after decoding")
	}
	return string(b), nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// illegal returns the error for an invalid argument.
func illegal(format string, args ...any) error {
	return apierr.New(apierr.IllegalArgument, format, args...)
}

// clip shortens input for use in an error.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
