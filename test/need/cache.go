// SPDX-License-Identifier: Apache-2.0

package need

import (
	"os"
	"path/filepath"
)

// Cache returns the folder for files that several runs of the tests share, as scripts/cache prints
// it; "" if there is none.
func Cache() string {
	if dir := os.Getenv("APP_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "app")
}
