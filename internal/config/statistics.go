// SPDX-License-Identifier: Apache-2.0

package config

// Statistics say what is counted and logged from time to time.
type Statistics struct {
	LogOnlineUsersNumber         bool   `default:"true" mutable:"true" global:"true" doc:"Whether the leader of the services logs how many users are online. If there are none, this is logged once."`
	OnlineUsersNumberLoggingCron string `default:"0/15 * * * * *" required:"true" doc:"The times at which it is logged: second, minute, hour, day of month, month, day of week."`
}
