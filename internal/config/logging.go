// SPDX-License-Identifier: Apache-2.0

package config

// Level is the minimum severity of logged records.
type Level string

// The levels, from the most to the least talkative.
const (
	LevelTrace Level = "TRACE"
	LevelDebug Level = "DEBUG"
	LevelInfo  Level = "INFO"
	LevelWarn  Level = "WARN"
	LevelError Level = "ERROR"
	LevelFatal Level = "FATAL"
)

// LogFormat is the form of a log line.
type LogFormat string

// The forms of a log line.
const (
	LogFormatText LogFormat = "TEXT"
	LogFormatJSON LogFormat = "JSON"
)

// Logging configures the logs. The token @ROLE in a path represents the role of the process; the
// caller replaces it.
type Logging struct {
	Console ConsoleLog `doc:"The log on the standard error stream."`
	File    FileLog    `doc:"The log in files."`
	Audit   AuditLog   `doc:"The record of administrative calls."`
	Client  ClientLog  `doc:"The log of requests of clients."`
}

// ConsoleLog is the log on the standard error stream.
type ConsoleLog struct {
	Enabled bool      `default:"true" doc:"Whether the log is written to the standard error stream."`
	Level   Level     `default:"INFO" enum:"TRACE,DEBUG,INFO,WARN,ERROR,FATAL" doc:"The lowest severity that is written to the standard error stream."`
	Format  LogFormat `default:"TEXT" enum:"TEXT,JSON" doc:"The format of a line on the standard error stream."`
}

// FileLog is the log in files that are rotated by size.
type FileLog struct {
	Enabled       bool           `default:"true" doc:"Whether the log is written to files."`
	Level         Level          `default:"INFO" enum:"TRACE,DEBUG,INFO,WARN,ERROR,FATAL" doc:"The lowest severity that is written to the log file."`
	FilePath      string         `default:"@HOME/log/@ROLE.log" path:"true" required:"true" doc:"The log file; @HOME stands for the home directory and @ROLE for the role of the process."`
	MaxFiles      int32          `default:"320" min:"1" doc:"The number of old log files that are kept."`
	MaxFileSizeMB int32          `default:"32" min:"1" doc:"The size in megabytes at which a new log file is started."`
	Compression   LogCompression `doc:"The rotation of log files."`
}

// LogCompression defines how completed log files are compressed.
type LogCompression struct {
	Enabled bool `default:"true" doc:"Whether old log files are compressed."`
}

// AuditLog is the record of administrative calls.
type AuditLog struct {
	FilePath string `default:"@HOME/log/@ROLE-admin-api.log" path:"true" required:"true" doc:"The file that records administrative calls; @HOME and @ROLE as in the path of the log file."`
}

// ClientLog is the log of requests of clients.
type ClientLog struct {
	FilePath string `default:"@HOME/log/@ROLE-client-api.log" path:"true" required:"true" doc:"The file with the client requests that app.gateway.client-api.logging and app.service.client-api.logging select; @HOME and @ROLE as in the path of the log file. It is created with the first request."`
}
