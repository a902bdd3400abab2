// SPDX-License-Identifier: Apache-2.0

// Package role defines the roles of nodes: of the processes of this program, of the members of a
// cluster and of the servers that a plugin is for.
package role

import "strings"

// A Role is the role of a node, spelled as in cluster records and in the admin API.
type Role string

// The roles. The first two are those of this program; the others may occur in records of members
// that an administrator adds and in descriptors of plugins.
const (
	Gateway   Role = "GATEWAY"
	Service   Role = "SERVICE"
	AIServing Role = "AI_SERVING"
	Mock      Role = "MOCK"
)

// All are the roles of this program, in the order in which one process starts them.
var All = []Role{Service, Gateway}

// Name returns the role as spelled on the command line, in file names and in logs: "gateway",
// "ai-serving".
func (r Role) Name() string { return strings.ReplaceAll(strings.ToLower(string(r)), "_", "-") }

// Names returns the names of roles.
func Names(roles []Role) []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.Name()
	}
	return names
}

// Of returns the role with a name from the command line. It does not check that the role exists.
func Of(name string) Role { return Role(strings.ReplaceAll(strings.ToUpper(name), "-", "_")) }

// OfServer returns the role of a server in a plugin's descriptor, which is a role or the name of a
// program: "GATEWAY", "app-gateway". Plugins are never for a Mock.
func OfServer(name string) (r Role, known bool) {
	for _, r := range []Role{Gateway, Service, AIServing} {
		if name == string(r) || name == "app-"+r.Name() {
			return r, true
		}
	}
	return "", false
}
