// SPDX-License-Identifier: Apache-2.0

package config

// FlightRecorder bounds the flight recordings of a process.
type FlightRecorder struct {
	Dir                            string              `default:"data/recordings/@ROLE" required:"true" path:"true" doc:"The folder of the recordings; @ROLE stands for the roles of the process."`
	ClosedRecordingRetentionPeriod int32               `default:"0" min:"-1" mutable:"true" doc:"How many seconds a closed recording is kept; 0 removes it when it is closed, -1 keeps it."`
	MaxTotalBytes                  int64               `default:"1073741824" min:"1048576" mutable:"true" doc:"How many bytes the files of all recordings may have. A running recording that would exceed it drops its oldest chunks."`
	MaxRecordings                  int32               `default:"8" min:"1" max:"64" mutable:"true" doc:"How many recordings may run or wait for their start at the same time."`
	Continuous                     ContinuousRecording `mutable:"true" doc:"The black box: a recording that always runs, and of which a copy is kept when something bad happens."`
}

// ContinuousRecording bounds the black box.
type ContinuousRecording struct {
	Enabled       bool  `default:"false" doc:"Whether there is one. It is kept when a plugin is quarantined, the JVM dies, a call of a node or a health check fails, on SIGQUIT, and after a crash."`
	MaxAgeSeconds int32 `default:"600" min:"10" doc:"How many seconds back it reaches."`
	MaxSizeBytes  int64 `default:"67108864" min:"1048576" doc:"How many bytes it may have before its oldest chunks are dropped."`
	MaxDumps      int32 `default:"16" min:"1" max:"1000" doc:"How many copies are kept; then the oldest is removed."`
}
