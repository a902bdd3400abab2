// SPDX-License-Identifier: Apache-2.0

package need

import (
	"os"
	"path/filepath"
)

// Cache returns the folder for what is made once and used by many runs of the tests, that of scripts/cache; "" if there is
// none.
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
