// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// Shutdown bounds the time that a stopping server takes.
type Shutdown struct {
	JobGracefulTimeoutMillis int64 `default:"60000" min:"0" doc:"How long a stopping server lets running work finish before it interrupts it."`
	JobForcedTimeoutMillis   int64 `default:"90000" min:"0" doc:"How long after the beginning of a stop the server exits whatever still runs."`
}

// Validate checks that work is interrupted before the server gives up on it.
func (s Shutdown) Validate() error {
	if s.JobGracefulTimeoutMillis > s.JobForcedTimeoutMillis {
		return property.Violation("job-graceful-timeout-millis",
			fmt.Sprintf("must not be greater than job-forced-timeout-millis, which is %d", s.JobForcedTimeoutMillis))
	}
	return nil
}
