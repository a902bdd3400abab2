// SPDX-License-Identifier: Apache-2.0

// Package apierr defines the business status codes of responses and the error type that carries one
// of them. It does not know HTTP handlers, the client protocol or storage, which convert from and
// to it.
package apierr

import (
	"errors"
	"fmt"
)

//go:generate go run ./generate

// Code is a business status code. Numbers are never reused; codes.json lists them all.
type Code int32

// info is the table's entry for a code.
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

// Error is a failure that is reported to the caller. Reason is for the caller; Err is the cause,
// which is logged and never sent.
type Error struct {
	Code   Code
	Status int // HTTP status when it differs from the table's, else 0
	Reason string
	// Exception is a text about the cause that is sent to the caller, too; usually empty.
	Exception string
	Err       error
}

// New returns an error with its own reason. An empty format means the code's default text.
func New(code Code, format string, args ...any) *Error {
	if format == "" {
		return &Error{Code: code, Reason: code.Text()}
	}
	return &Error{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with the code's default reason and a cause that is only logged.
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

// From returns the Error in a chain. Any other error becomes an internal server error whose reason
// reveals no internals.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Wrap(ServerInternalError, err)
}
