// SPDX-License-Identifier: Apache-2.0

// Package remote is how a plugin in another language uses objects of Java: what it asks for, what Java asks of it, and
// how values lie in the bodies of both. It knows neither how the JVM is run nor what the other language is.
package remote

import (
	"context"
	"errors"
)

// An Op is what is done with a class or an object.
type Op byte

// The operations. What their bodies and answers hold is in the description of the protocol.
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

// HasValue reports whether the result is a value.
func (op Op) HasValue() bool {
	switch op {
	case Type, Construct, Get, Invoke, Copy:
		return true
	}
	return false
}

// A Shape is what an object is good for.
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

// Outcomes are the first byte of answers, of both ends.
const (
	// Done is followed by the result.
	Done byte = iota
	// Threw is followed by what was thrown.
	Threw
	// Absent is that an object has no function with the name.
	Absent
)

// ErrRestarted is the error of using an object of a JVM that is gone.
var ErrRestarted = errors.New("the Java host was restarted and this object is gone; get its class anew with Java.type")

// A Host has the objects.
type Host interface {
	// Own makes an owner of objects, whose name is for messages. It starts nothing. Called is told, from any goroutine,
	// that there is a call for it; it must not block.
	Own(name string, called func()) Owner
}

// An Owner is a plugin that uses objects. Ask and Next are called by one goroutine at a time, the others by any.
type Owner interface {
	// Ask makes a request and waits for the answer. If the request is for a class, the JVM is started if there is none.
	// The answer is lent to read, and so is the number of the JVM that the handles in it belong to. The error is that of
	// read, a sentence if the request cannot be carried out, ErrRestarted, or the cause of the end of the context.
	Ask(ctx context.Context, q Request, read func(session uint64, r *Reader) error) error
	// Next takes a call of a function that waits.
	Next() (Call, bool)
	// Live reports whether the objects of a JVM are still there.
	Live(session uint64) bool
	// Release gives up objects. It does not wait.
	Release(session uint64, handles []uint64)
	// Close gives up everything. Calls that wait get an error.
	Close(ctx context.Context)
}

// A Request is what an owner asks for.
type Request struct {
	Op Op
	// Session is the JVM that the handles in the body belong to. It is 0 for a class by its name.
	Session uint64
	// Body is what follows the number of the operation.
	Body []byte
	// Serve is called, by the goroutine that waits, when there may be calls: Java may need them to answer.
	Serve func()
	// Stop ends the waiting as the context does.
	Stop <-chan struct{}
}

// A Call is a call of a function of the owner, which must be answered once.
type Call interface {
	// Session is the JVM that the call comes from.
	Session() uint64
	// Inner reports whether a request of the owner cannot go on before the call is answered.
	Inner() bool
	// Function is the number of the function, and Method the name by which Java calls it.
	Function() uint64
	Method() string
	// Args are the arguments: a list of values.
	Args() *Reader
	// Released are functions that Java needs no longer. Then there is nothing else, and no answer.
	Released() []uint64
	// Answer answers with an outcome and what follows it.
	Answer(body []byte)
	// Refuse answers that the function cannot be called.
	Refuse(err error)
}
