// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/link"
	"example.org/app/internal/permission"
	"example.org/app/internal/presence"
	"example.org/app/internal/wire"
)

const sessionTag = "SessionController"

// Gateway are the parts that only the gateway role has.
type Gateway struct {
	// Presence has the gateway as its node.
	Presence *presence.Directory
}

// GatewayOperations are served by the gateway role.
func GatewayOperations(g Gateway) []*admin.Operation {
	h := sessionHandlers{g.Presence}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "deleteSessions", Method: http.MethodDelete, Path: "/sessions", Tag: sessionTag, Permission: permission.SessionDelete,
			Summary: "Close sessions",
			Description: "Closes the sessions that this gateway holds of users: of those with the ids, and of those of whom a session comes from " +
				"one of the addresses. Their clients receive the close status 600.",
		}, h.delete),
	}
}

type sessionHandlers struct{ presence *presence.Directory }

type sessionDeletion struct {
	IDs []int64  `query:"ids" uniqueItems:"true" selector:"true" doc:"Ids of users." example:"[1]"`
	IPs []string `query:"ips" uniqueItems:"true" selector:"true" doc:"IPv4 or IPv6 addresses without zone." example:"[\"203.0.113.7\"]"`
}

func (h sessionHandlers) delete(ctx context.Context, in *sessionDeletion) (admin.DeleteResult, error) {
	req := &link.Disconnection{UserIDs: in.IDs, Status: wire.ClosedByAdmin}
	for _, text := range in.IPs {
		ip, err := blocklist.ParseIP(text)
		if err != nil {
			return admin.DeleteResult{}, apierr.New(apierr.IllegalArgument, "ips: %s", apierr.From(err).Reason)
		}
		req.IPs = append(req.IPs, ip)
	}
	gateway := h.presence.Node()
	if len(req.IPs) > 0 {
		req.UserIDs = append(req.UserIDs, h.presence.UsersFrom(gateway.ID(), req.IPs)...)
	}
	resp, err := cluster.CallNode(ctx, gateway, gateway.ID(), link.Disconnect, req)
	if err != nil {
		return admin.DeleteResult{}, err
	}
	return admin.DeleteResult{DeletedCount: int64(resp.Sessions)}, nil
}
