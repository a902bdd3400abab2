// SPDX-License-Identifier: Apache-2.0

// Package role names what a node does. It is the one type of it: for the processes of this program, for the members of a
// cluster and for the servers that a plugin is made for.
package role

import "strings"

// A Role is what a node does, spelled as in the records of the cluster and in the admin API.
type Role string

// The roles. The first two are those of this program; the others may stand in records of members that an administrator
// adds and in descriptors of plugins.
const (
	Gateway   Role = "GATEWAY"
	Service   Role = "SERVICE"
	AIServing Role = "AI_SERVING"
	Mock      Role = "MOCK"
)

// All are the roles of this program, in the order in which one process starts them.
var All = []Role{Service, Gateway}

// Name returns the role as the command line, file names and logs spell it: "gateway", "ai-serving".
func (r Role) Name() string { return strings.ReplaceAll(strings.ToLower(string(r)), "_", "-") }

// Names returns the names of roles.
func Names(roles []Role) []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.Name()
	}
	return names
}

// Of returns the role with a name of the command line. It does not check that there is such a role.
func Of(name string) Role { return Role(strings.ReplaceAll(strings.ToUpper(name), "-", "_")) }

// OfServer returns the role of a server that a plugin names, as a role or as the name of a program: "GATEWAY",
// "app-gateway". Plugins are not made for a Mock.
func OfServer(name string) (r Role, known bool) {
	for _, r := range []Role{Gateway, Service, AIServing} {
		if name == string(r) || name == "app-"+r.Name() {
			return r, true
		}
	}
	return "", false
}
