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
	"sync"
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

// A Change is a change of one record by a transaction. Values have the form of the admin interface:
// dates are texts, enumerations are names, bytes are numbers of bytes. Secrets are masked and long
// texts truncated.
type Change struct {
	Record string `json:"record"`
	Action string `json:"action"`
	Key    Values `json:"key,omitempty"`
	Before Values `json:"before,omitempty"`
	After  Values `json:"after,omitempty"`
	// before and after are encoded members of the objects Before and After, which precede the
	// others.
	before, after []byte
}

const (
	// maxJournalChanges is the maximum number of changes in one journal.
	maxJournalChanges = 100
	// maxJournalText is the maximum length of a text in bytes.
	maxJournalText = 1 << 10
	// maskedValue replaces a secret.
	maskedValue = "***"
)

// journalLimit is maxJournalChanges as text.
var journalLimit = strconv.Itoa(maxJournalChanges)

// A JournalFunc is called at the end of a Write function, in its transaction, with its changes and
// the number of omitted ones, if there are any. It must not retain the changes. The function that
// it returns is called after the commit.
type JournalFunc func(ctx context.Context, tx Tx, changes []Change, omitted int64) (committed func(), err error)

// WithJournal returns a context whose Write functions pass their changes to write.
func WithJournal(ctx context.Context, write JournalFunc) context.Context {
	return sqldb.WithJournal(ctx, func() sqldb.Journal {
		j := &journal{write: write}
		j.changes = j.first[:0]
		return j
	})
}

// journal collects the changes of one run of a Write function.
type journal struct {
	write     JournalFunc
	committed func()
	changes   []Change
	first     [1]Change // Most journals have one.
	omitted   int64
	// text is the buffer for encoded values. A record is encoded when it is added, because its
	// owner may change it afterwards.
	text *[]byte
	err  error
}

// journalTexts pools the buffers of closed journals.
var journalTexts = sync.Pool{New: func() any { return new(make([]byte, 0, 1<<10)) }}

// maxPooledText is the maximum size of a pooled buffer.
const maxPooledText = 64 << 10

// Close implements sqldb.Journal.
func (j *journal) Close(ctx context.Context, tx sqldb.Tx) error {
	if len(j.changes) == 0 && j.omitted == 0 {
		return nil
	}
	if j.err != nil {
		return fmt.Errorf("encode a change: %w", j.err)
	}
	var err error
	j.committed, err = j.write(ctx, tx, j.changes, j.omitted)
	if j.changes = nil; j.text != nil && cap(*j.text) <= maxPooledText {
		journalTexts.Put(j.text)
	}
	j.text = nil
	return err
}

// Committed implements sqldb.Journal.
func (j *journal) Committed() {
	if j.committed != nil {
		j.committed()
	}
}

// journalOf returns the journal of a transaction, or nil. All methods of a nil journal do nothing.
func journalOf(tx Tx) *journal {
	j, _ := sqldb.JournalOf(tx).(*journal)
	return j
}

// room returns how many more changes fit.
func (j *journal) room() int { return maxJournalChanges - len(j.changes) }

// encode calls fn to append to the buffer, and returns what it appended.
func (j *journal) encode(fn func([]byte) ([]byte, error)) []byte {
	if j.text == nil {
		j.text = journalTexts.Get().(*[]byte)
		*j.text = (*j.text)[:0]
	}
	start := len(*j.text)
	text, err := fn(*j.text)
	if err != nil {
		j.err = err
		return nil
	}
	*j.text = text
	return text[start:len(text):len(text)]
}

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

// A journalRule defines how the rows of a table appear in a journal. Tables without a rule do not
// appear, because they follow from others.
type journalRule struct {
	record string
	// keys is how many of the first columns identify a row; 0 means one.
	keys int
	// masked are columns with secret values, hidden are columns that are omitted.
	masked, hidden []string
	// set is another table that holds a set of values for each row.
	set *journalSet
}

