// SPDX-License-Identifier: Apache-2.0

package sqldb

// MigrationLock is the key of the lock, for tests that hold it.
const MigrationLock int64 = migrationLock
