// SPDX-License-Identifier: Apache-2.0

package config

import "example.org/app/internal/config/property"

// Plugin says which plugins run and what they may use.
type Plugin struct {
	Enabled               bool              `default:"true" doc:"Whether plugins are loaded."`
	Dir                   string            `default:"plugins" required:"true" path:"true" doc:"The folder of plugins; files directly in it that end in .js or .jar are loaded."`
	WatchDir              bool              `default:"false" doc:"Whether plugins are loaded, replaced and removed when their files in the folder change."`
	AbortOnFailure        bool              `default:"false" doc:"Whether a plugin that cannot be loaded or started at the start of the server stops it."`
	StartTimeoutMillis    int32             `default:"60000" min:"0" doc:"How long a starting server waits for its plugins before it serves clients. Those that are loaded and have not started by then refuse what they may refuse; GET /health names the others."`
	LoadTimeoutMillis     int32             `default:"60000" min:"1" mutable:"true" doc:"How long loading a plugin may take: running its top-level code, constructing it and asking what it is."`
	HookTimeoutMillis     int32             `default:"30000" min:"1" mutable:"true" doc:"How long a hook of an extension may take."`
	CallTimeoutMillis     int32             `default:"5000" min:"1" mutable:"true" doc:"How long one call of an extension may take."`
	ScheduleTimeoutMillis int32             `default:"60000" min:"1" mutable:"true" doc:"How long one run of a schedule of an extension may take."`
	ExtensionPoints       ExtensionPoints   `mutable:"true" doc:"What differs for single extension points."`
	Quarantine            PluginQuarantine  `mutable:"true" doc:"When an extension that fails is called no more."`
	Limits                PluginLimits      `mutable:"true" doc:"What one plugin may use."`
	Grants                PluginGrants      `doc:"What plugins may do of what they ask for."`
	JavaScript            JavaScriptPlugins `name:"js" doc:"Plugins in JavaScript."`
	Java                  JavaPlugins       `doc:"Plugins in Java."`
	Network               PluginNetwork     `doc:"Plugins that are downloaded at the start of the server."`
	Cluster               ClusterPlugins    `doc:"Plugins that all nodes of the cluster load from the database."`
	Endpoints             PluginEndpoints   `mutable:"true" doc:"Operations of the admin interface that plugins serve."`
	Events                PluginEvents      `mutable:"true" doc:"Events that are kept in the database until plugins have got them."`
	Traces                PluginTraces      `mutable:"true" doc:"Which calls of plugins are recorded in memory, with what each plugin changed (GET /plugins/traces)."`
}

// PluginTraces says which calls of plugins are recorded, and what of them.
type PluginTraces struct {
	SampleRate  float64  `default:"0" min:"0" max:"1" doc:"The share of requests whose calls of plugins are recorded, from 0 to 1."`
	UserIDs     []int64  `doc:"Users for whose requests all calls of plugins are recorded."`
	RequestIDs  []string `doc:"Ids of requests of clients for which all calls of plugins are recorded."`
	IncludeText bool     `default:"false" doc:"Whether the texts and bytes in fields that plugins changed are recorded, such as the text of messages. Otherwise their length is. Passwords, tokens and the like are never recorded."`
	MaxBytes    int64    `default:"8388608" min:"0" max:"1073741824" doc:"How many bytes the recorded calls may take on each node. Of more, the oldest are forgotten."`
}

// PluginEvents says how long events are kept that a DomainEventConsumer has not got.
type PluginEvents struct {
	RetentionDays int32 `default:"7" min:"1" max:"3650" doc:"After how many days an event is deleted although a DomainEventConsumer has not got it, and the position of a consumer that no node serves is forgotten."`
	MaxEvents     int64 `default:"1000000" min:"1000" doc:"How many events are kept. Of more, the oldest are deleted although a DomainEventConsumer has not got them."`
}

// PluginEndpoints bounds the operations of the admin interface that plugins serve.
type PluginEndpoints struct {
	TimeoutMillis  int32 `default:"30000" min:"1" doc:"How long a plugin may take for one request of an endpoint that declares no time of its own. The time that the caller takes to read the answer does not count."`
	MaxAnswerBytes int64 `default:"67108864" min:"1024" doc:"How many bytes one answer of an endpoint may have. A stream that exceeds it is cut off."`
}

