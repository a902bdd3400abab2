// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"testing"

	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
