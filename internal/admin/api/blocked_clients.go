// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"net/netip"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const (
	ipBlocklistTag   = "IpBlocklistController"
	userBlocklistTag = "UserBlocklistController"
)

type blockedIPHandlers struct{ list *blocklist.List[netip.Addr] }

func blockedIPOperations(l *blocklist.List[netip.Addr]) []*admin.Operation {
	h := blockedIPHandlers{l}
	const path = "/blocked-clients/ips"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createBlockedIps", Method: http.MethodPost, Path: path, Tag: ipBlocklistTag, Permission: permission.ClientBlocklistCreate,
			Summary: "Block IP addresses",
			Description: "Blocks addresses for some time from now, which replaces the end of a block that exists. " +
				"Live sessions of the addresses are closed. Without addresses or a positive duration nothing happens.",
			Errors: []apierr.Code{apierr.IPBlocklistIsDisabled},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryBlockedIps", Method: http.MethodGet, Path: path, Tag: ipBlocklistTag, Permission: permission.ClientBlocklistQuery,
			Summary: "Query blocked IP addresses", Description: "Returns those of the addresses that are blocked.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryBlockedIpPage", Method: http.MethodGet, Path: path + "/page", Tag: ipBlocklistTag, Permission: permission.ClientBlocklistQuery,
			Summary: "Query blocked IP addresses by page", Description: "Returns a page of the blocked addresses and how many there are.",
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "deleteBlockedIps", Method: http.MethodDelete, Path: path, Tag: ipBlocklistTag, Permission: permission.ClientBlocklistDelete,
			Summary: "Unblock IP addresses", Description: "Lifts the blocks of addresses, or all of them. While the blocklist is disabled nothing happens.",
		}, h.delete),
	}
}

// BlockedIP is a blocked address as the interface returns it.
type BlockedIP struct {
	ID           string     `json:"id" doc:"Address in its canonical form." example:"203.0.113.7"`
	BlockEndTime admin.Date `json:"blockEndTime" doc:"When the block ends."`
}

func newBlockedIP(e blocklist.Entry[netip.Addr]) BlockedIP {
	return BlockedIP{e.Key.String(), admin.NewDate(e.Until)}
}

// parseIPs reads the addresses of a parameter or field; all must be valid.
func parseIPs(texts []string) ([]netip.Addr, error) {
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		var err error
		if addrs[i], err = blocklist.ParseIP(text); err != nil {
			return nil, apierr.New(apierr.IllegalArgument, "ids: %s", apierr.From(err).Reason)
		}
	}
	return addrs, nil
}

// blockedIPCreation is the body of POST /blocked-clients/ips.
type blockedIPCreation struct {
	IDs                 []string `json:"ids" uniqueItems:"true" doc:"IPv4 or IPv6 addresses without zone." example:"[\"203.0.113.7\"]"`
	BlockDurationMillis int64    `json:"blockDurationMillis,omitempty" doc:"Duration of the block; if it is not positive, nothing happens." example:"600000"`
}

type blockedIPCreationInput struct{ Body blockedIPCreation }

func (h blockedIPHandlers) create(ctx context.Context, in *blockedIPCreationInput) (admin.NoContent, error) {
	addrs, err := parseIPs(in.Body.IDs)
	if err != nil {
		return admin.NoContent{}, err
	}
	return admin.NoContent{}, h.list.Block(ctx, addrs, in.Body.BlockDurationMillis)
}

type blockedIPQuery struct {
	IDs []string `query:"ids" required:"true" uniqueItems:"true" doc:"IPv4 or IPv6 addresses without zone." example:"[\"203.0.113.7\"]"`
}

func (h blockedIPHandlers) query(ctx context.Context, in *blockedIPQuery) ([]BlockedIP, error) {
	addrs, err := parseIPs(in.IDs)
	if err != nil {
		return nil, err
	}
	found, err := h.list.Find(ctx, addrs)
	return resource.Convert(found, newBlockedIP), err
}

type blockedClientPageQuery struct{ admin.PageRequest }

func (h blockedIPHandlers) queryPage(ctx context.Context, in *blockedClientPageQuery) (admin.Page[BlockedIP], error) {
	return resource.Page(in.PageRequest, newBlockedIP, func(page store.Page) (int64, []blocklist.Entry[netip.Addr], error) {
		return h.list.FindPage(ctx, page)
	})
}

type blockedIPDeletion struct {
	IDs       []string `query:"ids" uniqueItems:"true" selector:"true" doc:"IPv4 or IPv6 addresses without zone." example:"[\"203.0.113.7\"]"`
	DeleteAll bool     `query:"deleteAll" default:"false" selector:"all" doc:"Whether to unblock all addresses, whatever the ids are."`
}

