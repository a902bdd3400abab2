// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/config"
	"example.org/app/internal/im/fake"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func onBothEngines(t *testing.T, test func(t *testing.T, open func() *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, func() *store.DB { return storetest.SQLite(t) }) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, func() *store.DB { return storetest.PostgreSQL(t) }) })
}

var date = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

func options(db *store.DB) fake.Options {
	hasher := password.Hasher{Algorithm: password.SaltedSHA256}
	return fake.Options{Store: db, UserHasher: hasher, AdminHasher: hasher, Settings: config.Default().Service}
}

func fill(t *testing.T, db *store.DB, plan fake.Plan) fake.Result {
	t.Helper()
	result, err := fake.Fill(t.Context(), options(db), plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// query returns the rows of a query as text.
func query(t *testing.T, db *store.DB, text string) []string {
	t.Helper()
	var rows []string
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		found, err := storetest.Rows(ctx, tx, text)
		if err != nil {
			return err
		}
		rows = nil
		for _, row := range found {
			var columns []string
			for name, value := range row {
				if b, ok := value.([]byte); ok {
					value = string(b)
				}
				columns = append(columns, fmt.Sprintf("%s=%v", name, value))
			}
			slices.Sort(columns)
			rows = append(rows, strings.Join(columns, " "))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// wantNone fails for each row of the queries.
func wantNone(t *testing.T, db *store.DB, queries map[string]string) {
	t.Helper()
	for what, text := range queries {
		if rows := query(t, db, text); len(rows) > 0 {
			t.Errorf("%s: %d rows, such as %s", what, len(rows), rows[0])
		}
	}
}

func count(t *testing.T, db *store.DB, from string) string {
	t.Helper()
	return strings.TrimPrefix(query(t, db, "SELECT count(*) AS n FROM "+from)[0], "n=")
}

// TestStory checks the contents of a database with 600 users.
func TestStory(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		db := open()
		fill(t, db, fake.Plan{Users: 600, Groups: 150, Messages: 1500, Seed: 5, Date: date})
		for from, want := range map[string]string{
			"user_account": "600", "user_account WHERE id BETWEEN 1 AND 600": "600", "im_group": "150", "im_group WHERE id BETWEEN 1 AND 150": "150",
			"im_group WHERE id = 1 AND owner_id = 1 AND type_id = 0":               "1",
			"group_member WHERE group_id = 1":                                      "60",
			"group_member WHERE group_id = 1 AND user_id BETWEEN 1 AND 60":         "60",
			"relationship WHERE owner_id = 1 AND related_user_id BETWEEN 2 AND 60": "59", "relationship WHERE owner_id = 1": "59",
			"friend_request WHERE recipient_id = 1 AND requester_id BETWEEN 61 AND 120": "60", "friend_request": "60",
			"group_invitation WHERE group_id = 1 AND invitee_id BETWEEN 121 AND 180":     "60",
			"group_join_request WHERE group_id = 1 AND requester_id BETWEEN 181 AND 240": "60",
			"group_blocked_user WHERE group_id = 1 AND user_id BETWEEN 241 AND 300":      "60",
			"group_question WHERE group_id = 1":                                          "1", "group_type": "2", "message": "1500",
			"message WHERE sender_id BETWEEN 1 AND 10 AND id <= 500":                                       "500",
			"relationship_group WHERE group_index = 0":                                                     "600",
			"admin WHERE login_name = 'guest'":                                                             "1",
			"admin_role_permission WHERE permission NOT LIKE '%_QUERY' AND permission NOT LIKE '%_CREATE'": "0",
		} {
			if got := count(t, db, from); got != want {
				t.Errorf("%s: got %s, want %s", from, got, want)
			}
		}
		if got := count(t, db, "(SELECT DISTINCT password FROM user_account) AS p"); got != "1" {
			t.Errorf("there are %s hashes of one password", got)
		}
		u := find(t, db, 1)
		if err := password.Verify(u.Password, fake.Password); err != nil {
			t.Error(err)
		}
	})
}

func find(t *testing.T, db *store.DB, id int64) store.User {
	t.Helper()
	var users []store.User
	err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) (err error) {
		users, err = store.FindUsers(ctx, r, store.UserFilter{IDs: []int64{id}}, store.Page{})
		return err
	})
	if err != nil || len(users) != 1 {
		t.Fatal(users, err)
	}
	return users[0]
}

// TestInvariants checks invariants of the rules, for few users and for many.
func TestInvariants(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		for _, users := range []int{0, 1, 2, 9, 30, 300} {
			db := open()
			fill(t, db, fake.Plan{Users: users, Groups: 30, Messages: 700, Seed: int64(users), Date: date})
			wantNone(t, db, invariants)
		}
	})
}