// ClusterPlugins says what a node does with the plugins of the cluster.
type ClusterPlugins struct {
	Enabled     bool  `default:"true" doc:"Whether this node loads the plugins of the cluster."`
	MaxVersions int32 `default:"20" min:"1" max:"1000" mutable:"true" doc:"How many versions of a plugin of the cluster are kept. An upload beyond that is refused until old versions are deleted (DELETE /plugins/versions)."`
}

// ExtensionPoints has the settings of each extension point.
type ExtensionPoints struct {
	AdminActionHandler             ExtensionPoint `doc:"Observes the requests of administrators."`
	UserAuthenticator              ExtensionPoint `doc:"Decides who may log in."`
	UserOnlineStatusChangeHandler  ExtensionPoint `doc:"Sees sessions begin and end."`
	NotificationHandler            ExtensionPoint `doc:"Sees what is sent to users."`
	ClientRequestHandler           ExtensionPoint `doc:"Changes, answers or rejects client requests."`
	RequestHandlerResultHandler    ExtensionPoint `doc:"Changes who is told of a request."`
	ExpiredMessageDeletionNotifier ExtensionPoint `doc:"Sees messages before they are deleted."`
	StorageServiceProvider         ExtensionPoint `doc:"Stores pictures and attachments."`
	ConferenceServiceProvider      ExtensionPoint `doc:"Hosts meetings."`
	DomainEventHandler             ExtensionPoint `doc:"Observes changes of users, groups and messages, and sessions."`
	DomainEventConsumer            ExtensionPoint `doc:"Gets every change of users, groups and messages at least once."`
}

// ExtensionPoint has the settings of one extension point.
type ExtensionPoint struct {
	TimeoutMillis int32                  `default:"0" min:"0" doc:"How long one call may take; 0 is what holds for all."`
	OnFailure     ExtensionFailurePolicy `default:"DEFAULT" enum:"DEFAULT,REFUSE,IGNORE" doc:"Whether what was called for is refused when an extension fails, or goes on without it."`
}

// ExtensionFailurePolicy is what a failure of an extension means.
type ExtensionFailurePolicy string

// The policies. The default is what suits the extension point.
const (
	FailureDefault ExtensionFailurePolicy = "DEFAULT"
	FailureRefuse  ExtensionFailurePolicy = "REFUSE"
	FailureIgnore  ExtensionFailurePolicy = "IGNORE"
)

// PluginQuarantine says when an extension that fails is called no more.
type PluginQuarantine struct {
	Enabled  bool  `default:"false" doc:"Whether an extension that fails repeatedly is no longer called; until it is resumed, its calls fail at once."`
	Failures int32 `default:"10" min:"1" doc:"After how many failures in a row."`
}

// PluginGrants says what plugins may do of what they ask for.
type PluginGrants struct {
	Mode GrantsMode `default:"OPEN" enum:"OPEN,DECLARED,EXPLICIT" doc:"OPEN lets every plugin do everything. DECLARED lets a plugin do what its descriptor declares: operations by their permissions, hosts that scripts connect to, and whether they use classes of Java. EXPLICIT starts a plugin only when an administrator has granted what its descriptor declares. All nodes of a cluster should have the same mode."`
}

// GrantsMode is what plugins may do of what they ask for.
type GrantsMode string

// The modes.
const (
	// GrantsOpen lets plugins do everything, GrantsDeclared what their descriptors declare, and GrantsExplicit the same as
	// soon as administrators have granted it.
	GrantsOpen     GrantsMode = "OPEN"
	GrantsDeclared GrantsMode = "DECLARED"
	GrantsExplicit GrantsMode = "EXPLICIT"
)

