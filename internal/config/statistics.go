// SPDX-License-Identifier: Apache-2.0

package config

// Statistics say what is counted and logged from time to time.
type Statistics struct {
	LogOnlineUsersNumber         bool   `default:"true" mutable:"true" global:"true" doc:"Whether the leader of the services logs how many users are online. While nobody is it says so once."`
	OnlineUsersNumberLoggingCron string `default:"0/15 * * * * *" required:"true" doc:"When it does: second, minute, hour, day of month, month, day of week."`
}