// A journalSet is the table of a set: the column with the owner, that with the element, and its
// name in a journal.
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
	"plugin_grant":              {record: "pluginGrant"},
	"meeting":                   {record: "meeting", masked: []string{"password", "access_token"}},
}

// journalTables are the tables with a rule, by their names.
var journalTables = map[string]journalTable{}

// A journalTable reads rows for a journal.
type journalTable interface {
	images(ctx context.Context, tx Tx, where conditions) ([]image, error)
	// updating runs an update and returns the previous images, with only the keys and the compared
	// columns. With count it also returns how many rows satisfy the conditions, as far as it read
	// them.
	updating(ctx context.Context, tx Tx, u *rowUpdate, count bool) ([]image, int64, error)
}

// A journalColumn defines how a column appears in a journal.
type journalColumn struct {
	column string
	// property is its name, member the beginning of its member in a JSON object.
	property, member    string
	key, masked, hidden bool
}

// journalColumns returns how columns stand in a journal by the rule.
func (r journalRule) journalColumns(columns []string) []journalColumn {
	list := make([]journalColumn, len(columns))
	for i, column := range columns {
		property := camelCase(column)
		list[i] = journalColumn{
			column: column, property: property, member: strconv.Quote(property) + ":",
			key: i < max(r.keys, 1), masked: slices.Contains(r.masked, column), hidden: slices.Contains(r.hidden, column),
		}
	}
	return list
}

// An image is the state of a row at a time.
type image struct {
	rule    *journalRule
	columns []journalColumn
	fields  []any // pointers, as the table declares them
	set     []any // of its rule, if it was read
}

// images reads rows that satisfy the conditions, up to the limit of a journal. The limit is part of
// the text: SQLite would recompile a statement for each bound limit.
func (t table[R]) images(ctx context.Context, tx Tx, where conditions) ([]image, error) {
	found, err := t.read(ctx, tx, t.selected(where).And(" LIMIT "+journalLimit))
	if err != nil {
		return nil, err
	}
	return t.imagesOf(found), nil
}

func (t table[R]) updating(ctx context.Context, tx Tx, u *rowUpdate, count bool) (was []image, seen int64, err error) {
	var places []int
	var told []journalColumn
	names := ", t." + u.returning
	for i, column := range t.told {
		if column.key || slices.Contains(u.compared, column.column) {
			places, told, names = append(places, i), append(told, column), names+", t."+column.column
		}
	}
	differ, where := u.differ, u.where
	if !count {
		differ, where = sqldb.New("TRUE"), u.differing()
	}
	before := sqldb.New("SELECT ?"+names+" FROM "+t.name+" AS t? LIMIT "+journalLimit, differ, where.clause())
	var differing []int64
	scan := func(row sqldb.Row) error {
		var differs bool
		var returned int64
		all, some := t.fields(new(R)), make([]any, len(places)+2)
		some[0], some[1] = &differs, &returned
		for i, place := range places {
			some[i+2] = all[place]
		}
		seen++
		if err := row.Scan(some...); err != nil || !differs {
			return err
		}
		was, differing = append(was, image{rule: t.rule, columns: told, fields: some[2:]}), append(differing, returned)
		return nil
	}
	if sqldb.EngineOf(tx) != SQLite {
		err = sqldb.QueryBoth(ctx, tx, before, scan, u.statement(), u.scan)
		return was, seen, err
	}
	if err := sqldb.Query(ctx, tx, before, scan); err != nil {
		return nil, 0, err
	}
	// Nobody else writes concurrently, so the update changes what was read. Returning rows takes
	// SQLite longer than changing them.
	switch {
	case seen == maxJournalChanges, slices.Contains(u.columns, u.returning): // There may be more rows, or another value to return.
		err = sqldb.Query(ctx, tx, u.statement(), u.scan)
	case len(differing) == 0:
	case len(differing) == int(seen) && count:
		u.changed = differing
		_, err = sqldb.Exec(ctx, tx, u.silent(u.where))
	default:
		u.changed = differing
		_, err = sqldb.Exec(ctx, tx, u.silent(u.differing()))
	}
	return was, seen, err
}

