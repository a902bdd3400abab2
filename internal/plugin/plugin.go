// SPDX-License-Identifier: Apache-2.0

// Package plugin lets programs of others take part in what the server does: it finds plugins, keeps them, leads their
// extensions through their life and calls them at the extension points.
//
// It knows no language: a Host does. It knows no role and no rule: who calls an extension point does.
package plugin

import "example.org/app/internal/role"

// A Language is what a plugin is written in.
type Language string

// The languages.
const (
	Java       Language = "JAVA"
	JavaScript Language = "JAVA_SCRIPT"
)

// A Descriptor is what a plugin says of itself.
type Descriptor struct {
	// ID is never empty and distinguishes plugins.
	ID                                      string
	Version, Provider, License, Description string
	// Servers are the roles that the plugin is made for; none is every role.
	Servers []role.Role
	// Settings are those that administrators can change while the plugin runs; nil is none.
	Settings *Schema
	// Requested is what the plugin asks for. It has no more, unless everything is granted (config.GrantsOpen).
	Requested Grants
}