var invariants = map[string]string{
	"groups without exactly one owner": "SELECT g.id FROM im_group g WHERE (SELECT count(*) FROM group_member m WHERE m.group_id = g.id AND m.role = 0 AND m.user_id = g.owner_id) <> 1 " +
		"OR (SELECT count(*) FROM group_member m WHERE m.group_id = g.id AND m.role = 0) <> 1",
	"wrong member counts": "SELECT g.id FROM im_group g LEFT JOIN group_version v ON v.group_id = g.id " +
		"WHERE v.member_count IS NULL OR v.member_count <> (SELECT count(*) FROM group_member m WHERE m.group_id = g.id)",
	"groups that are too big":                               "SELECT g.id FROM im_group g JOIN group_version v ON v.group_id = g.id JOIN group_type t ON t.id = g.type_id WHERE v.member_count > t.group_size_limit",
	"groups of a type that the owner's role does not allow": "SELECT g.id FROM im_group g JOIN user_account u ON u.id = g.owner_id WHERE g.type_id <> 0 AND u.role_id <> 1",
	"owners who are not active":                             "SELECT g.id FROM im_group g JOIN user_account u ON u.id = g.owner_id WHERE NOT u.is_active OR u.deletion_date IS NOT NULL",
	"members without account":                               "SELECT m.user_id FROM group_member m LEFT JOIN user_account u ON u.id = m.user_id WHERE u.id IS NULL",
	"members without version":                               "SELECT m.user_id FROM group_member m JOIN user_version v ON v.user_id = m.user_id WHERE v.joined_groups < m.join_date",
	"one-sided friendships": "SELECT r.owner_id, r.related_user_id FROM relationship r WHERE r.block_date IS NULL AND NOT EXISTS " +
		"(SELECT 1 FROM relationship s WHERE s.owner_id = r.related_user_id AND s.related_user_id = r.owner_id AND s.block_date IS NULL)",
	"relationships with oneself": "SELECT owner_id FROM relationship WHERE owner_id = related_user_id",
	"related users outside of the default group": "SELECT r.owner_id FROM relationship r WHERE NOT EXISTS (SELECT 1 FROM relationship_group_member m " +
		"WHERE m.owner_id = r.owner_id AND m.related_user_id = r.related_user_id AND m.group_index = 0)",
	"members of relationship groups that do not exist": "SELECT m.owner_id FROM relationship_group_member m WHERE NOT EXISTS " +
		"(SELECT 1 FROM relationship_group g WHERE g.owner_id = m.owner_id AND g.group_index = m.group_index)",
	"users without default group": "SELECT u.id FROM user_account u WHERE NOT EXISTS (SELECT 1 FROM relationship_group g WHERE g.owner_id = u.id AND g.group_index = 0)",
	"users with incomplete versions": "SELECT u.id FROM user_account u LEFT JOIN user_version v ON v.user_id = u.id WHERE v.relationships IS NULL OR v.relationship_groups IS NULL " +
		"OR v.relationship_group_members IS NULL OR v.sent_friend_requests IS NULL OR v.received_friend_requests IS NULL OR v.joined_groups IS NULL " +
		"OR v.sent_group_invitations IS NULL OR v.received_group_invitations IS NULL OR v.sent_group_join_requests IS NULL",
	"relationships newer than their version": "SELECT r.owner_id FROM relationship r JOIN user_version v ON v.user_id = r.owner_id WHERE v.relationships < r.establishment_date",
	"private messages to those who blocked the sender": "SELECT m.id FROM message m JOIN relationship r ON r.owner_id = m.target_id AND r.related_user_id = m.sender_id " +
		"WHERE NOT m.is_group_message AND r.block_date IS NOT NULL",
	"private messages to those who are gone": "SELECT m.id FROM message m LEFT JOIN user_account u ON u.id = m.target_id WHERE NOT m.is_group_message " +
		"AND (u.id IS NULL OR NOT u.is_active OR u.deletion_date IS NOT NULL OR m.target_id = m.sender_id)",
	"group messages of others": "SELECT m.id FROM message m WHERE m.is_group_message AND NOT EXISTS (SELECT 1 FROM group_member x WHERE x.group_id = m.target_id AND x.user_id = m.sender_id)",
	"wrong read dates of private conversations": "SELECT c.owner_id FROM private_conversation c WHERE c.read_date <> " +
		"(SELECT max(m.delivery_date) FROM message m WHERE NOT m.is_group_message AND m.sender_id = c.owner_id AND m.target_id = c.target_id)",
	"wrong read dates of group conversations": "SELECT c.group_id FROM group_conversation c WHERE c.read_date <> " +
		"(SELECT max(m.delivery_date) FROM message m WHERE m.is_group_message AND m.sender_id = c.member_id AND m.target_id = c.group_id)",
	"messages without conversation": "SELECT m.id FROM message m WHERE NOT m.is_group_message AND NOT EXISTS (SELECT 1 FROM private_conversation c WHERE c.owner_id = m.sender_id AND c.target_id = m.target_id) " +
		"OR m.is_group_message AND NOT EXISTS (SELECT 1 FROM group_conversation c WHERE c.group_id = m.target_id AND c.member_id = m.sender_id)",
	"dates in the future": fmt.Sprintf("SELECT id FROM message WHERE delivery_date > %[1]d UNION ALL SELECT id FROM user_account WHERE registration_date > %[1]d "+
		"UNION ALL SELECT group_id FROM group_member WHERE join_date > %[1]d UNION ALL SELECT owner_id FROM relationship WHERE establishment_date > %[1]d", date.UnixMilli()),
}

