// SPDX-License-Identifier: Apache-2.0

package config

// FlightRecorder bounds the flight recordings of a process.
type FlightRecorder struct {
	Dir                            string `default:"data/recordings/@ROLE" required:"true" path:"true" doc:"The folder of the recordings; @ROLE stands for the roles of the process."`
	ClosedRecordingRetentionPeriod int32  `default:"0" min:"-1" mutable:"true" doc:"How many seconds a closed recording is kept; 0 removes it when it is closed, -1 keeps it."`
	MaxTotalBytes                  int64  `default:"1073741824" min:"1048576" mutable:"true" doc:"How many bytes the files of all recordings may have. A running recording that would exceed it drops its oldest chunks."`
	MaxRecordings                  int32  `default:"8" min:"1" max:"64" mutable:"true" doc:"How many recordings may run or wait for their start at the same time."`
}
