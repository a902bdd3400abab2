// SPDX-License-Identifier: Apache-2.0

package config

// Audit is the trail of what administrators, tokens and plugins change.
type Audit struct {
	Enabled             bool  `default:"true" doc:"Whether every write of an administrator, a token or a plugin, executed or refused, is stored as a row of the database."`
	RetentionDays       int32 `default:"365" min:"0" max:"36500" doc:"The number of days after which rows of the audit trail are deleted; 0 keeps them forever."`
	MaxChangeBytes      int32 `default:"16384" min:"1024" max:"1048576" doc:"The maximum number of bytes of the parameters and the values before and after a change in one row; the rest is only counted."`
	MaxRefusedPerMinute int32 `default:"600" min:"1" max:"100000" doc:"The maximum number of rows for refused requests that a node writes each minute, a tenth of them for callers without valid credentials from one address; the rest is only counted, in one row."`
}
