// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/app/internal/store/sqldb"
)

// What can happen to a record.
const (
	ActionCreate = "CREATE"
	ActionUpdate = "UPDATE"
	ActionDelete = "DELETE"
)

// A Change is what a transaction did to one record. Values have the form of the admin interface: dates are texts,
// enumerations are names, bytes are numbers of bytes. Secrets are masked and long texts cut.
type Change struct {
	Record string `json:"record"`
	Action string `json:"action"`
	Key    Values `json:"key,omitempty"`
	Before Values `json:"before,omitempty"`
	After  Values `json:"after,omitempty"`
}

const (
	// maxJournalChanges is how many changes of one transaction a journal tells of.
	maxJournalChanges = 100
	// maxJournalText is how many bytes of a text it shows.
	maxJournalText = 1 << 10
	// maskedValue stands for a secret.
	maskedValue = "***"
)

// journalLimit is maxJournalChanges as text.
var journalLimit = strconv.Itoa(maxJournalChanges)

// A JournalFunc gets the changes of a Write function that made some at its end, in its transaction, and how many more there
// were. The function that it returns is called when they are committed.
type JournalFunc func(ctx context.Context, tx Tx, changes []Change, omitted int64) (committed func(), err error)

// WithJournal returns a context whose Write functions note what they change, for write.
func WithJournal(ctx context.Context, write JournalFunc) context.Context {
	return sqldb.WithJournal(ctx, func() sqldb.Journal { return &journal{write: write} })
}

// journal collects the changes of one run of a Write function.
type journal struct {
	write     JournalFunc
	committed func()
	changes   []Change
	omitted   int64
}

// Close implements sqldb.Journal.
func (j *journal) Close(ctx context.Context, tx sqldb.Tx) error {
	if len(j.changes) == 0 && j.omitted == 0 {
		return nil
	}
	var err error
	j.committed, err = j.write(ctx, tx, j.changes, j.omitted)
	return err
}

// Committed implements sqldb.Journal.
func (j *journal) Committed() {
	if j.committed != nil {
		j.committed()
	}
}

// journalOf returns the journal of a transaction, nil if it keeps none. All methods of a nil journal do nothing.
func journalOf(tx Tx) *journal {
	j, _ := sqldb.JournalOf(tx).(*journal)
	return j
}

// room is how many more changes fit.
func (j *journal) room() int { return maxJournalChanges - len(j.changes) }

// note adds a change.
func (j *journal) note(c Change) {
	if j == nil {
		return
	}
	if j.room() <= 0 {
		j.omitted++
		return
	}
	j.changes = append(j.changes, c)
}

// A journalRule says how the rows of a table stand in a journal. Tables without a rule do not: they follow from others.
type journalRule struct {
	record string
	// keys is how many of the first columns identify a row; 0 means one.
	keys int
	// masked and hidden are columns whose values nobody sees, and that are left out.
	masked, hidden []string
	// set is another table that holds a set of values for each row.
	set *journalSet
}

// A journalSet is the table of a set: the column with the owner, that with the element, and its name in a journal.
type journalSet struct{ table, owner, element, name string }

var journalRules = map[string]journalRule{
	"admin":                     {record: "admin", masked: []string{"password"}, set: &journalSet{"admin_role_member", "admin_id", "role_id", "roleIds"}},
	"admin_role":                {record: "adminRole", set: &journalSet{"admin_role_permission", "role_id", "permission", "permissions"}},
	"admin_token":               {record: "adminToken", masked: []string{"hash"}},
	"user_account":              {record: "user", masked: []string{"password"}},
	"user_role":                 {record: "userRole"},
	"user_setting":              {record: "userSetting"},
	"relationship":              {record: "relationship", keys: 2},
	"relationship_group":        {record: "relationshipGroup", keys: 2},
	"relationship_group_member": {record: "relationshipGroupMember", keys: 3},
	"friend_request":            {record: "friendRequest"},
	"im_group":                  {record: "group"},
	"group_type":                {record: "groupType"},
	"group_member":              {record: "groupMember", keys: 2},
	"group_blocked_user":        {record: "groupBlockedUser", keys: 2},
	"group_question":            {record: "groupQuestion"},
	"group_invitation":          {record: "groupInvitation"},
	"group_join_request":        {record: "groupJoinRequest"},
	"private_conversation":      {record: "privateConversation", keys: 2},
	"group_conversation":        {record: "groupConversation", keys: 2},
	"conversation_setting":      {record: "conversationSetting", keys: 3},
	"message":                   {record: "message", hidden: []string{"conversation_id"}},
	"cluster_plugin":            {record: "plugin"},
	"plugin_version":            {record: "pluginVersion", keys: 2},
	"plugin_rollout":            {record: "pluginRollout"},
	"meeting":                   {record: "meeting", masked: []string{"password", "access_token"}},
}

