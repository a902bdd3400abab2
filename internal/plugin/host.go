// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"time"
)

// A Host runs the plugins of one language. All methods of a host and of its modules and extensions
// are safe for concurrent use.
type Host interface {
	Language() Language
	// Load creates a module from a plugin's bytes: it runs the plugin's top-level code, and no
	// hook. An error is a sentence for the author of the plugin, with file and line if known; then
	// no resources are left.
	Load(ctx context.Context, src Source) (Module, error)
	// Close closes the host after all of its modules were closed.
	Close(ctx context.Context) error
}

// ErrNoPlugin is in the chain of Load's error if the bytes are no plugin at all, such as a library.
var ErrNoPlugin = errors.New("it is not a plugin")

// A Source is the origin of a plugin.
type Source struct {
	// Name is the name of the file, for messages.
	Name string
	// Path is the path of the file; empty if there is none.
	Path string
	// Data is the content of the plugin.
	Data []byte
	// Shared is the plugin's data in the cluster; nil for a plugin of this node.
	Shared *Shared
	// Debug asks the host to allow debuggers to attach to the plugin, without waiting for one. A
	// host without debugging ignores it.
	Debug bool

	// rank is the position among other plugins; 0 means after existing ones. turn, if not nil,
	// waits until earlier ones are loaded, up to a limit.
	rank int
	turn func(ctx context.Context)
}

// A Module is a plugin that a host has loaded.
type Module interface {
	Descriptor() Descriptor
	Extensions() []Extension
	// Memory returns the memory of the module in bytes, as far as the host knows; 0 means unknown.
	Memory() int64
	// Close closes the module and frees its resources. Running calls fail. Further calls do
	// nothing.
	Close(ctx context.Context) error
}

// A Measured is a module whose usage the host measures.
type Measured interface {
	// CPU returns the processor time since the module was loaded, or since its process was started;
	// 0 means unknown.
	CPU() time.Duration
	// Allocated returns the bytes allocated since then, including freed ones; 0 means unknown.
	Allocated() int64
}

// A Mortal is a module that can break by itself.
type Mortal interface {
	// Died is closed when the module can run nothing any more. Calls then return errors with
	// ErrDead in their chain.
	Died() <-chan struct{}
	// Err returns why it died, or nil.
	Err() error
}

// A Leftover is a module of which something may continue after it was closed.
type Leftover interface {
	// Left returns what continues after Close; "" if nothing does.
	Left() string
}

// A Retirer is a module that can hold calls back, for instance for a debugger.
type Retirer interface {
	// Retire announces that the module will be closed: it must not hold anything back. Calls that
	// have not begun return ErrRetired; running ones and the following hooks are completed.
	Retire()
}

// A Debuggable is a module that debuggers can attach to.
type Debuggable interface {
	// Debugger returns where they attach; the zero value if they cannot.
	Debugger() Debugger
}

// A Debugger is the address for attaching debuggers to a plugin.
type Debugger struct {
	// Address is for tools, Link for the address bar of a browser.
	Address, Link string
	// Configured is true if debugging is enabled by the configuration.
	Configured bool
}

// A Hook is a life-cycle function of an extension.
type Hook string

// The hooks.
const (
	Start  Hook = "start"
	Pause  Hook = "pause"
	Resume Hook = "resume"
	Stop   Hook = "stop"
	// SettingsChanged announces new values of the settings, which the extension reads from
	// Server.Settings. It does not change the state.
	SettingsChanged Hook = "onSettingsChanged"
)

// An Extension is one instance of a plugin's class that implements extension points. It does not
// know its state: its owner calls hooks sequentially and methods only while it is started.
type Extension interface {
	// Class returns the name of its class in the plugin.
	Class() string
	// Points returns the extension points that it declares, each once.
	Points() []*Point
	// Implements reports whether it has a function for a method of one of its points. Other methods
	// are not called.
	Implements(m *Method) bool
	// Hook runs a hook and waits for its end. A missing hook succeeds at once.
	Hook(ctx context.Context, h Hook) error
	// Call calls a method and stores its result in result, a pointer to a value of the method's
	// result type, or nil for methods without result. ok is false if the function returned nothing.
	// The values in args, one for each parameter, and what they point to are read only.
	//
	// RunSchedule is a method without point; it is called on extensions with schedules.
	//
	// When ctx ends, Call returns its error, and the function either no longer runs, or its end can
	// no longer be observed. An *apierr.Error is a refusal by the plugin; an *Exception is anything
	// else that it threw.
	Call(ctx context.Context, m *Method, args []any, result any) (ok bool, err error)
}

// A Reviver is an extension that its host can lose, for instance when a process dies.
type Reviver interface {
	// Revive starts the extension again in the host if the host lost it, and does nothing
	// otherwise.
	Revive(ctx context.Context) error
}

// Held is a clock that stops while a debugger pauses a call. A host uses the Held of the call's
// context, so that time limits count only the time that the plugin ran.
type Held interface {
	// Hold stops the clock until release is called.
	Hold() (release func())
	// Total returns how long the call was paused so far.
	Total() time.Duration
}

// An Exception is an exception thrown by a plugin.
type Exception struct {
	// Message is the text for the plugin's author: the kind of exception and its text.
	Message string
	// Location is file, line and column; empty if unknown.
	Location string
	// Stack is the stack trace, if there is one.
	Stack string
}

func (e *Exception) Error() string {
	if e.Location == "" {
		return e.Message
	}
	return e.Message + " (" + e.Location + ")"
}