// dump returns all rows without the hashes, which are salted.
func dump(t *testing.T, db *store.DB) map[string][]string {
	t.Helper()
	tables := map[string][]string{}
	for _, table := range []string{
		"message", "private_conversation", "group_conversation", "group_join_request", "group_invitation", "group_blocked_user", "group_question",
		"group_version", "group_member", "im_group", "friend_request", "relationship_group_member", "relationship", "relationship_group",
		"user_version", "group_type", "user_role", "cluster_value",
	} {
		tables[table] = query(t, db, "SELECT * FROM "+table)
		slices.Sort(tables[table])
	}
	tables["user_account"] = query(t, db, "SELECT id, name, intro, profile_picture, role_id, registration_date, deletion_date, is_active FROM user_account ORDER BY id")
	return tables
}

func TestSameSeedSameRows(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		plan := fake.Plan{Users: 300, Groups: 20, Messages: 700, Seed: 9, Date: date}
		a, b, other := open(), open(), open()
		fill(t, a, plan)
		fill(t, b, plan)
		if diff := cmp.Diff(dump(t, a), dump(t, b)); diff != "" {
			t.Error(diff)
		}
		plan.Seed++
		fill(t, other, plan)
		if cmp.Equal(dump(t, a)["message"], dump(t, other)["message"]) {
			t.Error("another seed makes the same messages")
		}
	})
}

