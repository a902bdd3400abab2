// SPDX-License-Identifier: Apache-2.0

package api

import (
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
)

// grantsRecord is what a plugin asks for, or what it was granted.
type grantsRecord struct {
	Permissions []string `json:"permissions" doc:"Permissions of the admin interface." example:"[\"USER_QUERY\"]"`
	Hosts       []string `json:"hosts" doc:"Hosts that a script connects to: names, addresses, *.name for all hosts below a name or * for all, with or without a port." example:"[\"*.example.org\"]"`
	Java        bool     `json:"java" doc:"Whether a script uses classes of Java."`
}

// newGrantsRecord returns nil for no grants.
func newGrantsRecord(g plugin.Grants) *grantsRecord {
	if g.IsEmpty() {
		return nil
	}
	r := &grantsRecord{Permissions: g.PermissionSet().Names(), Hosts: g.Hosts, Java: g.Java}
	if r.Hosts == nil {
		r.Hosts = []string{}
	}
	return r
}

// granted is what a plugin that is loaded may do; nil means everything.
func (h pluginHandlers) granted(p *plugin.Plugin) *grantsRecord {
	if h.Settings().Grants.Mode == config.GrantsOpen {
		return nil
	}
	if r := newGrantsRecord(p.Requested); r != nil {
		return r
	}
	return &grantsRecord{Permissions: []string{}, Hosts: []string{}}
}
