// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strconv"

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

// behalf is somebody on whose request plugins are called.
type behalf struct {
	kind string
	id   int64
	// request is which request it is; nil if that is not known.
	request *request
}

// request is a request because of which plugins are called.
type request struct{ id, kind string }

// The kinds of those on whose request plugins are called.
const (
	behalfUser  = "user"
	behalfAdmin = "admin"
	// behalfNobody is a request of somebody who is not known.
	behalfNobody = ""
)

// ForUser marks calls of plugins as made because of a request of a user. A context that tells which request of the user it
// is goes on to tell so.
func ForUser(ctx context.Context, id int64) context.Context {
	if b, ok := ctx.Value(behalfKey{}).(behalf); ok && b.request != nil && b.kind == behalfUser && b.id == id {
		return ctx
	}
	return context.WithValue(ctx, behalfKey{}, behalf{behalfUser, id, nil})
}

// ForRequest marks calls of plugins as made because of a certain request of a user.
func ForRequest(ctx context.Context, userID, requestID int64, kind wire.Kind) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{behalfUser, userID, &request{strconv.FormatInt(requestID, 10), kind.String()}})
}

// ForAdmin marks calls of plugins as made because of a request of an administrator.
func ForAdmin(ctx context.Context, id int64) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{behalfAdmin, id, nil})
}

// ForAdminRequest marks calls of plugins as made because of a certain request of an administrator, who is nil if the
// request was not authenticated.
func ForAdminRequest(ctx context.Context, adminID *int64, requestID, operation string) context.Context {
	b := behalf{behalfNobody, 0, &request{requestID, operation}}
	if adminID != nil {
		b.kind, b.id = behalfAdmin, *adminID
	}
	return context.WithValue(ctx, behalfKey{}, b)
}

// SameBehalf returns ctx on behalf of those for whom a call is made.
func SameBehalf(ctx, call context.Context) context.Context {
	if b, ok := call.Value(behalfKey{}).(behalf); ok {
		return context.WithValue(ctx, behalfKey{}, b)
	}
	return ctx
}

// OnBehalfOf returns on whose request something is done with a context: "user 12" or "admin 3"; "" if that is not known.
func OnBehalfOf(ctx context.Context) string {
	b, ok := ctx.Value(behalfKey{}).(behalf)
	if !ok || b.kind == behalfNobody {
		return ""
	}
	return b.kind + " " + strconv.FormatInt(b.id, 10)
}