// PluginLimits says what one plugin may use.
type PluginLimits struct {
	ConcurrentCalls   int32 `default:"0" min:"0" doc:"How many calls of one plugin may be under way at once. More fail at once, which means what their extension point says. 0 is no limit."`
	CPUShare          int32 `default:"0" min:"0" doc:"Processor time that one plugin may use, in percent of one processor, averaged over some seconds; 200 is two processors. Calls of a plugin that exceeds it are delayed, then fail by the policy of their extension point; then the plugin is quarantined until an administrator resumes it. 0 means no limit."`
	Memory            int64 `default:"0" min:"0" doc:"Memory that one plugin may hold, in bytes. A plugin that exceeds it is treated as with cpu-share. The memory of a Java plugin is known only while it is alone in its JVM; with isolation AUTO, when a shared JVM holds more than this, the plugin that allocates most gets a JVM of its own. 0 means no limit."`
	LogLinesPerSecond int32 `default:"1000" min:"0" doc:"How many lines one plugin may write to the log in a second. More are dropped, and counted in a line that names the plugin. 0 is no limit."`
}

// JavaPlugins says what plugins in Java may use.
type JavaPlugins struct {
	AllowSave                  bool                       `default:"false" doc:"Whether plugins that administrators add may be saved in the folder of plugins."`
	Home                       string                     `doc:"The folder of the Java that runs plugins, 21 or newer. Empty looks in JAVA_HOME, in PATH and in the usual folders."`
	DataDir                    string                     `default:"data/plugins" required:"true" path:"true" doc:"Where each plugin in Java has a folder for its files, by the name of its id."`
	Isolation                  JavaIsolation              `default:"AUTO" enum:"SHARED,OWN,AUTO" doc:"Which Java plugins share a JVM: SHARED is all, OWN is none, AUTO is all but those for which a JVM worked when it died. While debug.port is set, all do."`
	Spare                      bool                       `default:"true" doc:"Whether one more JVM without plugins, of about 70 MiB, is kept while there are Java plugins. When a JVM dies or is replaced, its plugins go on in that one at once instead of waiting for a start. While debug.port is set, there is none."`
	ClassCacheDir              string                     `default:"data/java" path:"true" doc:"The folder of class caches, of about 20 MB each, with which JVMs start in half the time. The server makes the one that it needs once, in the background, and ignores one that does not fit. It must be writable for the server alone. Empty means none; while debug.port is set, none is used."`
	Nice                       int32                      `default:"5" min:"0" max:"19" doc:"By how much the niceness of JVMs is above that of the server, on Linux: when all processors are busy, the server goes first. 0 is the same niceness."`
	MaxHeap                    int64                      `default:"67108864" min:"16777216" doc:"How many bytes the heap of a JVM may have. All Java plugins share one, unless isolation says otherwise."`
	JVMOptions                 string                     `doc:"Further options of the JVM that runs Java plugins, separated by spaces, such as -XX:MaxMetaspaceSize=256m. They come after those of the server and so count more."`
	MaxPendingCalls            int32                      `default:"10000" min:"1" doc:"How many calls of Java plugins may be on their way at once; more are refused."`
	DuplicateClassLoadStrategy DuplicateClassLoadStrategy `default:"PARENT_FIRST" enum:"PARENT_FIRST,THROW_EXCEPTION" doc:"What it means that a plugin has a class which the server has as well: PARENT_FIRST uses that of the server, THROW_EXCEPTION refuses the class."`
	AllowExit                  bool                       `default:"true" doc:"Whether a plugin may stop the server by System.exit, with its status as that of the server. Otherwise that, Runtime.exit and Runtime.halt throw a SecurityException in the plugin."`
	Debug                      JavaDebug                  `doc:"Debugging of plugins by debuggers for Java."`
}

// JavaIsolation says which Java plugins share a JVM.
type JavaIsolation string

// The kinds of isolation.
const (
	JavaIsolationShared JavaIsolation = "SHARED"
	JavaIsolationOwn    JavaIsolation = "OWN"
	JavaIsolationAuto   JavaIsolation = "AUTO"
)

// DuplicateClassLoadStrategy is what it means that a plugin has a class of the server.
type DuplicateClassLoadStrategy string

// The strategies.
const (
	DuplicateClassParentFirst    DuplicateClassLoadStrategy = "PARENT_FIRST"
	DuplicateClassThrowException DuplicateClassLoadStrategy = "THROW_EXCEPTION"
)

// JavaDebug says where plugins can be debugged.
type JavaDebug struct {
	Port    int32 `default:"0" min:"0" max:"65535" doc:"The port on localhost where debuggers attach (JDWP); 0 is none. With it, calls and hooks of Java plugins have no time limit."`
	Suspend bool  `default:"false" doc:"Whether Java plugins wait for a debugger before anything of them runs."`
}

