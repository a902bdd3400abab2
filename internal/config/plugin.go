// SPDX-License-Identifier: Apache-2.0

package config

import "example.org/app/internal/config/property"

// Plugin configures plugins and their limits.
type Plugin struct {
	Enabled               bool              `default:"true" doc:"Whether plugins are loaded."`
	Dir                   string            `default:"plugins" required:"true" path:"true" doc:"The folder of plugins; files directly in it that end in .js or .jar are loaded."`
	WatchDir              bool              `default:"false" doc:"Whether plugins are loaded, replaced and removed when their files in the folder change."`
	AbortOnFailure        bool              `default:"false" doc:"Whether a plugin that cannot be loaded or started at the start of the server stops it."`
	StartTimeoutMillis    int32             `default:"60000" min:"0" doc:"The time for which a starting server waits for its plugins before it serves clients. Plugins that are loaded but have not started by then refuse the operations that they could refuse; GET /health lists the others."`
	LoadTimeoutMillis     int32             `default:"60000" min:"1" mutable:"true" doc:"The time limit for loading a plugin: its top-level code, its constructors and its descriptor."`
	HookTimeoutMillis     int32             `default:"30000" min:"1" mutable:"true" doc:"The time limit of a hook of an extension."`
	CallTimeoutMillis     int32             `default:"5000" min:"1" mutable:"true" doc:"The time limit of a call of an extension."`
	ScheduleTimeoutMillis int32             `default:"60000" min:"1" mutable:"true" doc:"The time limit of a run of a schedule of an extension."`
	ExtensionPoints       ExtensionPoints   `mutable:"true" doc:"Settings of individual extension points."`
	Quarantine            PluginQuarantine  `mutable:"true" doc:"The quarantine of extensions that fail."`
	Limits                PluginLimits      `mutable:"true" doc:"What one plugin may use."`
	Grants                PluginGrants      `doc:"The grants of plugins."`
	JavaScript            JavaScriptPlugins `name:"js" doc:"Plugins in JavaScript."`
	Java                  JavaPlugins       `doc:"Plugins in Java."`
	Network               PluginNetwork     `doc:"Plugins that are downloaded at the start of the server."`
	Cluster               ClusterPlugins    `doc:"Plugins that all nodes of the cluster load from the database."`
	Endpoints             PluginEndpoints   `mutable:"true" doc:"Operations of the admin interface that plugins serve."`
	Events                PluginEvents      `mutable:"true" doc:"Events that are stored in the database until plugins have received them."`
	Traces                PluginTraces      `mutable:"true" doc:"The calls of plugins that are recorded in memory, with the changes of each plugin (GET /plugins/traces)."`
}

// PluginTraces selects which calls of plugins are recorded, and which data.
type PluginTraces struct {
	SampleRate  float64  `default:"0" min:"0" max:"1" doc:"The share of requests whose calls of plugins are recorded, from 0 to 1."`
	UserIDs     []int64  `doc:"Users for whose requests all calls of plugins are recorded."`
	RequestIDs  []string `doc:"Ids of client requests for which all calls of plugins are recorded."`
	IncludeText bool     `default:"false" doc:"Whether the texts and bytes in fields that plugins changed are recorded, such as the text of messages. Otherwise only their length is recorded. Passwords, tokens and similar values are never recorded."`
	MaxBytes    int64    `default:"8388608" min:"0" max:"1073741824" doc:"The maximum size in bytes of the recorded calls on each node. Beyond it, the oldest are dropped."`
}

// PluginEvents configures how long undelivered events are kept for a DomainEventConsumer.
type PluginEvents struct {
	RetentionDays int32 `default:"7" min:"1" max:"3650" doc:"The number of days after which an event is deleted even if a DomainEventConsumer has not received it, and the position of a consumer that no node serves is deleted."`
	MaxEvents     int64 `default:"1000000" min:"1000" doc:"The maximum number of stored events. Beyond it, the oldest are deleted even if a DomainEventConsumer has not received them."`
}

// PluginEndpoints limits the endpoints of plugins.
type PluginEndpoints struct {
	TimeoutMillis  int32 `default:"30000" min:"1" doc:"The time limit of a request of an endpoint that declares none itself, without the time in which the caller reads the response."`
	MaxAnswerBytes int64 `default:"67108864" min:"1024" doc:"The maximum size of a response of an endpoint, in bytes. A stream that exceeds it is closed."`
}

