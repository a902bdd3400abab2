// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"

	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// node returns the node for which a plugin is running. q.m is nil while the plugin is being
// loaded.
func (q *question) node(server plugin.Server) ([]byte, error) {
	class, method := q.rest.string(), q.rest.int()
	if err := q.rest.end(); err != nil {
		return nil, err
	}
	m := q.m
	ctx, of := q.session.conn.call(q.call)
	if m == nil { // Its extensions are not known yet.
		ctx, m = nil, of
	}
	node := server.Node(q.role(ctx, m, class, method))
	return appendString(appendString(appendString(nil, node.ID), string(node.Role)), node.Version), nil
}

// role returns the role that called a plugin, or its only role; "" if neither is known. ctx is
// nil outside of calls, and method is negative for a hook.
func (q *question) role(ctx context.Context, m *module, class string, method int64) role.Role {
	if m == nil {
		return ""
	}
	if ctx != nil {
		methods := q.session.host.methods
		var points []*plugin.Point
		if x, err := m.extension(class); err == nil {
			points = x.points
		}
		if method >= 0 && method < int64(len(methods)) {
			points = []*plugin.Point{methods[method].Point}
		}
		if r := plugin.RoleOf(ctx, points...); r != "" {
			return r
		}
	}
	if len(m.descriptor.Servers) == 1 {
		return m.descriptor.Servers[0]
	}
	return ""
}