// JavaScriptPlugins says what plugins in JavaScript may use.
type JavaScriptPlugins struct {
	AllowSave    bool            `default:"false" doc:"Whether plugins that administrators add may be saved in the folder of plugins."`
	MemoryLimit  int64           `default:"67108864" min:"1048576" doc:"How many bytes one plugin may hold."`
	StackSize    int64           `default:"1048576" min:"65536" doc:"How many bytes the stack of one plugin may have."`
	MaxFetches   int32           `default:"100" min:"1" doc:"How many HTTP requests one plugin may have under way at once. More wait for their turn. At most 8 of them connect to the same host at once."`
	MaxComputing int32           `default:"0" min:"0" doc:"How many plugins may compute at once for longer than 2 milliseconds. If there are more, they take turns of 10 milliseconds, within the time limits of their calls. 0 means one less than there are processors, at least one, so that the server keeps a processor for other requests."`
	Debug        JavaScriptDebug `doc:"Debugging of plugins by Chrome and other clients of its protocol."`
}

// JavaScriptDebug says where plugins can be debugged.
type JavaScriptDebug struct {
	Enabled     bool      `default:"false" doc:"Whether plugins wait for a debugger."`
	Plugins     []string  `doc:"The files of the plugins that wait for a debugger, such as filter.js; the others run as always. Empty means all plugins."`
	Wait        DebugWait `default:"CALL" enum:"LOAD,CALL" doc:"What waits for a debugger: CALL is each call and hook of a plugin, LOAD also its first line, so that what runs while it is loaded can be debugged."`
	InspectHost string    `default:"localhost" required:"true" doc:"The address where debuggers attach."`
	InspectPort int32     `default:"24242" min:"1" max:"65535" doc:"The port where debuggers attach."`
}

// DebugWait says what of a plugin waits for a debugger.
type DebugWait string

// What can wait.
const (
	DebugWaitLoad DebugWait = "LOAD"
	DebugWaitCall DebugWait = "CALL"
)

// PluginNetwork says which plugins are downloaded and how.
type PluginNetwork struct {
	Proxy   PluginProxy     `doc:"The HTTP proxy for downloads."`
	Plugins []NetworkPlugin `doc:"The plugins."`
}

// PluginProxy is an HTTP proxy.
type PluginProxy struct {
	Enabled              bool            `default:"false" doc:"Whether downloads go through a proxy."`
	Username             string          `doc:"The name by which the proxy knows the server; empty is none."`
	Password             property.Secret `doc:"The password for the proxy."`
	Host                 string          `doc:"The host of the proxy."`
	Port                 int32           `default:"8080" min:"1" max:"65535" doc:"The port of the proxy."`
	ConnectTimeoutMillis int32           `default:"60000" min:"1" doc:"How long connecting to the proxy may take."`
}

// Validate demands a host.
func (p PluginProxy) Validate() error {
	if p.Enabled && p.Host == "" {
		return property.Violation("host", "must not be empty if the proxy is enabled")
	}
	return nil
}

// NetworkPlugin is a plugin that is downloaded.
type NetworkPlugin struct {
	URL           property.URL      `required:"true" doc:"Where the plugin is."`
	Type          NetworkPluginType `default:"AUTO" enum:"AUTO,JAVA,JAVA_SCRIPT" doc:"The language of the plugin; AUTO goes by the end of the URL's path, .js or .jar."`
	UseLocalCache bool              `default:"false" doc:"Whether a copy in the folder of plugins is used instead of downloading it again."`
	Download      PluginDownload    `doc:"How it is downloaded."`
}

// NetworkPluginType is the language of a plugin.
type NetworkPluginType string

// The types.
const (
	NetworkPluginAuto       NetworkPluginType = "AUTO"
	NetworkPluginJava       NetworkPluginType = "JAVA"
	NetworkPluginJavaScript NetworkPluginType = "JAVA_SCRIPT"
)

// PluginDownload says how a plugin is downloaded.
type PluginDownload struct {
	HTTPMethod    string `default:"GET" enum:"GET,POST,PUT,DELETE" doc:"The method of the request."`
	TimeoutMillis int32  `default:"60000" min:"1" doc:"How long the download may take."`
}
