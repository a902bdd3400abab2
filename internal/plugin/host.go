// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"time"
)

// A Host runs the plugins of one language. All methods of a host and of what it makes are safe for concurrent use.
type Host interface {
	Language() Language
	// Load makes a module of a plugin's bytes: it runs what the plugin does when it is loaded, and no hook. An error
	// is a sentence for the author of the plugin, with file and line where they are known; nothing is left behind.
	Load(ctx context.Context, src Source) (Module, error)
	// Close ends the host when all of its modules are closed.
	Close(ctx context.Context) error
}

// ErrNoPlugin is in the chain of the error of Load if the bytes are not meant to be a plugin at all, like those of a
// library.
var ErrNoPlugin = errors.New("it is not a plugin")

// A Source is where a plugin comes from.
type Source struct {
	// Name is the name of the file, for messages.
	Name string
	// Path is the file; it is empty if the plugin is in no file.
	Path string
	// Data is the whole plugin.
	Data []byte
	// Shared is what the cluster knows of the plugin; nil for one of this node alone.
	Shared *Shared
	// Debug asks the host to let debuggers attach to the plugin, which waits for none. A host that cannot ignores it.
	Debug bool

	// rank is the place of the plugin among others; 0 is after those that are there. turn, if it is not nil, waits until
	// those before it are loaded, or for some time.
	rank int
	turn func(ctx context.Context)
}

// A Module is a plugin that a host has loaded.
type Module interface {
	Descriptor() Descriptor
	Extensions() []Extension
	// Memory is how many bytes the module holds, as far as the host knows; 0 is unknown.
	Memory() int64
	// Close ends the module and frees everything. Calls that are running fail. A second call does nothing.
	Close(ctx context.Context) error
}

// A Measured is a module whose host knows how much it computes.
type Measured interface {
	// CPU is how long the module used a processor since it was loaded, or since its process was started; 0 is unknown.
	CPU() time.Duration
	// Allocated is how many bytes of memory the module was given since then, whatever became of them; 0 is unknown.
	Allocated() int64
}

// A Mortal is a module that can die by itself.
type Mortal interface {
	// Died is closed when the module can run nothing any more. Calls then fail with ErrDead in the chain of their error.
	Died() <-chan struct{}
	// Err is why, nil if it lives.
	Err() error
}

// A Leftover is a module of which something can go on after it was closed.
type Leftover interface {
	// Left says what goes on, once Close has returned; "" is nothing.
	Left() string
}

// A Retirer is a module that can hold calls back, as for a debugger.
type Retirer interface {
	// Retire tells that the module goes away: it must not hold anything back any more. Calls that have not begun fail
	// with ErrRetired, those that have begun and the hooks that follow run to their end.
	Retire()
}

// A Debuggable is a module that debuggers can attach to.
type Debuggable interface {
	// Debugger is where they do; the zero value if they cannot.
	Debugger() Debugger
}

// A Debugger is where debuggers attach to a plugin.
type Debugger struct {
	// Address is for tools, Link for the address bar of a browser.
	Address, Link string
	// Configured says that it is so because the configuration says so.
	Configured bool
}

// A Hook is a step in the life of an extension.
type Hook string

// The hooks.
const (
	Start  Hook = "start"
	Pause  Hook = "pause"
	Resume Hook = "resume"
	Stop   Hook = "stop"
	// SettingsChanged tells the extension of new values of the settings, which it gets from Server.Settings. It leaves the
	// state as it is.
	SettingsChanged Hook = "onSettingsChanged"
)

// An Extension is one instance of a class of a plugin that implements extension points. It does not know its state:
// whoever holds it calls hooks one after another and methods only while it is started.
type Extension interface {
	// Class is the name of its class in the plugin.
	Class() string
	// Points are the extension points that it names, each once.
	Points() []*Point
	// Implements reports whether it has a function for a method of one of its points. A method that it has not is not
	// called.
	Implements(m *Method) bool
	// Hook runs a hook and waits for its end. A hook that the extension does not have succeeds at once.
	Hook(ctx context.Context, h Hook) error
	// Call calls a method and waits for its result, which is stored in result, a pointer to a value of the method's
	// result type, nil for methods without result. It reports false if the function answered with nothing. The values
	// in args, one for each parameter, and what they point to are read only.
	//
	// RunSchedule is a method that no point has; it is called of extensions that have schedules.
	//
	// When ctx ends the call fails with its error, and the function no longer runs, or its end can no longer be
	// noticed. An *apierr.Error is what the plugin refused with; an *Exception anything else that it threw.
	Call(ctx context.Context, m *Method, args []any, result any) (ok bool, err error)
}

// A Reviver is an extension that its host can lose, as when a process dies.
type Reviver interface {
	// Revive starts the extension anew in the host if the host lost it, and does nothing if it is there.
	Revive(ctx context.Context) error
}

// Held is a clock that stands still while a debugger holds a call. A host puts the time that a call was held into the
// Held of its context, so that time limits count only the time that the plugin ran.
type Held interface {
	// Hold tells that a debugger holds the call from now on, until the returned function is called.
	Hold() (release func())
	// Total is how long the call was held so far.
	Total() time.Duration
}

// An Exception is what a plugin threw.
type Exception struct {
	// Message is what the author of the plugin reads: the kind of exception and its text.
	Message string
	// Location is file, line and column; it is empty if they are unknown.
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