// ClusterPlugins configures the plugins of the cluster on a node.
type ClusterPlugins struct {
	Enabled     bool  `default:"true" doc:"Whether this node loads the plugins of the cluster."`
	MaxVersions int32 `default:"20" min:"1" max:"1000" mutable:"true" doc:"The maximum number of versions of a plugin of the cluster. Beyond it, uploads are refused until old versions are deleted (DELETE /plugins/versions)."`
}

// ExtensionPoints has the settings of each extension point.
type ExtensionPoints struct {
	AdminActionHandler             ExtensionPoint `doc:"Observes the requests of administrators."`
	UserAuthenticator              ExtensionPoint `doc:"Decides who may log in."`
	UserOnlineStatusChangeHandler  ExtensionPoint `doc:"Observes sessions that are opened and closed."`
	NotificationHandler            ExtensionPoint `doc:"Observes notifications to users."`
	ClientRequestHandler           ExtensionPoint `doc:"Changes, answers or rejects client requests."`
	RequestHandlerResultHandler    ExtensionPoint `doc:"Changes the notifications of a request."`
	ExpiredMessageDeletionNotifier ExtensionPoint `doc:"Selects which expired messages are deleted."`
	StorageServiceProvider         ExtensionPoint `doc:"Stores pictures and attachments."`
	ConferenceServiceProvider      ExtensionPoint `doc:"Hosts meetings."`
	DomainEventHandler             ExtensionPoint `doc:"Observes changes of users, groups and messages, and sessions."`
	DomainEventConsumer            ExtensionPoint `doc:"Gets every change of users, groups and messages at least once."`
}

// ExtensionPoint has the settings of one extension point.
type ExtensionPoint struct {
	TimeoutMillis int32                  `default:"0" min:"0" doc:"The time limit of a call; 0 means that of all extension points."`
	OnFailure     ExtensionFailurePolicy `default:"DEFAULT" enum:"DEFAULT,REFUSE,IGNORE" doc:"Whether a failure of an extension refuses the operation (REFUSE) or is ignored (IGNORE)."`
}

// ExtensionFailurePolicy is the reaction to a failure of an extension.
type ExtensionFailurePolicy string

// The policies. The default depends on the extension point.
const (
	FailureDefault ExtensionFailurePolicy = "DEFAULT"
	FailureRefuse  ExtensionFailurePolicy = "REFUSE"
	FailureIgnore  ExtensionFailurePolicy = "IGNORE"
)

// PluginQuarantine configures when a failing extension is quarantined.
type PluginQuarantine struct {
	Enabled  bool  `default:"false" doc:"Whether an extension that fails repeatedly is no longer called; its calls fail immediately until it is resumed."`
	Failures int32 `default:"10" min:"1" doc:"The number of consecutive failures after which an extension is quarantined."`
}

// PluginGrants configures the rights of plugins.
type PluginGrants struct {
	Mode GrantsMode `default:"OPEN" enum:"OPEN,DECLARED,EXPLICIT" doc:"OPEN allows every plugin everything. DECLARED allows a plugin what its descriptor declares: operations by their permissions, hosts that scripts connect to, and whether they use classes of Java. EXPLICIT starts a plugin only after an administrator has granted what its descriptor declares. All nodes of a cluster should have the same mode."`
}

// GrantsMode defines which of the requested rights plugins have.
type GrantsMode string

// The modes.
const (
	// GrantsOpen grants plugins everything, GrantsDeclared what their descriptors declare, and
	// GrantsExplicit the same once administrators have granted it.
	GrantsOpen     GrantsMode = "OPEN"
	GrantsDeclared GrantsMode = "DECLARED"
	GrantsExplicit GrantsMode = "EXPLICIT"
)

