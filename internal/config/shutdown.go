// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// Shutdown bounds the time that a stopping server takes.
type Shutdown struct {
	JobGracefulTimeoutMillis int64 `default:"60000" min:"0" doc:"The time for which a stopping server waits for running work before it interrupts it."`
	JobForcedTimeoutMillis   int64 `default:"90000" min:"0" doc:"The time after the beginning of a shutdown at which the server exits even if work is still running."`
}

// Validate checks that work is interrupted before the server gives up on it.
func (s Shutdown) Validate() error {
	if s.JobGracefulTimeoutMillis > s.JobForcedTimeoutMillis {
		return property.Violation("job-graceful-timeout-millis",
			fmt.Sprintf("must not be greater than job-forced-timeout-millis, which is %d", s.JobForcedTimeoutMillis))
	}
	return nil
}
