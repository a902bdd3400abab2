// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DistributionKeys maps each table of users and conversations to the column by which a distributed
// database can shard it. The column is part of the primary key, and each frequent statement
// restricts it to values.
var DistributionKeys = map[string]string{
	"conversation_setting":      "owner_id",
	"group_blocked_user":        "group_id",
	"group_conversation":        "group_id",
	"group_member":              "group_id",
	"group_version":             "group_id",
	"im_group":                  "id",
	"message":                   "target_id",
	"message_key":               "sender_id",
	"message_sequence":          "first_id",
	"private_conversation":      "owner_id",
	"relationship":              "owner_id",
	"relationship_group":        "owner_id",
	"relationship_group_member": "owner_id",
	"user_account":              "id",
	"user_setting":              "user_id",
	"user_version":              "user_id",
}

// ReferenceTables are small and rarely written: every server of a distributed database has a copy.
var ReferenceTables = []string{
	"admin", "admin_role", "admin_role_member", "admin_role_permission", "admin_token", "blocked_ip", "blocked_user", "cluster_plugin", "cluster_value",
	"event_consumer", "group_type", "job", "leader_fence", "node_number", "plugin_chunk", "plugin_file", "plugin_grant", "plugin_rollout", "plugin_slot",
	"plugin_version", "revision", "setting_revision", "user_role",
}

// WithoutKey parses a statement as this program writes it, with keywords in upper case. It returns
// the reasons why the statement cannot run only on the servers that have its rows: the tables whose
// distribution key it does not bind to values, and those that have none. A key is bound if it is
// equal to a parameter, to an element of a list, to a column of a list that is part of the
// statement, or to another bound key.
func WithoutKey(statement string) []string {
	a := analysis{faults: map[string]bool{}}
	a.statement(scan(statement), nil)
	return slices.Sorted(maps.Keys(a.faults))
}

// analysis collects the result of WithoutKey.
type analysis struct{ faults map[string]bool }

// A scope contains the tables of a query and of the outer queries.
type scope struct {
	outer *scope
	// tables are by alias; "" is a list or a subquery, whose columns are values.
	tables map[string]string
	// bound are the columns, with alias, that are equal to values.
	bound map[string]bool
}

// isBound reports whether a column is bound to values.
func (s *scope) isBound(column string) bool {
	alias, _, _ := strings.Cut(column, ".")
	for ; s != nil; s = s.outer {
		if table, ok := s.tables[alias]; ok {
			return table == "" || s.bound[column]
		}
	}
	return false
}

// qualified returns a column with its alias, which may be omitted if there is only one table.
func (s *scope) qualified(column string) string {
	if !strings.Contains(column, ".") && len(s.tables) == 1 {
		for alias := range s.tables {
			return alias + "." + column
		}
	}
	return column
}

// statement checks a statement, or a query in parentheses.
func (a *analysis) statement(tokens []string, outer *scope) {
	if len(tokens) == 0 {
		return
	}
	switch tokens[0] {
	case "WITH":
		// A common table expression would require its columns; no statement of the program has one.
		a.faults["WITH is not understood"] = true
	case "SELECT":
		for _, part := range split(tokens, "UNION") {
			a.query(part, outer)
		}
	case "INSERT":
		a.insert(tokens, outer)
	case "UPDATE":
		a.query(append([]string{"SELECT", "FROM"}, tokens[1:]...), outer)
	case "DELETE":
		a.query(append([]string{"SELECT"}, tokens[1:]...), outer)
	}
}

// insert checks the list of columns, and the query after it, if any.
func (a *analysis) insert(tokens []string, outer *scope) {
	table := tokens[2]
	open := slices.Index(tokens, "(")
	end := closing(tokens, open)
	key, ok := a.keyOf(table)
	if ok && !slices.Contains(tokens[open:end], key) {
		a.faults[table+" lacks "+key] = true
	}
	if rest := tokens[end+1:]; len(rest) > 0 && rest[0] == "SELECT" {
		a.statement(split(rest, "ON")[0], outer)
	}
}

