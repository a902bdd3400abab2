// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// TestIntegers checks that scanning into an int64 behaves like database/sql.
func TestIntegers(t *testing.T) {
	db := storetest.SQLite(t)
	for _, test := range []struct {
		expression string
		want       int64
		refused    string
	}{
		{"-9223372036854775808", -1 << 63, ""},
		{"'12'", 12, ""},
		{"7.0", 7, ""},
		{"7.5", 0, "invalid syntax"},
		{"'x'", 0, "invalid syntax"},
		{"NULL", 0, "converting NULL to int64 is unsupported"},
	} {
		var got int64
		err := db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
			return sqldb.First(ctx, r, sqldb.New("SELECT "+test.expression), &got)
		})
		if got != test.want || (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s is read as %d with error %v", test.expression, got, err)
		}
	}
}
