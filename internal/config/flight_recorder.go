// SPDX-License-Identifier: Apache-2.0

package config

// FlightRecorder bounds the flight recordings of a process.
type FlightRecorder struct {
	Dir                            string              `default:"data/recordings/@ROLE" required:"true" path:"true" doc:"The folder of the recordings; @ROLE stands for the roles of the process."`
	ClosedRecordingRetentionPeriod int32               `default:"0" min:"-1" mutable:"true" doc:"The number of seconds for which a closed recording is kept; 0 removes it when it is closed, -1 keeps it."`
	MaxTotalBytes                  int64               `default:"1073741824" min:"1048576" mutable:"true" doc:"The maximum size of the files of all recordings, in bytes. A running recording that would exceed it drops its oldest chunks."`
	MaxRecordings                  int32               `default:"8" min:"1" max:"64" mutable:"true" doc:"The maximum number of running and delayed recordings."`
	Continuous                     ContinuousRecording `mutable:"true" doc:"The black box: a recording that is always running, and of which a copy is kept on certain failures."`
}

// ContinuousRecording bounds the black box.
type ContinuousRecording struct {
	Enabled       bool  `default:"false" doc:"Whether the black box is enabled. A copy is kept when a plugin is quarantined, the JVM dies, a call of a node or a health check fails, on SIGQUIT, and after a crash."`
	MaxAgeSeconds int32 `default:"600" min:"10" doc:"The time span that it covers."`
	MaxSizeBytes  int64 `default:"67108864" min:"1048576" doc:"The maximum size in bytes; beyond it, the oldest chunks are dropped."`
	MaxDumps      int32 `default:"16" min:"1" max:"1000" doc:"The maximum number of copies; beyond it, the oldest is removed."`
}