// journalTables are the tables with a rule, by their names.
var journalTables = map[string]journalTable{}

// A journalTable reads rows for a journal.
type journalTable interface {
	images(ctx context.Context, tx Tx, where conditions) ([]image, error)
	// updating runs a statement that changes columns of those rows which fulfil the conditions and differ; its result goes to
	// scan. It returns the images of before, with the keys and those columns only, and how many rows fulfil the conditions,
	// as far as it looked at them.
	updating(ctx context.Context, tx Tx, where conditions, columns []string, differ, update sqldb.SQL, scan func(sqldb.Row) error) ([]image, int64, error)
}

// An image is a row as it is at a moment.
type image struct {
	rule    journalRule
	columns []string
	fields  []any // pointers, as the table declares them
	set     []any // of its rule, if it was read
}

// images reads rows that fulfil the conditions, as many as a journal takes. The limit is part of the text: SQLite would
// plan a statement anew each time that a limit is bound.
func (t table[R]) images(ctx context.Context, tx Tx, where conditions) ([]image, error) {
	found, err := t.read(ctx, tx, t.selected(where).And(" LIMIT "+journalLimit))
	if err != nil {
		return nil, err
	}
	return t.imagesOf(found), nil
}

func (t table[R]) updating(ctx context.Context, tx Tx, where conditions, columns []string, differ, update sqldb.SQL, scan func(sqldb.Row) error) ([]image, int64, error) {
	rule := journalRules[t.name]
	var places []int
	var names []string
	for i, column := range t.columns {
		if i < max(rule.keys, 1) || slices.Contains(columns, column) {
			places, names = append(places, i), append(names, column)
		}
	}
	before := sqldb.New("SELECT ?, t."+strings.Join(names, ", t.")+" FROM "+t.name+" AS t? LIMIT "+journalLimit, differ, where.clause())
	var list []image
	seen := int64(0)
	err := sqldb.QueryBoth(ctx, tx, before, func(row sqldb.Row) error {
		var differs bool
		all, some := t.fields(new(R)), make([]any, len(places)+1)
		some[0] = &differs
		for i, place := range places {
			some[i+1] = all[place]
		}
		seen++
		if err := row.Scan(some...); err != nil || !differs {
			return err
		}
		list = append(list, image{rule: rule, columns: names, fields: some[1:]})
		return nil
	}, update, scan)
	return list, seen, err
}

func (t table[R]) imagesOf(records []R) []image {
	list := make([]image, len(records))
	for i := range records {
		list[i] = image{rule: journalRules[t.name], columns: t.columns, fields: t.fields(&records[i])}
	}
	return list
}

// isKey reports whether a column is part of what identifies a row.
func (m image) isKey(i int) bool { return i < max(m.rule.keys, 1) }

// key is what identifies the row.
func (m image) key() Values {
	key := make(Values, 0, max(m.rule.keys, 1))
	for i, column := range m.columns {
		if m.isKey(i) {
			key = append(key, Value{properties[column], journalValue(m.fields[i])})
		}
	}
	return key
}

// shown is a value of a column as a journal shows it.
func (m image) shown(column string, value any) any {
	if slices.Contains(m.rule.masked, column) && value != nil {
		return maskedValue
	}
	return value
}