// PluginLimits limits one plugin.
type PluginLimits struct {
	ConcurrentCalls   int32 `default:"0" min:"0" doc:"The maximum number of concurrent calls of one plugin. Further calls fail immediately, with the effect that their extension point defines. 0 means no limit."`
	CPUShare          int32 `default:"0" min:"0" doc:"The processor time that one plugin may use, in percent of one processor, averaged over some seconds; 200 is two processors. Calls of a plugin that exceeds it are delayed, then fail according to the policy of their extension point; then the plugin is quarantined until an administrator resumes it. 0 means no limit."`
	Memory            int64 `default:"0" min:"0" doc:"The memory that one plugin may use, in bytes. A plugin that exceeds it is treated as with cpu-share. The memory of a Java plugin is known only while it is alone in its JVM; with isolation AUTO, when a shared JVM uses more than this, the plugin that allocates most gets a JVM of its own. 0 means no limit."`
	LogLinesPerSecond int32 `default:"1000" min:"0" doc:"The maximum number of lines that one plugin may write to the log per second. Further lines are dropped, and counted in a line that names the plugin. 0 means no limit."`
}

// JavaPlugins configures plugins in Java.
type JavaPlugins struct {
	AllowSave                  bool                       `default:"false" doc:"Whether plugins that administrators add may be saved in the folder of plugins."`
	Home                       string                     `doc:"The folder of the Java that runs plugins, 21 or newer. If empty, the server searches JAVA_HOME, PATH and the usual folders."`
	DataDir                    string                     `default:"data/plugins" required:"true" path:"true" doc:"The folder that contains a folder for the files of each Java plugin, named after its id."`
	Isolation                  JavaIsolation              `default:"AUTO" enum:"SHARED,OWN,AUTO" doc:"Which Java plugins share a JVM: SHARED means all, OWN none, AUTO all except those that were active when a JVM died. While debug.port is set, all share one."`
	Spare                      bool                       `default:"true" doc:"Whether a spare JVM without plugins, of about 70 MiB, is kept while there are Java plugins. When a JVM dies or is replaced, its plugins continue in the spare instead of waiting for a start. While debug.port is set, there is no spare."`
	ClassCacheDir              string                     `default:"data/java" path:"true" doc:"The folder of class caches, of about 20 MB each, with which JVMs start in half the time. The server creates the cache that it needs once, in the background, and ignores caches that do not match. Only the server may have write access to the folder. Empty disables the cache, as does debug.port."`
	CrashReportDir             string                     `default:"data/crashes" path:"true" doc:"The folder of the reports that JVMs write when they crash; the ten most recent ones are kept. The log names the file. Empty means that none are kept."`
	Nice                       int32                      `default:"5" min:"0" max:"19" doc:"The difference between the niceness of JVMs and that of the server, on Linux: when all processors are busy, the server has priority. 0 means the same niceness."`
	MaxHeap                    int64                      `default:"67108864" min:"16777216" doc:"The maximum heap size of a JVM, in bytes. All Java plugins share a JVM unless isolation specifies otherwise."`
	JVMOptions                 string                     `doc:"Further options of the JVM that runs Java plugins, separated by spaces, such as -XX:MaxMetaspaceSize=256m. They follow those of the server and therefore override them."`
	MaxPendingCalls            int32                      `default:"10000" min:"1" doc:"The maximum number of concurrent calls of Java plugins; further calls are refused."`
	DuplicateClassLoadStrategy DuplicateClassLoadStrategy `default:"PARENT_FIRST" enum:"PARENT_FIRST,THROW_EXCEPTION" doc:"How a class that both the plugin and the server contain is loaded: PARENT_FIRST uses that of the server, THROW_EXCEPTION refuses the class."`
	AllowExit                  bool                       `default:"true" doc:"Whether System.exit in a plugin shuts the server down, with the same exit status. Otherwise System.exit, Runtime.exit and Runtime.halt throw a SecurityException in the plugin."`
	Debug                      JavaDebug                  `doc:"Debugging of plugins by debuggers for Java."`
}

// JavaIsolation defines which Java plugins share a JVM.
type JavaIsolation string

// The kinds of isolation.
const (
	JavaIsolationShared JavaIsolation = "SHARED"
	JavaIsolationOwn    JavaIsolation = "OWN"
	JavaIsolationAuto   JavaIsolation = "AUTO"
)

// DuplicateClassLoadStrategy is the reaction to a plugin's class that the server has, too.
type DuplicateClassLoadStrategy string

