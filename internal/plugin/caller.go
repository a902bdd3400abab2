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

// WithCaller marks what is done with a context as done by the plugin with an id. A plugin that removes, replaces or stops
// itself does not wait for its own end.
func WithCaller(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callerKey{}, id)
}

// Caller returns the id of the plugin that does what is done with a context; "" if it is none.
func Caller(ctx context.Context) string {
	id, _ := ctx.Value(callerKey{}).(string)
	return id
}

// isCaller reports whether a plugin does what is done with a context.
func (p *Plugin) isCaller(ctx context.Context) bool {
	id := Caller(ctx)
	return id != "" && id == p.ID
}

type roleKey struct{}

// InRole marks calls of an extension point that several roles have as made by one of them.
func InRole(ctx context.Context, r role.Role) context.Context {
	return context.WithValue(ctx, roleKey{}, r)
}

// RoleOf returns the role that calls extension points with a context: the only one that has all of them, or that of
// InRole; "" if neither is known.
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

// behalf is somebody on whose request plugins are called, and which request that is: one of a client has a number and a
// kind, whose texts are made when they are needed, one of an administrator has texts. Requests may be unknown.
type behalf struct {
	somebody  somebody
	hasNumber bool
	kind      wire.Kind
	id        int64
	number    int64
	admin     *adminRequest
}

// adminRequest is a request of an administrator because of which plugins are called.
type adminRequest struct{ id, operation string }

// somebody is the kind of those on whose request plugins are called.
type somebody uint8

const (
	nobody somebody = iota // A request of somebody who is not known.
	user
	administrator
)

// cause returns what decides whether calls on behalf of b are recorded.
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

// tell tells a subject on whose behalf the call is made.
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

// behalfContext is a context with a behalf. It is made for every request while calls are recorded: context.WithValue would
// need memory for both apart.
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

// behalfOf returns on whose request something is done with a context; nil if that is not known.
func behalfOf(ctx context.Context) *behalf {
	b, _ := ctx.Value(behalfKey{}).(*behalf)
	return b
}

// ForUser marks calls of plugins as made because of a request of a user. A context that tells which request of the user it
// is goes on to tell so.
func ForUser(ctx context.Context, id int64) context.Context {
	if b := behalfOf(ctx); b != nil && b.hasNumber && b.id == id {
		return ctx
	}
	return &behalfContext{ctx, behalf{somebody: user, id: id}}
}

// ForRequest marks calls of plugins as made because of a certain request of a user.
func ForRequest(ctx context.Context, userID, requestID int64, kind wire.Kind) context.Context {
	return &behalfContext{ctx, behalf{somebody: user, id: userID, hasNumber: true, number: requestID, kind: kind}}
}

// ForAdmin marks calls of plugins as made because of a request of an administrator.
func ForAdmin(ctx context.Context, id int64) context.Context {
	return &behalfContext{ctx, behalf{somebody: administrator, id: id}}
}

// ForAdminRequest marks calls of plugins as made because of a certain request of an administrator, who is nil if the
// request was not authenticated.
func ForAdminRequest(ctx context.Context, adminID *int64, requestID, operation string) context.Context {
	b := behalf{admin: &adminRequest{requestID, operation}}
	if adminID != nil {
		b.somebody, b.id = administrator, *adminID
	}
	return &behalfContext{ctx, b}
}

// SameBehalf returns ctx on behalf of those for whom a call is made.
func SameBehalf(ctx, call context.Context) context.Context {
	if b := behalfOf(call); b != nil {
		return &behalfContext{ctx, *b}
	}
	return ctx
}

// OnBehalfOf returns on whose request something is done with a context: "user 12" or "admin 3"; "" if that is not known.
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