// TestInterruption interrupts a fill after each of its steps and resumes it.
func TestInterruption(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		plan := fake.Plan{Users: 300, Groups: 5, Messages: 100, Seed: 9, Date: date}
		whole, parts := open(), open()
		fill(t, whole, plan)
		for resumed := false; ; resumed = true {
			ctx, cancel := context.WithCancel(t.Context())
			o := options(parts)
			o.Progress = func(int, int) { cancel() }
			result, err := fake.Fill(ctx, o, fake.Plan{Users: plan.Users, Groups: plan.Groups, Messages: plan.Messages, Seed: plan.Seed, Date: plan.Date})
			cancel()
			if err == nil {
				if result.Plan != plan || !result.Resumed || !resumed {
					t.Errorf("got %+v", result)
				}
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			// The plan of the interrupted fill is used, not the requested one.
			plan := plan
			plan.Users = 7
			_, err = fake.Fill(ctx, options(parts), plan)
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(dump(t, whole), dump(t, parts)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTogether fills one database concurrently.
func TestTogether(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		plan := fake.Plan{Users: 300, Groups: 5, Messages: 100, Seed: 9, Date: date}
		whole, db := open(), open()
		fill(t, whole, plan)
		errs := make([]error, 4)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { _, errs[i] = fake.Fill(t.Context(), options(db), plan) })
		}
		group.Wait()
		filled := 0
		for _, err := range errs {
			switch {
			case err == nil:
				filled++
			case !errors.Is(err, fake.ErrBusy) && !errors.Is(err, fake.ErrNotEmpty):
				t.Error(err)
			}
		}
		if filled != 1 {
			t.Errorf("%d have filled the database: %v", filled, errs)
		}
		if diff := cmp.Diff(dump(t, whole), dump(t, db)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNotEmptyAndClear(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		plan := fake.Plan{Users: 40, Groups: 5, Messages: 100, Seed: 9, Date: date}
		db := open()
		fill(t, db, plan)
		before := dump(t, db)
		if _, err := fake.Fill(t.Context(), options(db), plan); !errors.Is(err, fake.ErrNotEmpty) || !strings.Contains(err.Error(), "user_account") {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff(before, dump(t, db)); diff != "" {
			t.Error(diff)
		}
		if err := fake.Clear(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		for table, want := range map[string]string{"user_account": "0", "message": "0", "relationship": "0", "user_role": "1", "group_type": "1", "admin": "1"} {
			if got := count(t, db, table); got != want {
				t.Errorf("%s: %s rows are left, want %s", table, got, want)
			}
		}
		// The guest exists already.
		fill(t, db, plan)
		if diff := cmp.Diff(before, dump(t, db)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSettings checks that the data obeys settings other than the default ones.
func TestSettings(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		db := open()
		o := options(db)
		o.Settings.Message.UseConversationID = true
		o.Settings.Message.SequenceID = config.MessageSequenceID{UseSequenceIDForGroupConversation: true, UseSequenceIDForPrivateConversation: true}
		o.Settings.Message.MaxTextLimit = 5
		o.Settings.User.Info.MaxNameLength = 4
		o.Settings.Conversation.ReadReceipt.UpdateReadDateAfterMessageSent = false
		if _, err := fake.Fill(t.Context(), o, fake.Plan{Users: 100, Groups: 3, Messages: 600, Date: date}); err != nil {
			t.Fatal(err)
		}
		wantNone(t, db, map[string]string{
			"messages without conversation id or number": "SELECT id FROM message WHERE conversation_id IS NULL OR sequence_id IS NULL",
			"wrong last numbers": "SELECT s.first_id FROM message_sequence s WHERE s.is_group AND s.value <> " +
				"(SELECT count(*) FROM message m WHERE m.is_group_message AND m.target_id = s.first_id)",
			"long texts":    "SELECT id FROM message WHERE length(text) > 5",
			"long names":    "SELECT id FROM user_account WHERE length(name) > 4",
			"conversations": "SELECT owner_id FROM private_conversation",
		})
	})
}

// TestRulesOnTop applies the rules to generated users and groups.
func TestRulesOnTop(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *store.DB) {
		db := open()
		fill(t, db, fake.Plan{Users: 200, Groups: 10, Messages: 600, Seed: 1, Date: time.Now()})
		w := imtest.New(t, db, imtest.Changes{})
		w.Now = time.Now()
		_, requests, err := w.Relationships.FriendRequests.FindPage(t.Context(), relationship.RequestFilter{Stored: store.FriendRequestFilter{RecipientIDs: []int64{1}}}, store.Page{Limit: 1})
		if err != nil || len(requests) != 1 {
			t.Fatal(requests, err)
		}
		for what, do := range map[string]func() error{
			"accept a friend request": func() error {
				replied, err := w.Relationships.FriendRequests.Reply(t.Context(), 1, requests[0].ID, store.RequestAccepted, nil)
				if err == nil && len(replied.Gained) != 2 {
					err = fmt.Errorf("gained %v", replied.Gained)
				}
				return err
			},
			"hand over the first group": func() error {
				result, err := w.Groups.Transfer(t.Context(), []int64{1}, 2, false)
				if err == nil && result.Modified != 1 {
					err = fmt.Errorf("got %+v", result)
				}
				return err
			},
			"join the second group": func() error {
				_, err := w.Groups.Members.Add(t.Context(), store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: 2, UserID: 100_000}, Role: store.GroupRegularMember}, nil)
				return err
			},
			"send a private message": func() error {
				_, err := w.Messages.Send(t.Context(), message.Creation{SenderID: new(int64(1)), TargetID: 2, Text: new("Hi")})
				return err
			},
			"send a group message": func() error {
				_, err := w.Messages.Send(t.Context(), message.Creation{SenderID: new(int64(3)), TargetID: 1, IsGroupMessage: true, Text: new("Hi")})
				return err
			},
			"create a user": func() error {
				_, err := w.Users.Create(t.Context(), user.Creation{})
				return err
			},
			"delete a user": func() error {
				n, err := w.Users.Delete(t.Context(), []int64{150}, new(false))
				if err == nil && n != 1 {
					err = fmt.Errorf("deleted %d", n)
				}
				return err
			},
			"delete a group": func() error {
				_, err := w.Groups.Delete(t.Context(), []int64{3}, new(false))
				return err
			},
		} {
			if err := do(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		wantNone(t, db, map[string]string{
			"groups without exactly one owner": invariants["groups without exactly one owner"],
			"wrong member counts":              invariants["wrong member counts"],
			"one-sided friendships":            invariants["one-sided friendships"],
		})
	})
}
