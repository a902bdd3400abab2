// SPDX-License-Identifier: Apache-2.0

package app

import "example.org/app/internal/admin/api"

// Set by the linker.
var (
	version   = "dev"
	commit    = "unknown"
	buildTime = "unknown"
)

// Build returns the version of the program.
func Build() api.Build {
	return api.Build{Version: version, CommitID: commit, BuildTime: buildTime}
}
