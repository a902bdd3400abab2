// SPDX-License-Identifier: Apache-2.0

package config

// Fake says with what an empty database is filled for those who want to try
// things out.
type Fake struct {
	Enabled      bool  `default:"false" doc:"Whether a service that starts on a database without users fills it with made-up users, groups and messages. All users have the password 123, and anybody who knows that can log in: never switch it on where real users are."`
	UserCount    int32 `default:"1000" min:"0" doc:"How many users there will be."`
	GroupCount   int32 `default:"10" min:"0" doc:"How many groups there will be."`
	MessageCount int32 `default:"500" min:"0" doc:"How many messages there will be; up to the first 500 are exchanged by the users 1 to 10."`
	Seed         int64 `default:"1" doc:"What the made-up data is derived from: the same seed and numbers give the same data."`
}
