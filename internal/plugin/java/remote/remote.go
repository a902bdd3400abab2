// SPDX-License-Identifier: Apache-2.0

// Package remote defines how a plugin in another language uses Java objects: its requests to Java,
// the calls of Java to it, and the encoding of values in the bodies of both. It knows neither the
// JVM process nor the other language.
package remote

import (
	"context"
	"errors"
)

// An Op is an operation on a class or an object.
type Op byte

// The operations. The protocol's description defines their bodies and responses.
const (
	Type Op = iota
	Construct
	Get
	Set
	Invoke
	InstanceOf
	Release
	ReleaseAll
	Members
	Copy
)

// HasValue reports whether the result of the operation is a value.
func (op Op) HasValue() bool {
	switch op {
	case Type, Construct, Get, Invoke, Copy:
		return true
	}
	return false
}

// A Shape is the kind of use of an object.
type Shape byte

// The shapes.
const (
	Plain Shape = iota
	Class
	Array
	Iterable
	Map
	Exception
)

// Outcomes are the first byte of responses, in both directions.
const (
	// Done is followed by the result.
	Done byte = iota
	// Threw is followed by the exception.
	Threw
	// Absent means that an object has no function with the name.
	Absent
)

// ErrRestarted is the error of using an object of a JVM that has ended.
var ErrRestarted = errors.New("the Java host was restarted and this object is gone; get its class anew with Java.type")

// A Host manages the objects.
type Host interface {
	// Own returns an owner of objects; its name is for messages. It starts nothing. called is
	// called, from any goroutine, when there is a call for the owner; it must not block.
	Own(name string, called func()) Owner
}

// An Owner is a plugin that uses objects. Ask and Next are called by one goroutine at a time, the
// other methods by any.
type Owner interface {
	// Ask sends a request and waits for the response. If the request is for a class, it starts the
	// JVM if necessary. read borrows the response, and gets the number of the JVM that the handles
	// in it belong to. The error is that of read, a sentence if the request cannot be executed,
	// ErrRestarted, or the cause of the end of the context.
	Ask(ctx context.Context, q Request, read func(session uint64, r *Reader) error) error
	// Next returns the next waiting call of a function, if any.
	Next() (Call, bool)
	// Live reports whether the objects of a JVM still exist.
	Live(session uint64) bool
	// Release releases objects. It does not wait.
	Release(session uint64, handles []uint64)
	// Close releases everything. Waiting calls fail.
	Close(ctx context.Context)
}

// A Request is a request of an owner.
type Request struct {
	Op Op
	// Session is the JVM that the handles in the body belong to; 0 in a request for a class by
	// name.
	Session uint64
	// Body is what follows the operation code.
	Body []byte
	// Serve is called, by the waiting goroutine, when there may be calls: Java may need them to
	// respond.
	Serve func()
	// Stop ends the wait like the end of the context.
	Stop <-chan struct{}
}

// A Call is a call of a function of the owner, which must be answered exactly once.
type Call interface {
	// Session returns the JVM of the call.
	Session() uint64
	// Inner reports whether a request of the owner waits for the call.
	Inner() bool
	// Function returns the number of the function, and Method the name by which Java calls it.
	Function() uint64
	Method() string
	// Args returns the arguments: a list of values.
	Args() *Reader
	// Released returns functions that Java does not need any more. If there are any, the call
	// contains nothing else, and needs no response.
	Released() []uint64
	// Answer responds with an outcome and its data.
	Answer(body []byte)
	// Refuse responds that the function cannot be called.
	Refuse(err error)
}
