// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An SQL is a statement, or a part of one, with the values that it binds. Except for a usual Limit,
// values never become part of the text: statements that differ only in their values have the same
// text, so that the drivers prepare it once.
type SQL struct {
	text string
	args []any
	// fixed is true if every argument is a value, so that the finished text depends only on the
	// text.
	fixed bool
}

// A Name is an argument that is inserted into the text: the name of a table or a column. It must
// not come from outside the program.
type Name string

// New returns an SQL. Each question mark in text stands for the next of args: an SQL and a Name are
// inserted, and a Limit may be; any other value is bound.
func New(text string, args ...any) SQL { return SQL{text: text, args: args} }

// And appends more text and arguments.
func (s SQL) And(text string, args ...any) SQL {
	return SQL{text: s.text + text, args: append(slices.Clip(s.args), args...)}
}

// Join connects parts by a separator.
func Join(parts []SQL, separator string) SQL {
	args := make([]any, len(parts))
	for i, part := range parts {
		args[i] = part
	}
	return SQL{text: Repeat("?", len(parts), separator), args: args}
}

// Repeat returns a text n times with a separator in between.
func Repeat(text string, n int, separator string) string {
	if n == 0 {
		return ""
	}
	return strings.Repeat(text+separator, n-1) + text
}

// A Key is a value that In can look for.
type Key interface{ int32 | int64 | string }

// keyList is the argument type of In and Keys for keys.
type keyList interface {
	write(w *statementWriter, column string)
	table(w *statementWriter)
}

type keys[K Key] []K

// In returns the condition "column is one of keys" for any number of keys. Without keys the
// condition is false.
//
// Several keys are bound as one array on PostgreSQL. On SQLite a short list is a list of
// parameters, whose number is rounded up, and a long one a JSON document. So there are few
// different texts, and neither a limit on parameters nor the planning time depends on the number of
// keys.
func In[K Key](column string, list []K) SQL {
	return New("?", inList{column, keys[K](list)})
}

// Keys returns a table "k" with a column "value" that contains the keys, bound as one value.
func Keys[K Key](list []K) SQL {
	return New("?", keyTable{keys[K](list)})
}

type inList struct {
	column string
	keys   keyList
}

type keyTable struct{ keys keyList }

// listSizes are the numbers of parameters of short lists on SQLite.
var listSizes = [...]int{4, 16, 64}

func (k keys[K]) write(w *statementWriter, column string) {
	switch {
	case len(k) == 0:
		w.text("1 = 0")
		return
	case len(k) == 1:
		w.text(column)
		w.text(" = ")
		w.bind(k[0])
		return
	case w.engine == PostgreSQL:
		w.text(column)
		w.text(" = ANY (")
		w.bind([]K(k))
		w.text(")")
		return
	}
	w.text(column)
	w.text(" IN (")
	for _, size := range listSizes {
		if len(k) > size {
			continue
		}
		for i := range size {
			if i > 0 {
				w.text(", ")
			}
			// Repeating the last key has no effect.
			w.bind(k[min(i, len(k)-1)])
		}
		w.text(")")
		return
	}
	w.text("SELECT value FROM json_each(")
	w.bindJSON([]K(k))
	w.text("))")
}

func (k keys[K]) table(w *statementWriter) {
	if w.engine == SQLite {
		w.text("json_each(")
		w.bindJSON([]K(k))
		w.text(") AS k")
		return
	}
	kind := "bigint[]"
	switch any(k).(type) {
	case keys[string]:
		kind = "text[]"
	case keys[int32]:
		kind = "integer[]"
	}
	w.text("unnest(CAST(")
	w.bind([]K(k))
	w.text(" AS " + kind + ")) AS k (value)")
}

// A Pair is a key of two numbers.
type Pair [2]int64

type pairList struct {
	columns [2]string
	pairs   []Pair
}

// InPairs returns the condition "the two columns are one of the pairs" for any number of pairs.
// Without pairs the condition is false. See In.
func InPairs(first, second string, pairs []Pair) SQL {
	return New("?", pairList{[2]string{first, second}, pairs})
}

func (l pairList) write(w *statementWriter) {
	switch {
	case len(l.pairs) == 0:
		w.text("1 = 0")
		return
	case len(l.pairs) == 1:
		w.text("(" + l.columns[0] + " = ")
		w.bind(l.pairs[0][0])
		w.text(" AND " + l.columns[1] + " = ")
		w.bind(l.pairs[0][1])
		w.text(")")
		return
	}
	w.text("(" + l.columns[0] + ", " + l.columns[1] + ") IN (SELECT ")
	if w.engine == SQLite {
		w.text("json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(")
		w.bindJSON(l.pairs)
		w.text("))")
		return
	}
	var columns [2][]int64
	for _, pair := range l.pairs {
		columns[0], columns[1] = append(columns[0], pair[0]), append(columns[1], pair[1])
	}
	w.text("* FROM unnest(CAST(")
	w.bind(columns[0])
	w.text(" AS bigint[]), CAST(")
	w.bind(columns[1])
	w.text(" AS bigint[])))")
}

