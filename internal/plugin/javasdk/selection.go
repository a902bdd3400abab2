// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.org/app/internal/plugin/typings"
)

// deleteMethod is the HTTP method of deletions.
const deleteMethod = "delete"

// needsSelection reports whether an operation is only called with records that it applies to: a
// deletion, and any other change that selects records by parameters of which none is required.
func needsSelection(op typings.Operation) bool {
	required := slices.ContainsFunc(op.Inputs(), func(p typings.Parameter) bool { return p.Required && slices.Contains(op.Selectors, p.Name) })
	return len(op.Selectors) > 0 && (op.Method == deleteMethod || !required)
}

// selectsAll reports whether a parameter selects all records by being true.
func selectsAll(op typings.Operation, p typings.Parameter) bool {
	return p.Name == op.All && p.Schema.Type == "boolean"
}

// selectsAlone reports whether an operation is only called with this parameter.
func selectsAlone(op typings.Operation, p typings.Parameter) bool {
	return needsSelection(op) && len(op.Selectors) == 1 && op.Selectors[0] == p.Name
}

// absentAll matches the description of an absent parameter that means all records. The method for
// all records replaces it.
var absentAll = regexp.MustCompile(`; absent: all\b[^.]*\.`)

// check makes the method refuse an input that selects nothing.
func (m *apiMethod) check(f *file) {
	all, hint := "null", "."
	if m.op.All != "" {
		all, hint = strconv.Quote(allName(m.name)), "; {@link #"+allName(m.name)+"()} is for all."
	}
	m.first = fmt.Sprintf(`%s.requireSelection(input, %s, "%s")`, f.use(basePackage+".spi", "Operations"), all, strings.Join(m.op.Selectors, `", "`))
	m.docs = append(slices.Clone(m.docs), "<p>An input that selects nothing is refused"+hint)
	m.throws = []string{"@throws IllegalArgumentException if the input selects nothing"}
}

// allName returns the name of the method that applies an operation to all records: deleteAllTokens
// for deleteTokens.
func allName(name string) string {
	for _, verb := range []string{"delete", "update"} {
		if rest, ok := strings.CutPrefix(name, verb); ok {
			return verb + "All" + rest
		}
	}
	return name + "All"
}

// all writes the methods that apply an operation to all records. Their input is what does not
// select.
func (a *admin) all(f *file, m apiMethod) error {
	rest, given := m.op, ""
	rest.Parameters = slices.DeleteFunc(slices.Clone(m.op.Parameters), func(p typings.Parameter) bool {
		if selectsAll(m.op, p) {
			given = fmt.Sprintf("java.util.Map.of(%q, true)", p.Name)
		}
		return p.Name == m.op.All || slices.Contains(m.op.Selectors, p.Name)
	})
	first := "The same as {@link #" + m.name + "}, for all instead of selected ones."
	if given == "" && m.op.Method == deleteMethod {
		first += " The server refuses it unless <code>app.service.admin-api.allow-delete-without-filter</code> is true."
	}
	docs := append([]string{first}, m.docs[1:]...)
	m = apiMethod{op: rest, name: allName(m.name), result: m.result, convert: m.convert, docs: docs, arg: given}
	m.write(f)
	if len(rest.Inputs()) == 0 && rest.RequestBody == nil {
		return nil
	}
	if given != "" || rest.NeedsInput() {
		return errors.New("all are selected with further parameters, for which there is no method")
	}
	class := capital(allName(rest.OperationID))
	m.param, m.doc, m.arg = class+" input", "the parameters", "input.toJson()"
	m.write(f)
	return a.input(f.pkg, class, rest)
}
