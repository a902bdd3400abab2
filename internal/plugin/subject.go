// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"slices"
)

// subjectOf returns a function for the user whom calls of a method concern, by its parameters: the
// requester; the one who sends the request, logs in or owns the sessions in the first argument; or
// the only user id. It returns nil if calls concern none. Those of HandleNotification concern
// several, see division.
func subjectOf(m *Method) func(first any, rest []any) (int64, bool) {
	at := slices.IndexFunc(m.Params, func(p Param) bool { return p.Name == "requesterId" })
	if at < 0 && len(m.Params) == 1 && m.Params[0].Name == "userId" {
		at = 0
	}
	switch {
	case at == 0:
		return func(first any, _ []any) (int64, bool) { id, ok := first.(int64); return id, ok }
	case at > 0:
		return func(_ any, rest []any) (int64, bool) {
			if at > len(rest) {
				return 0, false
			}
			id, ok := rest[at-1].(int64)
			return id, ok
		}
	case len(m.Params) > 0 && slices.Contains(ownedTypes, m.Params[0].Type):
		return owner
	}
	return nil
}

// ownedTypes are the types of first arguments that belong to a user.
var ownedTypes = []reflect.Type{reflect.TypeFor[*ClientRequest](), reflect.TypeFor[*UserLoginInfo](), reflect.TypeFor[*ClientSessions]()}

// owner returns the user to whom an argument belongs.
func owner(first any, _ []any) (int64, bool) {
	switch v := first.(type) {
	case *ClientRequest:
		if v != nil {
			return v.UserID, true
		}
	case *UserLoginInfo:
		if v != nil {
			return v.UserID, true
		}
	case *ClientSessions:
		if v != nil {
			return v.UserID, true
		}
	}
	return 0, false
}

// concerned returns the user whom a call concerns, by its arguments.
func (m *Method) concerned(first any, rest []any) (int64, bool) {
	if m.user == nil {
		return 0, false
	}
	return m.user(first, rest)
}

// concernedBy is concerned with all arguments in one list.
func (m *Method) concernedBy(args []any) (int64, bool) {
	if m.user == nil || len(args) == 0 {
		return 0, false
	}
	return m.user(args[0], args[1:])
}

// division divides calls of observers between the versions of plugins with a candidate. Of a
// notification each version gets its own recipients.
type division struct {
	method *Method
	all    []any
	// last is the last decided split, and stable and candidate are the arguments for the two
	// versions; nil means that a version is not called.
	last              *split
	stable, candidate []any
}

// of returns the arguments for an extension; nil means that it is not called.
func (d *division) of(s seat) []any {
	switch {
	case s.split == nil || s.split.shadow != nil && !s.candidate:
		return d.all
	case s.split.shadow != nil:
		return nil
	}
	if d.last != s.split {
		d.last = s.split
		d.divide(s.split)
	}
	if s.candidate {
		return d.candidate
	}
	return d.stable
}

// divide decides about a split.
func (d *division) divide(s *split) {
	if d.method == HandleNotification {
		d.stable, d.candidate = d.recipients(s, false), d.recipients(s, true)
		return
	}
	d.stable, d.candidate = d.all, nil
	if id, ok := d.method.concernedBy(d.all); ok && s.takes(id) {
		d.stable, d.candidate = nil, d.all
	}
}

// recipients returns the arguments of HandleNotification with only those recipients for which the
// candidate is, or is not, called; nil if there are none.
func (d *division) recipients(s *split, candidate bool) []any {
	args, found := slices.Clone(d.all), false
	for i := 1; i < len(args); i++ {
		ids, _ := args[i].([]int64)
		kept := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return s.takes(id) != candidate })
		args[i], found = kept, found || len(kept) > 0
	}
	if !found {
		return nil
	}
	return args
}