// values are the columns that are not part of the key and not null.
func (m image) values() Values {
	values := make(Values, 0, len(m.columns))
	for i, column := range m.columns {
		if m.isKey(i) || slices.Contains(m.rule.hidden, column) {
			continue
		}
		if v := journalValue(m.fields[i]); v != nil {
			values = append(values, Value{properties[column], m.shown(column, v)})
		}
	}
	return values
}

// created notes new records.
func (t table[R]) created(tx Tx, records []R) {
	j := journalOf(tx)
	rule, ok := journalRules[t.name]
	if j == nil || !ok {
		return
	}
	fit := min(len(records), max(j.room(), 0))
	for _, m := range t.imagesOf(records[:fit]) {
		j.note(Change{Record: rule.record, Action: ActionCreate, Key: m.key(), After: m.values()})
	}
	j.omitted += int64(len(records) - fit)
}

// before reads the rows that fulfil the conditions, as far as they fit into the journal. It returns nil without one.
func (j *journal) before(ctx context.Context, tx Tx, table string, list conditions) ([]image, error) {
	t, ok := journalTables[table]
	if j == nil || !ok || j.room() <= 0 {
		return nil, nil
	}
	found, err := t.images(ctx, tx, list)
	if err != nil {
		return nil, fmt.Errorf("read what changes in %q: %w", table, err)
	}
	return found[:min(len(found), j.room())], nil
}

// deleted notes rows that are gone: n of them, some of which before has read.
func (j *journal) deleted(table string, gone []image, n int64) {
	rule, ok := journalRules[table]
	if j == nil || !ok {
		return
	}
	for _, m := range gone {
		values := m.values()
		if m.set != nil {
			values.Set(rule.set.name, m.set)
		}
		j.note(Change{Record: rule.record, Action: ActionDelete, Key: m.key(), Before: values})
	}
	j.omitted += n - int64(len(gone))
}

// readSets reads the sets of rows, which are deleted with them.
func readSets(ctx context.Context, tx Tx, images []image) error {
	if len(images) == 0 || images[0].rule.set == nil {
		return nil
	}
	set := images[0].rule.set
	at, owners := map[int64]int{}, make([]int64, len(images))
	for i, m := range images {
		owners[i] = *m.fields[0].(*int64)
		at[owners[i]] = i
	}
	return sqldb.Query(ctx, tx, sqldb.New("SELECT t."+set.owner+", t."+set.element+" FROM "+set.table+" AS t WHERE ? ORDER BY 1, 2",
		sqldb.In("t."+set.owner, owners)), func(row sqldb.Row) error {
		var owner int64
		var element any
		if err := row.Scan(&owner, &element); err != nil {
			return err
		}
		if text, ok := element.([]byte); ok {
			element = string(text)
		}
		m := &images[at[owner]]
		m.set = append(m.set, element)
		return nil
	})
}

// updated notes the rows that an update changed: changed of them, some of which before has read.
func (j *journal) updated(table string, was []image, c *columnChanges, changed int) {
	rule, ok := journalRules[table]
	if j == nil || !ok {
		return
	}
	noted := max(j.room(), 0)
	for _, m := range was[:min(len(was), noted)] {
		entry := Change{Record: rule.record, Action: ActionUpdate, Key: m.key()}
		for i, column := range c.columns[:len(c.columns)-c.touched] {
			at := slices.Index(m.columns, column)
			if at < 0 || slices.Contains(rule.hidden, column) {
				continue
			}
			before := journalValue(m.fields[at])
			after := journalValue(assigned(m.fields[at], c.values[i]))
			if !sameJSON(before, after) || slices.Contains(rule.masked, column) {
				name := properties[column]
				entry.Before = append(entry.Before, Value{name, m.shown(column, before)})
				entry.After = append(entry.After, Value{name, m.shown(column, after)})
			}
		}
		j.note(entry)
	}
	j.omitted += int64(changed - min(len(was), noted))
}