// clauses are the keywords that end the tables or the conditions of a query.
var clauses = []string{"WHERE", "GROUP", "ORDER", "LIMIT", "OFFSET", "RETURNING", "SET", "FOR", "HAVING"}

// query checks one SELECT, or an UPDATE or DELETE that was converted to one.
func (a *analysis) query(tokens []string, outer *scope) {
	s := &scope{outer: outer, tables: map[string]string{}, bound: map[string]bool{}}
	conditions := a.tables(clause(tokens, "FROM"), s)
	conditions = append(conditions, clause(tokens, "WHERE"))
	for before := -1; before < len(s.bound); { // A bound column binds the columns that are equal to it.
		before = len(s.bound)
		for _, condition := range conditions {
			maps.Copy(s.bound, s.equal(condition))
		}
	}
	for alias, table := range s.tables {
		if table == "" {
			continue
		}
		if key, ok := a.keyOf(table); ok && !s.bound[alias+"."+key] {
			a.faults[table+" lacks "+key] = true
		}
	}
	for i, token := range tokens {
		if token == "(" && i+1 < len(tokens) && tokens[i+1] == "SELECT" && depth(tokens[:i]) == 0 {
			a.statement(tokens[i+1:closing(tokens, i)], s)
		} else if token == "(" && depth(tokens[:i]) == 0 {
			a.nested(tokens[i+1:closing(tokens, i)], s)
		}
	}
}

// nested checks the queries inside an expression in parentheses.
func (a *analysis) nested(tokens []string, s *scope) {
	for i := 0; i < len(tokens); i++ {
		if tokens[i] != "(" {
			continue
		}
		end := closing(tokens, i)
		if inner := tokens[i+1 : end]; len(inner) > 0 && inner[0] == "SELECT" {
			a.statement(inner, s)
		} else {
			a.nested(inner, s)
		}
		i = end
	}
}

// keyOf returns the distribution key of a table, or false if it needs none.
func (a *analysis) keyOf(table string) (string, bool) {
	key, ok := DistributionKeys[table]
	if !ok && !slices.Contains(ReferenceTables, table) {
		a.faults[table+" has no distribution key"] = true
	}
	return key, ok
}

// tables adds the tables of a FROM clause and returns the conditions of its joins.
func (a *analysis) tables(from []string, s *scope) (conditions [][]string) {
	for len(from) > 0 {
		var alias string
		switch from[0] {
		case ",", "JOIN", "CROSS", "INNER", "LEFT", "LATERAL":
			from = from[1:]
			continue
		case "ON":
			end := slices.IndexFunc(from, func(token string) bool { return token == "JOIN" || token == "CROSS" || token == "LEFT" || token == "," })
			// A comma inside parentheses does not end it.
			for end >= 0 && depth(from[:end]) > 0 {
				next := slices.IndexFunc(from[end+1:], func(token string) bool { return token == "JOIN" || token == "CROSS" || token == "LEFT" || token == "," })
				if next < 0 {
					end = -1
					break
				}
				end += 1 + next
			}
			if end < 0 {
				end = len(from)
			}
			conditions = append(conditions, from[1:end])
			from = from[end:]
			continue
		case "(":
			// A subquery: it is checked with those in other places.
			from = from[closing(from, 0)+1:]
			alias, from = aliasOf(from, "")
			s.tables[alias] = ""
			continue
		}
		table := from[0]
		from = from[1:]
		if len(from) > 0 && from[0] == "(" { // A function, whose result is a list.
			from = from[closing(from, 0)+1:]
			for len(from) > 1 && from[0] == "WITH" {
				from = from[2:]
			}
			table = ""
		}
		alias, from = aliasOf(from, table)
		if len(from) > 0 && from[0] == "(" { // The column names of a list.
			from = from[closing(from, 0)+1:]
		}
		s.tables[alias] = table
	}
	return conditions
}

// aliasOf reads the alias of a table, which is its name if there is none.
func aliasOf(tokens []string, name string) (alias string, rest []string) {
	if len(tokens) > 1 && tokens[0] == "AS" {
		return tokens[1], tokens[2:]
	}
	return name, tokens
}

