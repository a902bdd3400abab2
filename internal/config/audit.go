// SPDX-License-Identifier: Apache-2.0

package config

// Audit is the trail of what administrators, tokens and plugins change.
type Audit struct {
	Enabled             bool  `default:"true" doc:"Whether every write of an administrator, a token or a plugin, done or refused, is kept as a row of the database."`
	RetentionDays       int32 `default:"365" min:"0" max:"36500" doc:"After how many days rows of the audit trail are removed; 0 keeps them for ever."`
	MaxChangeBytes      int32 `default:"16384" min:"1024" max:"1048576" doc:"How many bytes the parameters and the values before and after a change may take in one row; the rest is counted."`
	MaxRefusedPerMinute int32 `default:"600" min:"1" max:"100000" doc:"How many rows a node writes each minute for refused requests, a tenth of them for callers without valid credentials from one address; the rest is counted in one row."`
}
