// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
)

// A Function is an operation for code inside the process.
type Function struct {
	// Group and Name are its name: users.query for GET /users, users.queryPage for GET /users/page.
	Group, Name string
	Operation   *Operation
	// Selectors are the lists among the parameters that select the records of a change. All is the
	// parameter that can select all of them, a bool by being true, a list by its absence; empty if
	// there is none.
	Selectors []string
	All       string
	// Input is a struct with the parameters by name and the body as body. Result is the type of the
	// data, nil if there is none.
	Input, Result reflect.Type
}

// bodyMember is what the body is called among the members of an input.
const bodyMember = "body"

// Functions returns the operations that Invoke supports: all except forms, streams and the
// documentation, which need a connection.
func (a *API) Functions() []Function {
	bases := map[string]string{} // of each tag, the path that its operations share
	for _, op := range a.ops {
		if base, known := bases[op.Tag]; known {
			bases[op.Tag] = sharedPath(base, op.Path)
		} else {
			bases[op.Tag] = op.Path
		}
	}
	var list []Function
	for _, op := range a.ops {
		if !op.invocable() {
			continue
		}
		base := bases[op.Tag]
		f := Function{
			Group: camelPath(base), Name: functionVerbs[op.Method] + capital(camelPath(strings.TrimPrefix(op.Path, base))),
			Operation: op, Input: op.inputType(), Result: op.resultType(),
		}
		for _, p := range op.input().params {
			if p.selector && p.kind == kindList && op.Method != http.MethodGet {
				f.Selectors = append(f.Selectors, p.name)
			}
			if p.all {
				f.All = p.name
			}
		}
		if base == "" {
			f.Group = lower(strings.TrimSuffix(op.Tag, "Controller"))
		}
		list = append(list, f)
	}
	return list
}

var functionVerbs = map[string]string{
	http.MethodGet: "query", http.MethodHead: "check", http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete",
}

// sharedPath returns the longest common prefix of whole segments.
func sharedPath(a, b string) string {
	n := 0
	for i := 0; ; i++ {
		endA, endB := i == len(a) || a[i] == '/', i == len(b) || b[i] == '/'
		if endA && endB {
			n = i
		}
		if i == len(a) || i == len(b) || a[i] != b[i] {
			return a[:n]
		}
	}
}

// camelPath joins the words of a path in camel case.
func camelPath(path string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(path, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if b.Len() > 0 {
			word = capital(word)
		}
		b.WriteString(word)
	}
	return b.String()
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

var streamType = reflect.TypeFor[Stream]()

// invocable reports whether Invoke supports the operation.
func (op *Operation) invocable() bool {
	return op.input().formIndex == nil && op.outType != streamType && op.Tag != documentationTag.Name
}

// inputType is the type of the JSON that Invoke reads.
func (op *Operation) inputType() reflect.Type {
	var fields []reflect.StructField
	add := func(name string, t reflect.Type) {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", len(fields)), Type: t, Tag: reflect.StructTag(fmt.Sprintf(`json:"%s,omitempty"`, name)),
		})
	}
	for _, p := range op.input().params {
		add(p.name, op.inType.FieldByIndex(p.index).Type)
	}
	if op.input().body != nil {
		add(bodyMember, op.inType.FieldByIndex(op.input().bodyIndex).Type)
	}
	return reflect.StructOf(fields)
}

// resultType is the type of the JSON that Invoke returns.
func (op *Operation) resultType() reflect.Type {
	t := op.outType
	if v, ok := reflect.Zero(t).Interface().(versioned); ok {
		t = v.dataType()
	}
	if v, ok := reflect.Zero(t).Interface().(optional); ok {
		t = v.dataType()
	}
	switch t {
	case reflect.TypeFor[Done](), reflect.TypeFor[NoContent](), reflect.TypeFor[Maybe]():
		return nil
	case reflect.TypeFor[*Download](), reflect.TypeFor[*Raw]():
		return reflect.TypeFor[string]()
	}
	return t
}

// NoGrant returns the error for a plugin without a permission, with what as "call deleteUsers".
func NoGrant(by *Principal, p permission.Permission, what string) error {
	return unauthorized("plugin %q has no grant for the permission %s, which it needs to %s: its descriptor does not declare it in permissions (app.plugin.grants.mode)",
		by.Plugin, p, what)
}

// ByPlugin returns the principal of a plugin, with all permissions unless they are limited
// afterwards.
func ByPlugin(id, version, onBehalfOf string) *Principal {
	return &Principal{
		ID: RootID, LoginName: "plugin:" + id, Permissions: rootPrincipal.Permissions,
		Plugin: id, PluginVersion: version, OnBehalfOf: onBehalfOf,
	}
}

// ByRoot returns the root administrator, for code inside the process that acts as the operator.
func ByRoot(loginName string) *Principal {
	return &Principal{ID: RootID, LoginName: loginName, Permissions: rootPrincipal.Permissions}
}

