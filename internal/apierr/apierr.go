// SPDX-License-Identifier: Apache-2.0

// Package apierr holds the business status codes that callers of the server
// see, and the error type that carries one of them. It knows nothing of HTTP
// handlers, of the client protocol or of storage: those translate from and to
// it.
package apierr

import (
	"errors"
	"fmt"
)

//go:generate go run ./generate

// Code is a business status code. Numbers are never reused; the whole list
// stands in codes.json.
type Code int32

// info is what the table says of one code.
type info struct {
	name string
	http int
	text string
}

// Name returns the upper-case name of the code, or "" for a number that is not
// in the table.
func (c Code) Name() string { return table[c].name }

// HTTP returns the HTTP status that goes with the code.
func (c Code) HTTP() int {
	if i, ok := table[c]; ok {
		return i.http
	}
	return table[ServerInternalError].http
}

// Text returns the default reason of the code.
func (c Code) Text() string { return table[c].text }

func (c Code) String() string { return fmt.Sprintf("%s(%d)", c.Name(), int32(c)) }

// Error is a failure that a caller is told about. Reason is for the caller;
// Err is the cause, kept for the log and never sent.
type Error struct {
	Code   Code
	Status int // HTTP status when it differs from the table's, else 0
	Reason string
	// Exception is a textual form of the cause that the caller is told as well; it is mostly empty.
	Exception string
	Err       error
}

// New returns an error with a reason of its own. An empty format means the
// default text of the code.
func New(code Code, format string, args ...any) *Error {
	if format == "" {
		return &Error{Code: code, Reason: code.Text()}
	}
	return &Error{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with the default reason of the code and a cause that
// only the log shows.
func Wrap(code Code, err error) *Error {
	return &Error{Code: code, Reason: code.Text(), Err: err}
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

func (e *Error) Unwrap() error { return e.Err }

// HTTP returns the HTTP status of the error.
func (e *Error) HTTP() int {
	if e.Status != 0 {
		return e.Status
	}
	return e.Code.HTTP()
}

// From finds the Error in a chain. Anything else becomes an internal server
// error whose reason tells the caller nothing of the inside.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Wrap(ServerInternalError, err)
}
