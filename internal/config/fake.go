// SPDX-License-Identifier: Apache-2.0

package config

// Fake configures the generated data for an empty database.
type Fake struct {
	Enabled      bool  `default:"false" doc:"Whether a service that starts on a database without users fills it with generated users, groups and messages. All users have the password 123, so that anyone can log in: never enable it in production."`
	UserCount    int32 `default:"1000" min:"0" doc:"The number of users."`
	GroupCount   int32 `default:"10" min:"0" doc:"The number of groups."`
	MessageCount int32 `default:"500" min:"0" doc:"The number of messages; up to the first 500 are exchanged by the users 1 to 10."`
	Seed         int64 `default:"1" doc:"The seed: the same seed and numbers produce the same data."`
}
