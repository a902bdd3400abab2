// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"slices"
	"testing"

	"example.org/app/internal/store/storetest"
)

func TestWithoutKey(t *testing.T) {
	for _, test := range []struct {
		statement string
		faults    []string
	}{
		{"SELECT t.id FROM message AS t WHERE t.target_id = $1 AND t.sender_id = $2 ORDER BY t.id LIMIT $3", nil},
		{"SELECT t.id FROM message AS t WHERE t.target_id = ANY ($1)", nil},
		{"SELECT t.id FROM message AS t WHERE t.sender_id = $1", []string{"message lacks target_id"}},
		{"SELECT t.id FROM message AS t WHERE t.target_id > $1", []string{"message lacks target_id"}},
		{"SELECT t.id FROM message AS t", []string{"message lacks target_id"}},
		{"SELECT t.id FROM message AS t WHERE ((t.sender_id = $1 AND t.target_id = $2) OR (t.sender_id = $2 AND t.target_id = $1))", nil},
		{"SELECT t.id FROM message AS t WHERE t.target_id = $1 OR t.sender_id = $2", []string{"message lacks target_id"}},
		{"SELECT read_date FROM private_conversation WHERE owner_id = $1", nil},
		{"SELECT t.owner_id FROM relationship AS t WHERE (t.owner_id, t.related_user_id) IN (SELECT * FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[])))", nil},
		{
			"SELECT t.owner_id FROM relationship AS t WHERE (t.owner_id, t.related_user_id) IN (SELECT m.owner_id, m.related_user_id FROM relationship_group_member AS m)",
			[]string{"relationship lacks owner_id", "relationship_group_member lacks owner_id"},
		},
		{"SELECT k.i, EXISTS (SELECT 1 FROM user_account AS u WHERE u.id = k.first AND u.is_active) FROM " +
			"(SELECT n - 1 AS i, first, second FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[])) WITH ORDINALITY AS u (first, second, n)) AS k", nil},
		{"SELECT k.i, EXISTS (SELECT 1 FROM user_account AS u WHERE u.role_id = k.first) FROM unnest($1) AS k (first)", []string{"user_account lacks id"}},
		{"SELECT g.id FROM im_group AS g JOIN group_type AS y ON y.id = g.type_id JOIN group_member AS m ON m.group_id = g.id WHERE g.id = $1", nil},
		{"SELECT g.id FROM im_group AS g JOIN group_member AS m ON m.group_id = g.id WHERE m.user_id = $1", []string{"group_member lacks group_id", "im_group lacks id"}},
		{"SELECT t.a FROM relationship_group_member AS m CROSS JOIN relationship AS t WHERE m.owner_id = $1 AND t.owner_id = m.owner_id", nil},
		{"SELECT 1 FROM message AS t WHERE t.target_id = $1 UNION ALL SELECT 2 FROM message AS t WHERE t.id = $2", []string{"message lacks target_id"}},
		{"INSERT INTO message AS t (id, target_id) VALUES ($1, $2), ($3, $4)", nil},
		{"INSERT INTO message_sequence AS t (is_group, second_id, value) VALUES ($1, $2, $3)", []string{"message_sequence lacks first_id"}},
		{"UPDATE message AS t SET text = $1 WHERE t.id = $2 RETURNING id", []string{"message lacks target_id"}},
		{"DELETE FROM group_member AS t WHERE t.group_id = $1", nil},
		{"SELECT id FROM somewhere WHERE id = $1", []string{"somewhere has no distribution key"}},
		{"SELECT name FROM group_type", nil},
		{"SELECT $1", nil},
		{"COMMIT", nil},
	} {
		if got := storetest.WithoutKey(test.statement); !slices.Equal(got, test.faults) {
			t.Errorf("%s: got %q, want %q", test.statement, got, test.faults)
		}
	}
}