// equal returns the columns that are equal to values if a condition holds.
func (s *scope) equal(condition []string) map[string]bool {
	for len(condition) > 1 && condition[0] == "(" && closing(condition, 0) == len(condition)-1 {
		condition = condition[1 : len(condition)-1]
	}
	if parts := split(condition, "OR"); len(parts) > 1 {
		all := s.equal(parts[0])
		for _, part := range parts[1:] {
			other := s.equal(part)
			maps.DeleteFunc(all, func(column string, _ bool) bool { return !other[column] })
		}
		return all
	}
	found := map[string]bool{}
	if parts := split(condition, "AND"); len(parts) > 1 {
		for _, part := range parts {
			maps.Copy(found, s.equal(part))
		}
		return found
	}
	if len(condition) < 3 {
		return found
	}
	known := func(term string) bool {
		return strings.HasPrefix(term, "$") || s.isBound(term)
	}
	switch first, operator, second := condition[0], condition[1], condition[2]; {
	case operator == "=" && len(condition) == 3:
		if known(second) {
			found[s.qualified(first)] = true
		}
		if known(first) {
			found[s.qualified(second)] = true
		}
	case operator == "=" && second == "ANY" && len(condition) == 6 && known(condition[4]):
		found[s.qualified(first)] = true
	case operator == "IN" && !slices.Contains(condition[2:], "SELECT"):
		found[s.qualified(first)] = true
	case first == "(":
		end := closing(condition, 0)
		// A row of columns that is an element of a list.
		if rest := condition[end+1:]; len(rest) > 5 && rest[0] == "IN" && slices.Equal(rest[2:6], []string{"SELECT", "*", "FROM", "unnest"}) {
			for _, column := range condition[1:end] {
				if column != "," {
					found[s.qualified(column)] = true
				}
			}
		}
	}
	return found
}

// clause returns the tokens of a clause.
func clause(tokens []string, name string) []string {
	for i, token := range tokens {
		if token != name || depth(tokens[:i]) != 0 {
			continue
		}
		end := i + 1
		for end < len(tokens) && (depth(tokens[i:end]) != 0 || !slices.Contains(clauses, tokens[end])) {
			end++
		}
		return tokens[i+1 : end]
	}
	return nil
}

// split splits tokens at a word that is not inside parentheses.
func split(tokens []string, word string) (parts [][]string) {
	start, level := 0, 0
	for i, token := range tokens {
		switch {
		case token == "(":
			level++
		case token == ")":
			level--
		case token == word && level == 0:
			parts = append(parts, tokens[start:i])
			start = i + 1
			if word == "UNION" && start < len(tokens) && tokens[start] == "ALL" {
				start++
			}
		}
	}
	return append(parts, tokens[start:])
}

// depth returns the number of open parentheses after tokens.
func depth(tokens []string) (n int) {
	for _, token := range tokens {
		switch token {
		case "(":
			n++
		case ")":
			n--
		}
	}
	return n
}

// closing returns the position of the parenthesis that closes the one at a position.
func closing(tokens []string, open int) int {
	for i := open; i < len(tokens); i++ {
		if depth(tokens[open:i+1]) == 0 {
			return i
		}
	}
	panic(fmt.Sprintf("no parenthesis closes that at %d of %q", open, tokens))
}

// punctuation are the characters that are separate tokens.
const punctuation = "(),=<>*+-/|[];"

// scan splits a statement into words and punctuation.
func scan(text string) (tokens []string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t':
			i++
		case strings.IndexByte(punctuation, c) >= 0:
			tokens = append(tokens, text[i:i+1])
			i++
		case c == '\'':
			end := i + 1 + strings.IndexByte(text[i+1:], '\'')
			tokens = append(tokens, text[i:end+1])
			i = end + 1
		default:
			end := i
			for end < len(text) && !strings.ContainsRune(" \n\t'"+punctuation, rune(text[end])) {
				end++
			}
			tokens = append(tokens, text[i:end])
			i = end
		}
	}
	return tokens
}