func (t table[R]) imagesOf(records []R) []image {
	list := make([]image, len(records))
	for i := range records {
		list[i] = t.imageOf(&records[i])
	}
	return list
}

func (t table[R]) imageOf(record *R) image {
	return image{rule: t.rule, columns: t.told, fields: t.fields(record)}
}

// key returns the values that identify the row.
func (m *image) key() Values {
	key := make(Values, 0, 1)
	for i := range m.columns {
		if c := &m.columns[i]; c.key {
			key = append(key, Value{c.property, journalValue(m.fields[i])})
		}
	}
	return key
}

// appendValues appends the columns that are not part of the key and not null, as members of a JSON
// object.
func (m *image) appendValues(b []byte) (_ []byte, err error) {
	start := len(b)
	for i := range m.columns {
		c := &m.columns[i]
		if c.key || c.hidden {
			continue
		}
		whole := len(b)
		if whole > start {
			b = append(b, ',')
		}
		known := false
		if b, known, err = c.appendValue(append(b, c.member...), m.fields[i]); err != nil {
			return nil, err
		}
		if !known {
			b = b[:whole]
		}
	}
	return b, nil
}

// appendValue appends the value of a column's field as JSON. known is false for null.
func (c *journalColumn) appendValue(b []byte, field any) (_ []byte, known bool, err error) {
	if !c.masked {
		return appendField(b, field)
	}
	whole := len(b)
	if b, known, err = appendField(b, field); known {
		b = appendJSONText(b[:whole], maskedValue)
	}
	return b, known, err
}

// created notes new records.
func (t table[R]) created(tx Tx, records []R) {
	j := journalOf(tx)
	if j == nil || t.rule == nil {
		return
	}
	fit := min(len(records), max(j.room(), 0))
	for i := range records[:fit] {
		m := t.imageOf(&records[i])
		j.note(Change{Record: t.rule.record, Action: ActionCreate, Key: m.key(), after: j.encode(m.appendValues)})
	}
	j.omitted += int64(len(records) - fit)
}

// before reads the rows that satisfy the conditions, up to the limit of the journal. It returns nil
// for a nil journal.
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