// PairTables returns tables "k" that together have a row for each of the pairs, with its position
// "i" and its numbers "first" and "second": one table on PostgreSQL; on SQLite, where the rows are
// parameters, one per few dozen.
func PairTables(r Reader, pairs []Pair) iter.Seq[SQL] {
	return func(yield func(SQL) bool) {
		if len(pairs) == 0 {
			return
		}
		if EngineOf(r) == PostgreSQL {
			var columns [2][]int64
			for _, pair := range pairs {
				columns[0], columns[1] = append(columns[0], pair[0]), append(columns[1], pair[1])
			}
			yield(New("(SELECT n - 1 AS i, first, second FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) WITH ORDINALITY AS u (first, second, n)) AS k",
				columns[0], columns[1]))
			return
		}
		for start := 0; start < len(pairs); {
			n := RowsPerStatement(len(pairs) - start)
			args := make([]any, 0, 3*n)
			for i := start; i < start+n; i++ {
				args = append(args, i, pairs[i][0], pairs[i][1])
			}
			start += n
			// SQLite has its own column names for VALUES.
			if !yield(Rows("(SELECT column1 AS i, column2 AS first, column3 AS second FROM (VALUES ", "(?, ?, ?)", n, ")) AS k", args)) {
				return
			}
		}
	}
}

// A Limit is an argument for LIMIT. PostgreSQL makes a new plan for each run of a statement that
// binds its limit, because a generic plan assumes a tenth of the rows. So a usual limit is inserted
// into a statement without other bound values, which then has one plan. A statement that binds
// other values keeps a plan for them.
type Limit int64

// usualLimits are the common limits of callers. Each results in a separate text.
var usualLimits = [...]Limit{1, 10, 20, 25, 50, 100, 200, 500, 1000}

func (l Limit) write(w *statementWriter) {
	if w.engine == PostgreSQL && len(w.values) == 0 && slices.Contains(usualLimits[:], l) {
		w.b = strconv.AppendInt(w.b, int64(l), 10)
		return
	}
	w.bind(int64(l))
}

// Rows returns a statement that repeats the text of a row n times, between a head and a tail. All
// arguments are values. It is for frequent statements with many rows: their texts are cached.
func Rows(head, row string, n int, tail string, args []any) SQL {
	key := rowsKey{head, row, n, tail}
	text, ok := rowsTexts.Load(key)
	if !ok {
		text, _ = rowsTexts.LoadOrStore(key, head+Repeat(row, n, ", ")+tail)
	}
	return SQL{text: text.(string), args: args, fixed: true}
}

// rowsTexts and fixedTexts cache the texts of Rows, raw and finished for PostgreSQL. There are a
// few for each statement of the program.
var rowsTexts, fixedTexts sync.Map

type rowsKey struct {
	head, row string
	n         int
	tail      string
}

// RowsPerStatement returns how many of n rows to put into the next statement, so that a few texts
// suffice for any number of rows.
func RowsPerStatement(n int) int {
	for _, size := range []int{64, 16, 4} {
		if n >= size {
			return size
		}
	}
	return min(n, 1)
}

// statementWriter writes the text of a statement for one engine and collects its values.
type statementWriter struct {
	engine Engine
	b      []byte
	values []any
	err    error
}

// render returns the text of a statement for an engine, and its values.
func (s SQL) render(engine Engine) (text string, values []any, err error) {
	if s.fixed && (engine == PostgreSQL || !slices.ContainsFunc(s.args, isEmptyBytes)) {
		return s.fixedText(engine), s.args, checkValues(s.args)
	}
	w := statementWriter{engine: engine, b: make([]byte, 0, 2*len(s.text)), values: make([]any, 0, len(s.args))}
	w.write(s)
	if w.err == nil {
		w.err = checkValues(w.values)
	}
	return string(w.b), w.values, w.err
}

// fixedText returns the text of a statement whose arguments are all values.
func (s SQL) fixedText(engine Engine) string {
	if engine == SQLite {
		return s.text
	}
	if text, ok := fixedTexts.Load(s.text); ok {
		return text.(string)
	}
	w := statementWriter{engine: engine}
	w.write(SQL{text: s.text, args: s.args})
	text, _ := fixedTexts.LoadOrStore(s.text, string(w.b))
	return text.(string)
}

// isEmptyBytes reports whether a value is an empty []byte, which the SQLite driver would bind as
// NULL.
func isEmptyBytes(value any) bool {
	b, ok := value.([]byte)
	return ok && b != nil && len(b) == 0
}

func (w *statementWriter) write(s SQL) {
	rest := s.text
	for _, arg := range s.args {
		before, after, found := strings.Cut(rest, "?")
		if !found {
			panic(fmt.Sprintf("sqldb: %d arguments are too many for %q", len(s.args), s.text))
		}
		w.text(before)
		w.argument(arg)
		rest = after
	}
	if strings.Contains(rest, "?") {
		panic(fmt.Sprintf("sqldb: %d arguments are too few for %q", len(s.args), s.text))
	}
	w.text(rest)
}

func (w *statementWriter) argument(arg any) {
	switch a := arg.(type) {
	case SQL:
		w.write(a)
	case Name:
		w.text(string(a))
	case inList:
		a.keys.write(w, a.column)
	case keyTable:
		a.keys.table(w)
	case pairList:
		a.write(w)
	case Limit:
		a.write(w)
	default:
		w.bind(arg)
	}
}

func (w *statementWriter) text(text string) { w.b = append(w.b, text...) }

// bind adds a value as a parameter.
func (w *statementWriter) bind(value any) {
	if w.engine == PostgreSQL {
		w.values = append(w.values, value)
		w.b = strconv.AppendInt(append(w.b, '$'), int64(len(w.values)), 10)
		return
	}
	if isEmptyBytes(value) {
		w.text("x''")
		return
	}
	w.values = append(w.values, value)
	// SQLite may plan with the value of a bare parameter, as after LIMIT, and then recompiles the
	// statement for each run.
	w.b = append(w.b, "+?"...)
}

// bindJSON binds a list of keys as one parameter. It checks texts, because the document would hide
// invalid ones.
func (w *statementWriter) bindJSON(list any) {
	if err := checkValues([]any{list}); err != nil && w.err == nil {
		w.err = err
	}
	document, err := json.Marshal(list)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.bind(string(document))
}