func (h blockedIPHandlers) delete(ctx context.Context, in *blockedIPDeletion) (admin.NoContent, error) {
	addrs, err := parseIPs(in.IDs)
	switch {
	case err != nil:
		return admin.NoContent{}, err
	case in.DeleteAll:
		return admin.NoContent{}, h.list.UnblockAll(ctx)
	default:
		return admin.NoContent{}, h.list.Unblock(ctx, addrs)
	}
}

type blockedUserHandlers struct{ list *blocklist.List[int64] }

func blockedUserOperations(l *blocklist.List[int64]) []*admin.Operation {
	h := blockedUserHandlers{l}
	const path = "/blocked-clients/users"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createBlockedUsers", Method: http.MethodPost, Path: path, Tag: userBlocklistTag, Permission: permission.ClientBlocklistCreate,
			Summary: "Block users",
			Description: "Blocks users, who need not exist, for some time from now, which replaces the end of a block that exists. " +
				"Live sessions of the users are closed. Without users or a positive duration nothing happens.",
			Errors: []apierr.Code{apierr.UserIDBlocklistIsDisabled},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryBlockedUsers", Method: http.MethodGet, Path: path, Tag: userBlocklistTag, Permission: permission.ClientBlocklistQuery,
			Summary: "Query blocked users", Description: "Returns those of the users who are blocked.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryBlockedUserPage", Method: http.MethodGet, Path: path + "/page", Tag: userBlocklistTag, Permission: permission.ClientBlocklistQuery,
			Summary: "Query blocked users by page", Description: "Returns a page of the blocked users and how many there are.",
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "deleteBlockedUsers", Method: http.MethodDelete, Path: path, Tag: userBlocklistTag, Permission: permission.ClientBlocklistDelete,
			Summary: "Unblock users", Description: "Lifts the blocks of users, or all of them. While the blocklist is disabled nothing happens.",
		}, h.delete),
	}
}

// BlockedUser is a blocked user as the interface returns it.
type BlockedUser struct {
	ID           int64      `json:"id" doc:"Id of the user." example:"1234567890123456789"`
	BlockEndTime admin.Date `json:"blockEndTime" doc:"When the block ends."`
}

func newBlockedUser(e blocklist.Entry[int64]) BlockedUser {
	return BlockedUser{e.Key, admin.NewDate(e.Until)}
}

// blockedUserCreation is the body of POST /blocked-clients/users.
type blockedUserCreation struct {
	IDs                 []int64 `json:"ids,omitempty" uniqueItems:"true" doc:"Ids of users; absent: nothing happens." example:"[1]"`
	BlockDurationMillis int64   `json:"blockDurationMillis,omitempty" doc:"Duration of the block; if it is not positive, nothing happens." example:"600000"`
}

type blockedUserCreationInput struct{ Body blockedUserCreation }

func (h blockedUserHandlers) create(ctx context.Context, in *blockedUserCreationInput) (admin.NoContent, error) {
	return admin.NoContent{}, h.list.Block(ctx, in.Body.IDs, in.Body.BlockDurationMillis)
}

type blockedUserQuery struct {
	IDs []int64 `query:"ids" required:"true" uniqueItems:"true" doc:"Ids of users." example:"[1]"`
}

func (h blockedUserHandlers) query(ctx context.Context, in *blockedUserQuery) ([]BlockedUser, error) {
	found, err := h.list.Find(ctx, in.IDs)
	return resource.Convert(found, newBlockedUser), err
}

func (h blockedUserHandlers) queryPage(ctx context.Context, in *blockedClientPageQuery) (admin.Page[BlockedUser], error) {
	return resource.Page(in.PageRequest, newBlockedUser, func(page store.Page) (int64, []blocklist.Entry[int64], error) {
		return h.list.FindPage(ctx, page)
	})
}

type blockedUserDeletion struct {
	IDs       []int64 `query:"ids" uniqueItems:"true" selector:"true" doc:"Ids of users." example:"[1]"`
	DeleteAll bool    `query:"deleteAll" default:"false" selector:"all" doc:"Whether to unblock all users, whatever the ids are."`
}

func (h blockedUserHandlers) delete(ctx context.Context, in *blockedUserDeletion) (admin.NoContent, error) {
	if in.DeleteAll {
		return admin.NoContent{}, h.list.UnblockAll(ctx)
	}
	return admin.NoContent{}, h.list.Unblock(ctx, in.IDs)
}