// deleted adds n deleted rows, some of which before has read.
func (j *journal) deleted(table string, gone []image, n int64) {
	rule, ok := journalRules[table]
	if j == nil || !ok {
		return
	}
	for i := range gone {
		m := &gone[i]
		c := Change{Record: rule.record, Action: ActionDelete, Key: m.key(), before: j.encode(m.appendValues)}
		if m.set != nil {
			c.Before.Set(rule.set.name, m.set)
		}
		j.note(c)
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

// updated adds changed rows of an update, some of which before has read.
func (j *journal) updated(table string, was []image, c *columnChanges, changed int) {
	rule, ok := journalRules[table]
	if j == nil || !ok {
		return
	}
	noted := max(j.room(), 0)
	for i := range was[:min(len(was), noted)] {
		m := &was[i]
		entry := Change{Record: rule.record, Action: ActionUpdate, Key: m.key()}
		// The fields get their new values while the old ones are encoded, which precede them.
		var after []byte
		entry.before = j.encode(func(b []byte) (_ []byte, err error) {
			b, after, err = m.appendDifferences(b, c)
			return b, err
		})
		entry.after = after
		j.note(entry)
	}
	j.omitted += int64(changed - min(len(was), noted))
}

// appendDifferences appends the old values of the columns that an update changes as members of a
// JSON object, and returns the new ones separately. Afterwards the image has the new values.
func (m *image) appendDifferences(b []byte, changes *columnChanges) (_, after []byte, err error) {
	start := len(b)
	for i, name := range changes.columns[:len(changes.columns)-changes.touched] {
		at := slices.IndexFunc(m.columns, func(c journalColumn) bool { return c.column == name })
		if at < 0 || m.columns[at].hidden {
			continue
		}
		column, field := &m.columns[at], m.fields[at]
		wholeBefore, wholeAfter := len(b), len(after)
		if b, err = column.appendMember(b, start, field); err != nil {
			return nil, nil, err
		}
		if after, err = column.appendMember(after, 0, assigned(field, changes.values[i])); err != nil {
			return nil, nil, err
		}
		if !column.masked && bytes.Equal(b[wholeBefore:], after[wholeAfter:]) {
			b, after = b[:wholeBefore], after[:wholeAfter]
		}
	}
	return b, after, nil
}

// appendMember appends the column to an object whose members begin at start; null if there is no
// value.
func (c *journalColumn) appendMember(b []byte, start int, field any) ([]byte, error) {
	if len(b) > start {
		b = append(b, ',')
	}
	b, known, err := c.appendValue(append(b, c.member...), field)
	if err == nil && !known {
		b = append(b, "null"...)
	}
	return b, err
}

// setOf adds the set of a row that was created, or whose set was replaced.
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

// assigned sets a field to the value of a column and returns it. The field is a pointer that the
// image owns.
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

// appendField appends the value of a field as JSON, in the form of a journal. known is false for
// null. Common types need no reflection and no allocation.
func appendField(b []byte, field any) (_ []byte, known bool, err error) {
	switch p := field.(type) {
	case *int64:
		return strconv.AppendInt(b, *p, 10), true, nil
	case *bool:
		return strconv.AppendBool(b, *p), true, nil
	case *string:
		return appendJSONText(b, cutText(*p)), true, nil
	case **string:
		if *p == nil {
			return b, false, nil
		}
		return appendJSONText(b, cutText(**p)), true, nil
	case **int64:
		if *p == nil {
			return b, false, nil
		}
		return strconv.AppendInt(b, **p, 10), true, nil
	case *millis:
		return appendDate(b, (*time.Time)(p)), true, nil
	case optionalMillis:
		if *p.field == nil {
			return b, false, nil
		}
		return appendDate(b, *p.field), true, nil
	case *millisOrZero:
		if (*time.Time)(p).IsZero() {
			return b, false, nil
		}
		return appendDate(b, (*time.Time)(p)), true, nil
	case *attributes:
		if len(*p) == 0 {
			return b, false, nil
		}
	case fmt.Stringer:
		if t := reflect.TypeOf(field); t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Int32 {
			return appendJSONText(b, p.String()), true, nil
		}
	}
	value := journalValue(field)
	if value == nil {
		return b, false, nil
	}
	b, err = appendJSON(b, value)
	return b, true, err
}

// appendDate appends a date in journalDate form. Parsing the layout takes the standard library
// several times as long.
func appendDate(b []byte, date *time.Time) []byte {
	t := date.UTC()
	year, month, day := t.Date()
	if year < 1000 || year > 9999 {
		return append(t.AppendFormat(append(b, '"'), journalDate), '"')
	}
	hour, minute, second := t.Clock()
	two := func(n int, after byte) { b = append(b, byte('0'+n/10), byte('0'+n%10), after) }
	b = append(strconv.AppendInt(append(b, '"'), int64(year), 10), '-')
	two(int(month), '-')
	two(day, 'T')
	two(hour, ':')
	two(minute, ':')
	two(second, '.')
	ms := t.Nanosecond() / 1e6
	return append(b, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}

// journalValue returns the value of a field in the form of a journal; nil means none.
func journalValue(field any) any {
	switch p := field.(type) {
	case *int64:
		return *p
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

// bytesValue represents bytes by their number.
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

// cutText truncates a text that is too long and appends its length.
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

// camelCase converts the name of a column to that of a property.
func camelCase(column string) string {
	words := strings.Split(column, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}