// The strategies.
const (
	DuplicateClassParentFirst    DuplicateClassLoadStrategy = "PARENT_FIRST"
	DuplicateClassThrowException DuplicateClassLoadStrategy = "THROW_EXCEPTION"
)

// JavaDebug configures debugging.
type JavaDebug struct {
	Port    int32 `default:"0" min:"0" max:"65535" doc:"The port on localhost for debuggers (JDWP); 0 means none. If it is set, calls and hooks of Java plugins have no time limit."`
	Suspend bool  `default:"false" doc:"Whether Java plugins wait for a debugger before any of their code runs."`
}

// JavaScriptPlugins configures plugins in JavaScript.
type JavaScriptPlugins struct {
	AllowSave    bool            `default:"false" doc:"Whether plugins that administrators add may be saved in the folder of plugins."`
	MemoryLimit  int64           `default:"67108864" min:"1048576" doc:"The maximum memory of one plugin, in bytes."`
	StackSize    int64           `default:"1048576" min:"65536" doc:"The maximum stack size of one plugin, in bytes."`
	MaxFetches   int32           `default:"100" min:"1" doc:"The maximum number of concurrent HTTP requests of one plugin. Further requests wait. At most 8 of them connect to the same host concurrently."`
	MaxComputing int32           `default:"0" min:"0" doc:"The maximum number of plugins that compute concurrently for longer than 2 milliseconds. More plugins take turns of 10 milliseconds, within the time limits of their calls. 0 means the number of processors less one, at least one, so that a processor remains for other requests."`
	Debug        JavaScriptDebug `doc:"Debugging of plugins by Chrome and other clients of its protocol."`
}

// JavaScriptDebug configures debugging.
type JavaScriptDebug struct {
	Enabled     bool      `default:"false" doc:"Whether plugins wait for a debugger."`
	Plugins     []string  `doc:"The files of the plugins that wait for a debugger, such as filter.js; the others run normally. Empty means all plugins."`
	Wait        DebugWait `default:"CALL" enum:"LOAD,CALL" doc:"When a plugin waits for a debugger: CALL means before each call and hook, LOAD also before its first line, so that code that runs while it is loaded can be debugged."`
	InspectHost string    `default:"localhost" required:"true" doc:"The address on which debuggers attach."`
	InspectPort int32     `default:"24242" min:"1" max:"65535" doc:"The port on which debuggers attach."`
}

// DebugWait defines which parts of a plugin wait for a debugger.
type DebugWait string

// What can wait.
const (
	DebugWaitLoad DebugWait = "LOAD"
	DebugWaitCall DebugWait = "CALL"
)

// PluginNetwork configures downloaded plugins.
type PluginNetwork struct {
	Proxy   PluginProxy     `doc:"The HTTP proxy for downloads."`
	Plugins []NetworkPlugin `doc:"The plugins."`
}

// PluginProxy is an HTTP proxy.
type PluginProxy struct {
	Enabled              bool            `default:"false" doc:"Whether downloads go through a proxy."`
	Username             string          `doc:"The user name for the proxy; empty means none."`
	Password             property.Secret `doc:"The password for the proxy."`
	Host                 string          `doc:"The host of the proxy."`
	Port                 int32           `default:"8080" min:"1" max:"65535" doc:"The port of the proxy."`
	ConnectTimeoutMillis int32           `default:"60000" min:"1" doc:"The time limit for connecting to the proxy."`
}

// Validate requires a host.
func (p PluginProxy) Validate() error {
	if p.Enabled && p.Host == "" {
		return property.Violation("host", "must not be empty if the proxy is enabled")
	}
	return nil
}

// NetworkPlugin is a plugin that is downloaded.
type NetworkPlugin struct {
	URL           property.URL      `required:"true" doc:"Where the plugin is."`
	Type          NetworkPluginType `default:"AUTO" enum:"AUTO,JAVA,JAVA_SCRIPT" doc:"The language of the plugin; AUTO uses the extension of the URL's path, .js or .jar."`
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

// PluginDownload configures the download of a plugin.
type PluginDownload struct {
	HTTPMethod    string `default:"GET" enum:"GET,POST,PUT,DELETE" doc:"The method of the request."`
	TimeoutMillis int32  `default:"60000" min:"1" doc:"The time limit of the download."`
}
