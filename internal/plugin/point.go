// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// A Point is an extension point: moments at which the server calls extensions. It is declared once, here; the Java
// interfaces and the TypeScript types are written from this declaration.
type Point struct {
	// Name is how plugins name it. Package completes it to the fully qualified name, which they may use as well.
	Name, Package string
	// Roles are where it is called.
	Roles []role.Role
	// Singleton allows one started extension at a time.
	Singleton bool
	Doc       string
	Methods   []*Method
	// Listeners are functions by which extensions get functions of the server.
	Listeners []*Listener
	// settings are those that an operator can change; nil is none.
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
	// Result is the type of the answer, nil if there is none.
	Result reflect.Type
	Mode   Mode
	// Timeout is the time limit of one call if the settings say nothing else.
	Timeout time.Duration
	// Failure is what a failed call means if the settings say nothing else.
	Failure Failure
	// Pure says that a call only computes its answer, so that one that was lost may be made once more.
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

// A Mode is how several extensions share one call.
type Mode int

// The modes.
const (
	// Pipeline passes the first argument through all extensions; each gets what the one before it answered. An answer
	// of nothing leaves the value as it is.
	Pipeline Mode = iota
	// FirstAnswer asks one after another until one answers.
	FirstAnswer
	// Simultaneous calls all at the same time and waits for none.
	Simultaneous
	// Only calls the one extension that there is.
	Only
	// Repeated calls each extension until that succeeds, one call after another, by one process of the cluster.
	Repeated
)

// A Failure is what it means for the caller that an extension failed.
type Failure int

// The failures.
const (
	// Refuse lets the operation fail.
	Refuse Failure = iota
	// Ignore lets the operation go on as if the extension were not there.
	Ignore
)
