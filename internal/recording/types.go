// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"example.org/app/internal/recording/jfr"
)

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
	typeExecutionSample = &jfr.Type{
		Name: "jdk.ExecutionSample", Label: "Method Profiling Sample", Category: categoryProfile,
		Description: "Sample of the CPU profile of Go. Times are right to the second.",
		Fields: []jfr.Field{
			{Name: "sampledThread", Kind: jfr.KindThread, Label: "Thread"},
			stackField,
			{Name: "state", Kind: jfr.KindThreadState, Label: "Thread State"},
		},
	}
	typeCPULoad = &jfr.Type{
		Name: "jdk.CPULoad", Label: "CPU Load", Category: categoryOS,
		Description: "Shares of all processors that the process and the machine used.",
		Fields: []jfr.Field{
			{Name: "jvmUser", Kind: jfr.KindPercentage, Label: "Process User"},
			{Name: "jvmSystem", Kind: jfr.KindPercentage, Label: "Process System"},
			{Name: "machineTotal", Kind: jfr.KindPercentage, Label: "Machine Total"},
		},
	}
	typeGarbageCollection = &jfr.Type{
		Name: "jdk.GarbageCollection", Label: "Garbage Collection", Category: categoryGC, Duration: true,
		Description: "A garbage collection of Go. Its duration is that of its pauses.",
		Fields: []jfr.Field{
			{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"},
			{Name: "name", Kind: jfr.KindGCName, Label: "Name"},
			{Name: "cause", Kind: jfr.KindGCCause, Label: "Cause"},
			{Name: "sumOfPauses", Kind: jfr.KindSpan, Label: "Sum of Pauses"},
			{Name: "longestPause", Kind: jfr.KindSpan, Label: "Longest Pause"},
		},
	}
	typeOldCollection = &jfr.Type{
		Name: "jdk.OldGarbageCollection", Label: "Old Garbage Collection", Category: categoryGC, Duration: true,
		Fields: []jfr.Field{{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"}},
	}
	// typeYoungCollection never happens in Go, but jfr view gc asks for it.
	typeYoungCollection = &jfr.Type{
		Name: "jdk.YoungGarbageCollection", Label: "Young Garbage Collection", Category: categoryGC, Duration: true,
		Fields: []jfr.Field{{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"}, {Name: "tenuringThreshold", Kind: jfr.KindInt}},
	}
	typeGCHeapSummary = &jfr.Type{
		Name: "jdk.GCHeapSummary", Label: "Heap Summary", Category: []string{"Java Virtual Machine", "GC", "Heap"},
		Description: "The heap around a garbage collection. Before it is what the last look saw, at most a second earlier.",
		Fields: []jfr.Field{
			{Name: "gcId", Kind: jfr.KindInt, Label: "GC Identifier"},
			{Name: "when", Kind: jfr.KindGCWhen, Label: "When"},
			{Name: "heapSpace", Kind: jfr.KindSpace, Label: "Heap Space"},
			{Name: "heapUsed", Kind: jfr.KindBytes, Label: "Heap Used"},
		},
	}
	typeAllocation = &jfr.Type{
		Name: "jdk.ObjectAllocationSample", Label: "Object Allocation Sample", Category: []string{"Java Virtual Machine", "Memory"},
		Description: "Bytes that one stack allocated since the chunk before, estimated from the memory profile of Go.",
		Fields:      []jfr.Field{threadField, stackField, {Name: "objectClass", Kind: jfr.KindClass, Label: "Object Class"}, {Name: "weight", Kind: jfr.KindBytes, Label: "Sample Weight"}},
	}
	typeThreadDump = &jfr.Type{
		Name: "jdk.ThreadDump", Label: "Thread Dump", Category: []string{"Java Virtual Machine", "Runtime"},
		Description: "The stacks of all goroutines.", Fields: []jfr.Field{{Name: "result", Kind: jfr.KindString, Label: "Thread Dump"}},
	}
	typeOSInformation = &jfr.Type{
		Name: "jdk.OSInformation", Label: "OS Information", Category: categoryOS,
		Fields: []jfr.Field{{Name: "osVersion", Kind: jfr.KindString, Label: "OS Version"}},
	}
	typePhysicalMemory = &jfr.Type{
		Name: "jdk.PhysicalMemory", Label: "Physical Memory", Category: categoryOS,
		Fields: []jfr.Field{{Name: "totalSize", Kind: jfr.KindBytes, Label: "Total Size"}, {Name: "usedSize", Kind: jfr.KindBytes, Label: "Used Size"}},
	}
	typeEnvironment = &jfr.Type{
		Name: "jdk.InitialEnvironmentVariable", Label: "Initial Environment Variable", Category: categoryOS,
		Description: "A variable of the environment. Only values that cannot be secret are shown.",
		Fields:      []jfr.Field{{Name: "key", Kind: jfr.KindString, Label: "Key"}, {Name: "value", Kind: jfr.KindString, Label: "Value"}},
	}
	typeSystemProperty = &jfr.Type{
		Name: "jdk.InitialSystemProperty", Label: "Initial System Property", Category: []string{"Java Virtual Machine"},
		Description: "A setting of the server as it is in effect, or a fact about the program. Secrets are masked.",
		Fields:      []jfr.Field{{Name: "key", Kind: jfr.KindString, Label: "Key"}, {Name: "value", Kind: jfr.KindString, Label: "Value"}},
	}
)

// The event types of the Go runtime that have no counterpart in a JVM.
var (
	typeMemory = &jfr.Type{
		Name: "go.Memory", Label: "Memory", Category: categoryGo, Description: "Memory that the Go runtime manages.",
		Fields: []jfr.Field{
			{Name: "heapObjects", Kind: jfr.KindBytes, Label: "Heap Objects"},
			{Name: "heapFree", Kind: jfr.KindBytes, Label: "Heap Free"},
			{Name: "heapReleased", Kind: jfr.KindBytes, Label: "Heap Released"},
			{Name: "stacks", Kind: jfr.KindBytes, Label: "Stacks"},
			{Name: "total", Kind: jfr.KindBytes, Label: "Total"},
			{Name: "goal", Kind: jfr.KindBytes, Label: "Goal of the Next Collection"},
		},
	}
	typeGoroutines = &jfr.Type{
		Name: "go.Goroutines", Label: "Goroutines", Category: categoryGo,
		Fields: []jfr.Field{{Name: "count", Kind: jfr.KindLong, Label: "Count"}},
	}
	typeThreads = &jfr.Type{
		Name: "go.Threads", Label: "Threads", Category: categoryGo, Description: "Threads of the operating system that the process created.",
		Fields: []jfr.Field{{Name: "created", Kind: jfr.KindLong, Label: "Created"}, {Name: "processors", Kind: jfr.KindInt, Label: "GOMAXPROCS"}},
	}
	typeBlocked = &jfr.Type{
		Name: "go.BlockedGoroutines", Label: "Blocked Goroutines", Category: categoryGo,
		Description: "Time that goroutines waited at one place since the chunk before, for channels, locks and conditions.",
		Fields:      []jfr.Field{{Name: "delay", Kind: jfr.KindSpan, Label: "Delay"}, {Name: "count", Kind: jfr.KindLong, Label: "Count"}, stackField},
	}
	typeContended = &jfr.Type{
		Name: "go.MutexContention", Label: "Mutex Contention", Category: categoryGo,
		Description: "Time that goroutines waited for a lock which one place held, since the chunk before.",
		Fields:      []jfr.Field{{Name: "delay", Kind: jfr.KindSpan, Label: "Delay"}, {Name: "count", Kind: jfr.KindLong, Label: "Count"}, stackField},
	}
)

// The event types of the server itself.
var (
	typeAdminRequest = &jfr.Type{
		Name: "app.AdminRequest", Label: "Admin Request", Category: categoryApp, Duration: true, Description: "A request of the admin API.",
		Fields: []jfr.Field{
			{Name: "operation", Kind: jfr.KindString, Label: "Operation"},
			{Name: "method", Kind: jfr.KindString, Label: "Method"},
			{Name: "path", Kind: jfr.KindString, Label: "Path"},
			{Name: "status", Kind: jfr.KindInt, Label: "HTTP Status"},
			{Name: "code", Kind: jfr.KindInt, Label: "Status Code"},
			{Name: "adminId", Kind: jfr.KindLong, Label: "Administrator"},
			{Name: "requestId", Kind: jfr.KindString, Label: "Request ID"},
			stackField,
		},
	}
	typeClientRequest = &jfr.Type{
		Name: "app.ClientRequest", Label: "Client Request", Category: categoryApp, Duration: true,
		Description: "A request of a client, as the gateway and as the service saw it.",
		Fields: []jfr.Field{
			{Name: "request", Kind: jfr.KindString, Label: "Request"},
			{Name: "role", Kind: jfr.KindString, Label: "Role"},
			{Name: "userId", Kind: jfr.KindLong, Label: "User"},
			{Name: "device", Kind: jfr.KindString, Label: "Device"},
			{Name: "requestId", Kind: jfr.KindLong, Label: "Request ID"},
			{Name: "code", Kind: jfr.KindInt, Label: "Status Code"},
			{Name: "size", Kind: jfr.KindBytes, Label: "Size"},
			stackField,
		},
	}
	typePluginCall = &jfr.Type{
		Name: "app.PluginCall", Label: "Plugin Call", Category: categoryApp, Duration: true, Description: "A call of an extension of a plugin.",
		Fields: []jfr.Field{
			{Name: "plugin", Kind: jfr.KindString, Label: "Plugin"},
			{Name: "version", Kind: jfr.KindString, Label: "Version"},
			{Name: "extension", Kind: jfr.KindString, Label: "Extension"},
			{Name: "point", Kind: jfr.KindString, Label: "Extension Point"},
			{Name: "method", Kind: jfr.KindString, Label: "Method"},
			{Name: "outcome", Kind: jfr.KindString, Label: "Outcome"},
			stackField,
		},
	}
	typeSQLTransaction = &jfr.Type{
		Name: "app.SqlTransaction", Label: "SQL Transaction", Category: categoryApp, Duration: true,
		Description: "A transaction, or a group of queries. Values are taken out of the text of the slowest statement.",
		Fields: []jfr.Field{
			{Name: "engine", Kind: jfr.KindString, Label: "Engine"},
			{Name: "write", Kind: jfr.KindBoolean, Label: "Writes"},
			{Name: "statements", Kind: jfr.KindInt, Label: "Statements"},
			{Name: "wait", Kind: jfr.KindSpan, Label: "Wait"},
			{Name: "slowestStatement", Kind: jfr.KindString, Label: "Slowest Statement"},
			{Name: "slowestDuration", Kind: jfr.KindSpan, Label: "Slowest Duration"},
			{Name: "outcome", Kind: jfr.KindString, Label: "Outcome"},
			stackField,
		},
	}
	typeNodeCall = &jfr.Type{
		Name: "app.NodeCall", Label: "Node Call", Category: categoryApp, Duration: true, Description: "A call of another node, or of one in this process.",
		Fields: []jfr.Field{
			{Name: "call", Kind: jfr.KindString, Label: "Call"},
			{Name: "subject", Kind: jfr.KindString, Label: "Subject"},
			{Name: "local", Kind: jfr.KindBoolean, Label: "Local"},
			{Name: "outcome", Kind: jfr.KindString, Label: "Outcome"},
			stackField,
		},
	}
	typeSessionOpened = &jfr.Type{
		Name: "app.SessionOpened", Label: "Session Opened", Category: categoryApp, Duration: true, Description: "A login that succeeded.",
		Fields: []jfr.Field{
			{Name: "userId", Kind: jfr.KindLong, Label: "User"},
			{Name: "device", Kind: jfr.KindString, Label: "Device"},
			{Name: "sessionId", Kind: jfr.KindInt, Label: "Session"},
			{Name: "webSocket", Kind: jfr.KindBoolean, Label: "WebSocket"},
		},
	}
	typeSessionClosed = &jfr.Type{
		Name: "app.SessionClosed", Label: "Session Closed", Category: categoryApp, Duration: true, Description: "A session, when it ended.",
		Fields: []jfr.Field{
			{Name: "userId", Kind: jfr.KindLong, Label: "User"},
			{Name: "device", Kind: jfr.KindString, Label: "Device"},
			{Name: "sessionId", Kind: jfr.KindInt, Label: "Session"},
			{Name: "status", Kind: jfr.KindInt, Label: "Close Status"},
		},
	}
)

// schema holds all types.
var schema = func() *jfr.Schema {
	s, err := jfr.NewSchema(
		typeExecutionSample, typeCPULoad, typeGarbageCollection, typeOldCollection, typeYoungCollection, typeGCHeapSummary, typeAllocation,
		typeThreadDump, typeOSInformation, typePhysicalMemory, typeEnvironment, typeSystemProperty,
		typeMemory, typeGoroutines, typeThreads, typeBlocked, typeContended,
		typeAdminRequest, typeClientRequest, typePluginCall, typeSQLTransaction, typeNodeCall, typeSessionOpened, typeSessionClosed,
	)
	if err != nil {
		panic(err) // The declarations above are wrong, which every test finds.
	}
	return s
}()