// Invoke runs an operation for code inside the process, with the same rules and record as a
// request, but without a connection, a rate limit and credentials. The input is a JSON object with
// the parameters by name and the body as body; the result is the JSON of the data, nil if there is
// none. Files are base64. Errors are *apierr.Error.
func (a *API) Invoke(ctx context.Context, by *Principal, operation string, input []byte) (result []byte, err error) {
	op := a.operation(operation)
	if op == nil || !op.invocable() {
		return nil, illegal("there is no operation %q that can be called from inside", clip(operation))
	}
	settings := a.opts.Settings()
	rec := &Record{Admin: by, RequestID: rand.Text(), Time: a.opts.Now(), Action: op.ID, Method: op.Method, Path: op.Path}
	var trail endAct
	watched := by.Plugin == "" && a.opts.Watcher != nil && a.opts.Watcher.Wants()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		rec.Code, rec.Status, rec.Err = apierr.OK, http.StatusOK, err
		if err != nil {
			if a.opts.Translate != nil {
				err = a.opts.Translate(err)
			}
			e := apierr.From(err)
			if e.Code == apierr.ServerInternalError {
				a.opts.Logger.Error("an operation from inside failed", "requestId", rec.RequestID, "by", by.LoginName, "operation", op.ID, "error", err)
			}
			rec.Code, rec.Status, err = e.Code, e.HTTP(), e
		}
		if op.writes() {
			if trail == nil {
				_, trail = a.beginAct(ctx, rec)
			}
			trail(ctx, rec.Code, rec.Status, err)
		}
		rec.Processing = a.opts.Now().Sub(rec.Time)
		a.tell(ctx, rec, settings, watched)
	}()
	if op.Enabled != nil && !op.Enabled() {
		return nil, illegal("the operation %q is switched off", op.ID)
	}
	if op.Access == Privileged && !by.Permissions.Has(op.Permission) {
		if by.Plugin != "" {
			return nil, NoGrant(by, op.Permission, "call "+op.ID)
		}
		return nil, unauthorized("the permission %s is needed", op.Permission)
	}
	in, params, err := op.readMembers(input, settings)
	if err != nil {
		return nil, err
	}
	rec.Params = params
	if op.writes() {
		ctx, trail = a.beginAct(ctx, rec)
	}
	out, err := op.run(WithRequester(ctx, by), in)
	if err != nil {
		return nil, err
	}
	return encodeResult(out)
}

// operation finds an operation by its id.
func (a *API) operation(id string) *Operation {
	for _, op := range a.ops {
		if op.ID == id {
			return op
		}
	}
	return nil
}

// readMembers fills a new value of the input type from a JSON object.
func (op *Operation) readMembers(data []byte, s *Settings) (in any, params map[string]any, err error) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	raw := jsontext.Value(data)
	if !raw.IsValid() || raw.Kind() != '{' {
		return nil, nil, illegal("the input of %s must be a JSON object", op.ID)
	}
	given := map[string]jsontext.Value{}
	if err := members(raw, func(name string, value jsontext.Value) error {
		if op.input().param(name) == nil && (name != bodyMember || op.input().body == nil) {
			return illegal("%s has no parameter %q", op.ID, clip(name))
		}
		given[name] = value.Clone() // The decoder reuses its buffer.
		return nil
	}); err != nil {
		return nil, nil, err
	}
	ptr := reflect.New(op.inType)
	v := ptr.Elem()
	selected := false
	for _, p := range op.input().params {
		field := v.FieldByIndex(p.index)
		value, ok := given[p.name]
		if ok = ok && value.Kind() != 'n'; ok {
			if err := p.setJSON(field, value, "parameter "+p.name, 0); err != nil {
				return nil, nil, err
			}
			selected = selected || p.selector && p.selects(field)
		} else if p.required {
			return nil, nil, illegal("parameter %q: is required", p.name)
		} else if p.hasDefault {
			if err := p.setText(field, p.defaultText); err != nil {
				return nil, nil, err
			}
		}
	}
	if op.input().body != nil {
		if body, ok := given[bodyMember]; ok || op.input().bodyRequired {
			if err := op.input().body.decodeBody(body, v.FieldByIndex(op.input().bodyIndex)); err != nil {
				return nil, nil, err
			}
		}
	}
	op.input().resolvePaging(v, s)
	if op.Method == http.MethodDelete && !selected && !s.AllowDeleteWithoutFilter {
		return nil, nil, apierr.New(apierr.NoFilterForDeleteOperation, "")
	}
	return ptr.Interface(), op.input().describe(v), nil
}

// maxInvokedDownload bounds a file that is returned as a value.
const maxInvokedDownload = 64 << 20

// encodeResult is the JSON of what an operation returned.
func encodeResult(result any) ([]byte, error) {
	switch v := result.(type) {
	case nil, Done, NoContent, Maybe:
		return nil, nil
	case optional:
		data, ok := v.get()
		if !ok {
			return nil, nil
		}
		return appendJSON(nil, data)
	case versioned:
		data, _ := v.unwrap()
		return encodeResult(data)
	case *Raw:
		if v.Gzipped {
			return nil, illegal("the result cannot be returned as a value")
		}
		return json.Marshal(string(v.Body))
	case *Download:
		defer v.Content.Close()
		data, err := io.ReadAll(io.LimitReader(v.Content, maxInvokedDownload+1))
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", v.Name, err)
		}
		if len(data) > maxInvokedDownload {
			return nil, illegal("%q has more than %d bytes", v.Name, maxInvokedDownload)
		}
		return json.Marshal(base64.StdEncoding.EncodeToString(data))
	}
	if v := reflect.ValueOf(result); v.Kind() == reflect.Slice && v.IsNil() {
		return []byte("[]"), nil
	}
	return appendJSON(nil, result)
}