// setOf notes the set of a row that was created, or whose set was replaced.
func (j *journal) setOf(table string, id int64, before, after any) {
	if j == nil {
		return
	}
	rule := journalRules[table]
	for i := range j.changes {
		c := &j.changes[i]
		if c.Record != rule.record || c.Key.Get("id") != id || c.Action == ActionDelete {
			continue
		}
		if c.Action == ActionUpdate {
			c.Before.Set(rule.set.name, before)
		}
		c.After.Set(rule.set.name, after)
		return
	}
	j.note(Change{
		Record: rule.record, Action: ActionUpdate, Key: Values{{"id", id}},
		Before: Values{{rule.set.name, before}}, After: Values{{rule.set.name, after}},
	})
}

// sameJSON compares values as they are shown.
func sameJSON(a, b any) bool {
	switch a.(type) {
	case nil, string, bool, int64, int32:
		return a == b
	}
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// assigned gives a field the value of a column and returns it. The field is a pointer that the image owns.
func assigned(field, value any) any {
	if scanner, ok := field.(sql.Scanner); ok {
		if err := scanner.Scan(value); err != nil {
			return &value
		}
		return field
	}
	dst, src := reflect.ValueOf(field).Elem(), reflect.ValueOf(value)
	switch {
	case !src.IsValid():
		dst.SetZero()
	case dst.Kind() == reflect.Pointer && src.CanConvert(dst.Type().Elem()):
		pointer := reflect.New(dst.Type().Elem())
		pointer.Elem().Set(src.Convert(dst.Type().Elem()))
		dst.Set(pointer)
	case src.CanConvert(dst.Type()):
		dst.Set(src.Convert(dst.Type()))
	default:
		return &value
	}
	return field
}

// journalDate is how a journal writes dates.
const journalDate = "2006-01-02T15:04:05.000Z07:00"

// journalValue is what a field holds, in the form of a journal; nil is none.
func journalValue(field any) any {
	switch p := field.(type) {
	case *millis:
		return (*time.Time)(p).UTC().Format(journalDate)
	case optionalMillis:
		if *p.field == nil {
			return nil
		}
		return (*p.field).UTC().Format(journalDate)
	case *millisOrZero:
		if (*time.Time)(p).IsZero() {
			return nil
		}
		return (*time.Time)(p).UTC().Format(journalDate)
	case *list:
		return []string(*p)
	case optionalList:
		if *p.field == nil {
			return nil
		}
		return *p.field
	case *blob:
		return bytesValue(*p)
	case *optionalBytes:
		return bytesValue(*p)
	case *address:
		if !netip.Addr(*p).IsValid() {
			return nil
		}
		return netip.Addr(*p).String()
	case *records:
		if len(*p) == 0 {
			return nil
		}
		return map[string]any{"records": len(*p)}
	case *object:
		return cutJSON(map[string]any(*p))
	case *attributes:
		if len(*p) == 0 {
			return nil
		}
		return cutJSON(map[string]any(*p))
	case interface{ journalValue() any }:
		return cutJSON(p.journalValue())
	}
	v := reflect.ValueOf(field).Elem()
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if name, ok := v.Interface().(fmt.Stringer); ok && v.Kind() == reflect.Int32 {
		return name.String()
	}
	if v.Kind() == reflect.String {
		return cutText(v.String())
	}
	return v.Interface()
}

// bytesValue tells bytes by their number.
func bytesValue(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return map[string]any{"bytes": len(b)}
}

// cutJSON replaces a document that is too long by its size.
func cutJSON(document any) any {
	text, err := json.Marshal(document)
	if err != nil || len(text) > maxJournalText {
		return map[string]any{"bytes": len(text)}
	}
	return document
}

// cutText cuts a text that is too long and says how long it was.
func cutText(text string) string {
	if len(text) <= maxJournalText {
		return text
	}
	end := maxJournalText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}

// properties are the columns of all tables with their names as properties.
var properties = map[string]string{}

// camelCase turns the name of a column into that of a property.
func camelCase(column string) string {
	words := strings.Split(column, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}
