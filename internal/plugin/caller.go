// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strconv"

	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

type callerKey struct{}

// WithCaller returns a context for actions of the plugin with the id. A plugin that removes,
// replaces or stops itself does not wait for its own end.
func WithCaller(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callerKey{}, id)
}

// Caller returns the id of the acting plugin, or "".
func Caller(ctx context.Context) string {
	id, _ := ctx.Value(callerKey{}).(string)
	return id
}

// isCaller reports whether the plugin is the acting one.
func (p *Plugin) isCaller(ctx context.Context) bool {
	id := Caller(ctx)
	return id != "" && id == p.ID
}

type roleKey struct{}

// InRole returns a context for calls of an extension point by one of several roles.
func InRole(ctx context.Context, r role.Role) context.Context {
	return context.WithValue(ctx, roleKey{}, r)
}

// RoleOf returns the role that calls extension points: the only one that all of them have, or that
// of InRole; "" if neither is known.
func RoleOf(ctx context.Context, points ...*Point) role.Role {
	if r, ok := ctx.Value(roleKey{}).(role.Role); ok {
		return r
	}
	var r role.Role
	for _, p := range points {
		if len(p.Roles) != 1 || r != "" && r != p.Roles[0] {
			return ""
		}
		r = p.Roles[0]
	}
	return r
}

type behalfKey struct{}

// behalf is the user or administrator for whom plugins are called, with the request: a client's has
// a number and a kind, whose texts are made on demand, an administrator's has texts. The request
// may be unknown.
type behalf struct {
	somebody  somebody
	hasNumber bool
	kind      wire.Kind
	id        int64
	number    int64
	admin     *adminRequest
}

// adminRequest is an administrator's request for which plugins are called.
type adminRequest struct{ id, operation string }

// somebody is the kind of requester for whom plugins are called.
type somebody uint8

const (
	nobody somebody = iota // The requester is unknown.
	user
	administrator
)

// cause returns what decides whether calls for b are recorded.
func (b *behalf) cause() (c trace.Cause) {
	if b == nil {
		return c
	}
	if b.somebody == user {
		c.UserID = &b.id
	}
	if b.hasNumber {
		c.Number = &b.number
	}
	if b.admin != nil {
		c.RequestID = b.admin.id
	}
	return c
}

// tell sets the fields of a subject about the requester.
func (b *behalf) tell(s *trace.Subject) {
	if b == nil {
		return
	}
	switch b.somebody {
	case user:
		s.UserID = &b.id
	case administrator:
		s.AdminID = &b.id
	case nobody:
	}
	if b.hasNumber {
		s.RequestID, s.Request = strconv.FormatInt(b.number, 10), b.kind.String()
	}
	if b.admin != nil {
		s.RequestID, s.Request = b.admin.id, b.admin.operation
	}
}

// behalfContext is a context with a behalf. It is made for every request while calls are recorded:
// context.WithValue would allocate twice.
type behalfContext struct {
	context.Context
	behalf
}

// Value implements context.Context.
func (c *behalfContext) Value(key any) any {
	if key == (behalfKey{}) {
		return &c.behalf
	}
	return c.Context.Value(key)
}

// behalfOf returns for whom plugins are called, or nil if that is unknown.
func behalfOf(ctx context.Context) *behalf {
	b, _ := ctx.Value(behalfKey{}).(*behalf)
	return b
}

// ForUser returns a context for calls of plugins for a user's request. It keeps a more specific
// request of the same user.
func ForUser(ctx context.Context, id int64) context.Context {
	if b := behalfOf(ctx); b != nil && b.hasNumber && b.id == id {
		return ctx
	}
	return &behalfContext{ctx, behalf{somebody: user, id: id}}
}

// ForRequest returns a context for calls of plugins for a certain request of a user.
func ForRequest(ctx context.Context, userID, requestID int64, kind wire.Kind) context.Context {
	return &behalfContext{ctx, behalf{somebody: user, id: userID, hasNumber: true, number: requestID, kind: kind}}
}

// ForAdmin returns a context for calls of plugins for an administrator's request.
func ForAdmin(ctx context.Context, id int64) context.Context {
	return &behalfContext{ctx, behalf{somebody: administrator, id: id}}
}

// ForAdminRequest returns a context for calls of plugins for a certain request of an administrator;
// adminID is nil if it was not authenticated.
func ForAdminRequest(ctx context.Context, adminID *int64, requestID, operation string) context.Context {
	b := behalf{admin: &adminRequest{requestID, operation}}
	if adminID != nil {
		b.somebody, b.id = administrator, *adminID
	}
	return &behalfContext{ctx, b}
}

// SameBehalf returns ctx with the requester of the context call.
func SameBehalf(ctx, call context.Context) context.Context {
	if b := behalfOf(call); b != nil {
		return &behalfContext{ctx, *b}
	}
	return ctx
}

// OnBehalfOf returns for whom plugins are called: "user 12" or "admin 3"; "" if that is unknown.
func OnBehalfOf(ctx context.Context) string {
	b := behalfOf(ctx)
	switch {
	case b == nil || b.somebody == nobody:
		return ""
	case b.somebody == user:
		return "user " + strconv.FormatInt(b.id, 10)
	}
	return "admin " + strconv.FormatInt(b.id, 10)
}
