// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"time"

	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
)

// An eventType declares the events of one type: what tools see of them, and how they can be set.
type eventType struct {
	jfr.Type
	defaults
	// auxiliary types are recorded with others, and cannot be set.
	auxiliary bool
}

// Categories of events.
var (
	categoryProfile = []string{"Java Virtual Machine", "Profiling"}
	categoryGC      = []string{"Java Virtual Machine", "GC", "Collector"}
	categoryOS      = []string{"Operating System"}
	categoryGo      = []string{"Go Runtime"}
	categoryApp     = []string{"App"}
)

var (
	stackField  = jfr.Field{Name: "stackTrace", Kind: jfr.KindStack, Label: "Stack Trace"}
	threadField = jfr.Field{Name: "eventThread", Kind: jfr.KindThread, Label: "Event Thread"}
)

// The event types that JFR users know, with the fields that tools look for.
var (
	typeExecutionSample = &eventType{
		Type: jfr.Type{
			Name: "jdk.ExecutionSample", Label: "Method Profiling Sample", Category: categoryProfile,
			Description: "Sample of the CPU profile of Go. Times are right to the second.",
			Fields: []jfr.Field{
				{Name: "sampledThread", Kind: jfr.KindThread, Label: "Thread"},
				stackField,
				{Name: "state", Kind: jfr.KindThreadState, Label: "Thread State"},
			},
		},
		defaults: every(20*time.Millisecond, 10*time.Millisecond),
	}
	typeCPULoad = &eventType{
		Type: jfr.Type{
			Name: "jdk.CPULoad", Label: "CPU Load", Category: categoryOS,
			Description: "Shares of all processors that the process and the machine used.",
			Fields: []jfr.Field{
				{Name: "jvmUser", Kind: jfr.KindPercentage, Label: "Process User"},
				{Name: "jvmSystem", Kind: jfr.KindPercentage, Label: "Process System"},
				{Name: "machineTotal", Kind: jfr.KindPercentage, Label: "Machine Total"},
			},
		},
		defaults: every(time.Second, time.Second),
	}
	typeGarbageCollection = &eventType{
		Type: jfr.Type{
			Name: "jdk.GarbageCollection", Label: "Garbage Collection", Category: categoryGC, Duration: true,
			Description: "A garbage collection of Go. Its duration is that of its pauses.",
			Fields: []jfr.Field{
				{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"},
				{Name: "name", Kind: jfr.KindGCName, Label: "Name"},
				{Name: "cause", Kind: jfr.KindGCCause, Label: "Cause"},
				{Name: "sumOfPauses", Kind: jfr.KindSpan, Label: "Sum of Pauses"},
				{Name: "longestPause", Kind: jfr.KindSpan, Label: "Longest Pause"},
			},
		},
		defaults: longerThan(0, 0),
	}
	typeOldCollection = &eventType{
		Type: jfr.Type{
			Name: "jdk.OldGarbageCollection", Label: "Old Garbage Collection", Category: categoryGC, Duration: true,
			Fields: []jfr.Field{{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"}},
		},
		auxiliary: true,
	}
	// typeYoungCollection never happens in Go, but jfr view gc asks for it.
	typeYoungCollection = &eventType{
		Type: jfr.Type{
			Name: "jdk.YoungGarbageCollection", Label: "Young Garbage Collection", Category: categoryGC, Duration: true,
			Fields: []jfr.Field{{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"}, {Name: "tenuringThreshold", Kind: jfr.KindInt}},
		},
		auxiliary: true,
	}
	typeGCHeapSummary = &eventType{
		Type: jfr.Type{
			Name: "jdk.GCHeapSummary", Label: "Heap Summary", Category: []string{"Java Virtual Machine", "GC", "Heap"},
			Description: "The heap around a garbage collection. Before it is what the last look saw, at most a second earlier.",
			Fields: []jfr.Field{
				{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"},
				{Name: "when", Kind: jfr.KindGCWhen, Label: "When"},
				{Name: "heapSpace", Kind: jfr.KindSpace, Label: "Heap Space"},
				{Name: "heapUsed", Kind: jfr.KindBytes, Label: "Heap Used"},
			},
		},
		defaults: enabledIn(true, true),
	}
	typeAllocation = &eventType{
		Type: jfr.Type{
			Name: "jdk.ObjectAllocationSample", Label: "Object Allocation Sample", Category: []string{"Java Virtual Machine", "Memory"},
			Description: "Bytes that one stack allocated since the chunk before, estimated from the memory profile of Go.",
			Fields:      []jfr.Field{threadField, stackField, {Name: "objectClass", Kind: jfr.KindClass, Label: "Object Class"}, {Name: "weight", Kind: jfr.KindBytes, Label: "Sample Weight"}},
		},
		defaults: enabledIn(true, true),
	}
	typeThreadDump = &eventType{
		Type: jfr.Type{
			Name: "jdk.ThreadDump", Label: "Thread Dump", Category: []string{"Java Virtual Machine", "Runtime"},
			Description: "The stacks of all goroutines.", Fields: []jfr.Field{{Name: "result", Kind: jfr.KindString, Label: "Thread Dump"}},
		},
		defaults: every(time.Minute, time.Minute).onlyInProfile(),
	}
	typeOSInformation = &eventType{
		Type: jfr.Type{
			Name: "jdk.OSInformation", Label: "OS Information", Category: categoryOS,
			Fields: []jfr.Field{{Name: "osVersion", Kind: jfr.KindString, Label: "OS Version"}},
		},
		defaults: every(time.Minute, time.Minute),
	}
	typePhysicalMemory = &eventType{
		Type: jfr.Type{
			Name: "jdk.PhysicalMemory", Label: "Physical Memory", Category: categoryOS,
			Fields: []jfr.Field{{Name: "totalSize", Kind: jfr.KindBytes, Label: "Total Size"}, {Name: "usedSize", Kind: jfr.KindBytes, Label: "Used Size"}},
		},
		defaults: every(time.Minute, time.Minute),
	}
	typeEnvironment = &eventType{
		Type: jfr.Type{
			Name: "jdk.InitialEnvironmentVariable", Label: "Initial Environment Variable", Category: categoryOS,
			Description: "A variable of the environment. Only values that cannot be secret are shown.",
			Fields:      []jfr.Field{{Name: "key", Kind: jfr.KindString, Label: "Key"}, {Name: "value", Kind: jfr.KindString, Label: "Value"}},
		},
		defaults: every(time.Minute, time.Minute),
	}
	typeSystemProperty = &eventType{
		Type: jfr.Type{
			Name: "jdk.InitialSystemProperty", Label: "Initial System Property", Category: []string{"Java Virtual Machine"},
			Description: "A setting of the server as it is in effect, or a fact about the program. Secrets are masked.",
			Fields:      []jfr.Field{{Name: "key", Kind: jfr.KindString, Label: "Key"}, {Name: "value", Kind: jfr.KindString, Label: "Value"}},
		},
		defaults: every(time.Minute, time.Minute),
	}
)

// The event types of the Go runtime that have no counterpart in a JVM.
var (
	typeMemory = &eventType{
		Type: jfr.Type{
			Name: "go.Memory", Label: "Memory", Category: categoryGo, Description: "Memory that the Go runtime manages.",
			Fields: []jfr.Field{
				{Name: "heapObjects", Kind: jfr.KindBytes, Label: "Heap Objects"},
				{Name: "heapFree", Kind: jfr.KindBytes, Label: "Heap Free"},
				{Name: "heapReleased", Kind: jfr.KindBytes, Label: "Heap Released"},
				{Name: "stacks", Kind: jfr.KindBytes, Label: "Stacks"},
				{Name: "total", Kind: jfr.KindBytes, Label: "Total"},
				{Name: "goal", Kind: jfr.KindBytes, Label: "Goal of the Next Collection"},
			},
		},
		defaults: every(time.Second, time.Second),
	}
	typeGoroutines = &eventType{
		Type: jfr.Type{
			Name: "go.Goroutines", Label: "Goroutines", Category: categoryGo,
			Fields: []jfr.Field{{Name: "count", Kind: jfr.KindLong, Label: "Count"}},
		},
		defaults: every(time.Second, time.Second),
	}
	typeThreads = &eventType{
		Type: jfr.Type{
			Name: "go.Threads", Label: "Threads", Category: categoryGo, Description: "Threads of the operating system that the process created.",
			Fields: []jfr.Field{{Name: "created", Kind: jfr.KindLong, Label: "Created"}, {Name: "processors", Kind: jfr.KindInt, Label: "GOMAXPROCS"}},
		},
		defaults: every(time.Second, time.Second),
	}
	typeBlocked = &eventType{
		Type: jfr.Type{
			Name: "go.BlockedGoroutines", Label: "Blocked Goroutines", Category: categoryGo,
			Description: "Time that goroutines waited at one place since the chunk before, for channels, locks and conditions.",
			Fields:      waitFields,
		},
		defaults: longerThan(10*time.Millisecond, time.Millisecond),
	}
	typeContended = &eventType{
		Type: jfr.Type{
			Name: "go.MutexContention", Label: "Mutex Contention", Category: categoryGo,
			Description: "Time that goroutines waited for a lock which one place held, since the chunk before.",
			Fields:      waitFields,
		},
		defaults: longerThan(10*time.Millisecond, time.Millisecond),
	}
	waitFields = []jfr.Field{{Name: "delay", Kind: jfr.KindSpan, Label: "Delay"}, {Name: "count", Kind: jfr.KindLong, Label: "Count"}, stackField}
)

// ownTypes are the event types of the server itself. Their fields are declared with the structs of
// the package event.
var ownTypes = [event.Kinds]ownType{
	event.KindAdminRequest: own(event.AdminRequest{}, eventType{
		Type:     jfr.Type{Name: "app.AdminRequest", Label: "Admin Request", Description: "A request of the admin API."},
		defaults: asOftenAsRequests(false),
	}),
	event.KindClientRequest: own(event.ClientRequest{}, eventType{
		Type:     jfr.Type{Name: "app.ClientRequest", Label: "Client Request", Description: "A request of a client, as the gateway and as the service saw it."},
		defaults: asOftenAsRequests(false),
	}),
	event.KindPluginCall: own(event.PluginCall{}, eventType{
		Type:     jfr.Type{Name: "app.PluginCall", Label: "Plugin Call", Description: "A call of an extension of a plugin."},
		defaults: asOftenAsRequests(true),
	}),
	event.KindSQLTransaction: own(event.SQLTransaction{}, eventType{
		Type: jfr.Type{
			Name: "app.SqlTransaction", Label: "SQL Transaction",
			Description: "A transaction, or a group of queries. Values are taken out of the text of the slowest statement.",
		},
		defaults: asOftenAsRequests(true),
	}),
	event.KindNodeCall: own(event.NodeCall{}, eventType{
		Type:     jfr.Type{Name: "app.NodeCall", Label: "Node Call", Description: "A call of another node, or of one in this process."},
		defaults: asOftenAsRequests(true),
	}),
	event.KindSessionOpened: own(event.SessionOpened{}, eventType{
		Type:     jfr.Type{Name: "app.SessionOpened", Label: "Session Opened", Description: "A login that succeeded."},
		defaults: longerThan(0, 0),
	}),
	event.KindSessionClosed: own(event.SessionClosed{}, eventType{
		Type:     jfr.Type{Name: "app.SessionClosed", Label: "Session Closed", Description: "A session, when it ended."},
		defaults: longerThan(0, 0),
	}),
}

// eventTypes are all types of events.
var eventTypes = func() []*eventType {
	all := []*eventType{
		typeExecutionSample, typeCPULoad, typeGarbageCollection, typeOldCollection, typeYoungCollection, typeGCHeapSummary, typeAllocation,
		typeThreadDump, typeOSInformation, typePhysicalMemory, typeEnvironment, typeSystemProperty,
		typeMemory, typeGoroutines, typeThreads, typeBlocked, typeContended,
	}
	for _, t := range ownTypes {
		all = append(all, t.eventType)
	}
	return all
}()

// schema holds all types.
var schema = func() *jfr.Schema {
	types := make([]*jfr.Type, len(eventTypes))
	for i, t := range eventTypes {
		types[i] = &t.Type
	}
	s, err := jfr.NewSchema(types...)
	if err != nil {
		panic(err) // The declarations above are wrong, which every test finds.
	}
	return s
}()
