// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// A Point is an extension point: methods that the server calls on extensions. It is declared once,
// here; the Java interfaces and the TypeScript types are generated from this declaration.
type Point struct {
	// Name is its name for plugins. Package completes it to the fully qualified name, which they
	// may use as well.
	Name, Package string
	// Roles are the roles that call it.
	Roles []role.Role
	// Singleton allows one started extension at a time.
	Singleton bool
	Doc       string
	Methods   []*Method
	// Listeners are functions through which extensions get functions of the server.
	Listeners []*Listener
	// settings returns its configuration; nil if it has none.
	settings func(config.ExtensionPoints) config.ExtensionPoint
}

// FullName is the fully qualified name.
func (p *Point) FullName() string { return p.Package + "." + p.Name }

// A Method is one function of an extension point.
type Method struct {
	Point  *Point
	Name   string
	Doc    string
	Params []Param
	// Result is the type of the result, nil if there is none.
	Result reflect.Type
	Mode   Mode
	// Timeout is the default time limit of one call.
	Timeout time.Duration
	// Failure is the default reaction to a failed call.
	Failure Failure
	// Pure is true if a call only computes its result, so that a lost one may be repeated.
	Pure bool
	// user returns the user whom a call concerns; nil if calls concern none. See subjectOf.
	user func(first any, rest []any) (userID int64, ok bool)
}

// A Param is a parameter of a method.
type Param struct {
	Name string
	Type reflect.Type
	Doc  string
	// Optional parameters may be nil.
	Optional bool
}

// A Mode defines how several extensions share one call.
type Mode int

// The modes.
const (
	// Pipeline passes the first argument through all extensions; each gets the previous one's
	// result. Returning nothing leaves the value unchanged.
	Pipeline Mode = iota
	// FirstAnswer calls one after another until one answers.
	FirstAnswer
	// Simultaneous calls all concurrently and does not wait for them.
	Simultaneous
	// Only calls the only extension.
	Only
	// Repeated calls each extension until that succeeds, sequentially, by one process of the
	// cluster.
	Repeated
)

// A Failure is the reaction to an extension's failure.
type Failure int

// The failures.
const (
	// Refuse makes the operation fail.
	Refuse Failure = iota
	// Ignore continues the operation as if the extension did not exist.
	Ignore
)
