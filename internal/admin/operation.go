// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
)

// Access defines who may call an operation.
type Access int

const (
	// Privileged operations need their permission. It is the zero value, so that an operation is
	// never public by omission.
	Privileged Access = iota
	// AnyAdmin operations need valid credentials and no permission.
	AnyAdmin
	// Public operations need no credentials.
	Public
)

// Operation is one operation of the admin interface, declared once. Router, authorisation, audit
// record, OpenAPI document and the functions for plugins derive from it.
type Operation struct {
	ID          string // unique; the operationId, and the action name in audit records
	Method      string
	Path        string
	Tag         string // the controller that groups it in the document
	Summary     string // one short line
	Description string
	Deprecated  bool
	// Records replaces {records} in the descriptions of parameters, for input types that several
	// resources share.
	Records string

	Access     Access
	Permission permission.Permission
	// OwnID names a query parameter. A caller without the permission may call the operation if that
	// parameter is exactly its own id.
	OwnID string
	// Open reports whether callers from an address need no credentials. It may be nil.
	Open func(netip.Addr) bool
	// Enabled reports whether the operation is enabled. It may be nil.
	Enabled func() bool

	// Replica allows a database replica to serve the operation, which must only read.
	Replica bool

	// Errors are the codes of the operation in addition to the general ones.
	Errors []apierr.Code
	// Media describes a result that is not in an envelope.
	Media *Media
	// EmptyIsOK makes an empty list a 200 with [] instead of a 204.
	EmptyIsOK bool

	inType, outType reflect.Type
	// input returns the compiled input type. It is compiled when it is first asked for: that of all
	// operations would take a tenth of the start of the server.
	input   func() *input
	run     func(ctx context.Context, in any) (any, error)
	dynamic *Dynamic // of operations that are added while the server runs
}

// Handle completes the declaration of an operation with its handler. In is the
// input struct, Out the type of the result: any type for data in an envelope,
// or one of Done, NoContent, Page, *Download, *Raw and Stream. The handler is
// called after authentication, authorisation and validation of the input; the
// caller is in the context (see Requester).
func Handle[In, Out any](op Operation, handler func(context.Context, *In) (Out, error)) *Operation {
	op.inType, op.outType = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	op.run = func(ctx context.Context, in any) (any, error) { return handler(ctx, in.(*In)) }
	return &op
}

// NoInput is the input of an operation that has none.
type NoInput struct{}

// fail panics: the declaration is wrong.
func (op *Operation) fail(format string, args ...any) {
	panic(fmt.Sprintf("admin: operation %q (%s %s): %s", op.ID, op.Method, op.Path, fmt.Sprintf(format, args...)))
}

// check panics when a declaration breaks a rule of the interface. It runs when
// the server starts and in every test.
func (op *Operation) check() {
	switch op.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		op.fail("method is not one of GET, HEAD, POST, PUT, DELETE")
	}
	switch {
	case op.ID == "" || op.Summary == "" || op.Tag == "" || op.run == nil:
		op.fail("ID, Summary, Tag and handler are needed")
	case !strings.HasPrefix(op.Path, "/") || strings.ContainsAny(op.Path, "{}:*%?") || strings.HasSuffix(op.Path, "/"):
		op.fail("a path has no parameters, escapes or trailing slash")
	case op.Access == Privileged && !permission.Known(op.Permission):
		op.fail("permission %q is not in the table", op.Permission)
	case op.Access != Privileged && op.Permission != "":
		op.fail("has a permission that is never asked for")
	}
	if op.Replica && op.Method != http.MethodGet {
		op.fail("only GET may be served by a replica")
	}
}

// compile compiles the input type and panics if it breaks a rule of the interface. It runs before
// the first request, and when the document is built.
func (op *Operation) compile() *input {
	in := inputOf(op.inType)
	body := in.body != nil || in.formIndex != nil
	if in.body != nil && in.formIndex != nil {
		op.fail("has a body and a form")
	}
	if body && (op.Method == http.MethodGet || op.Method == http.MethodHead || op.Method == http.MethodDelete) {
		op.fail("only POST and PUT have a body")
	}
	if op.Method == http.MethodDelete && !in.hasSelector() {
		op.fail("a deletion needs a parameter tagged selector")
	}
	if op.OwnID != "" && in.param(op.OwnID) == nil {
		op.fail("OwnID names the unknown parameter %q", op.OwnID)
	}
	return in
}

func (in *input) hasSelector() bool {
	for _, p := range in.params {
		if p.selector {
			return true
		}
	}
	return false
}

func (in *input) param(name string) *param {
	for _, p := range in.params {
		if p.name == name {
			return p
		}
	}
	return nil
}
