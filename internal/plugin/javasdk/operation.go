// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/app/internal/plugin/typings"
)

// An admin writes the operations of the admin interface and the types that they refer to.
type admin struct {
	*typings.Catalogue
	// given are the types that plugins create, got those that the server creates.
	given, got map[string]bool
	// resources are those of the groups, packages the packages of the types.
	resources map[string]resource
	packages  map[string]string
	files     []*file
}

func operations(apis []typings.API) (*admin, error) {
	c, err := typings.Read(apis...)
	if err != nil {
		return nil, err
	}
	a := &admin{Catalogue: c, given: map[string]bool{}, got: map[string]bool{}}
	a.place()
	if err := a.checkPages(); err != nil {
		return nil, err
	}
	entry := newFile(apiPackage, "Api")
	entry.use(basePackage+".spi", "ExtensionContext")
	entry.Doc("The operations of the admin interface, by their groups. They are carried out in the name of the plugin; what the server refuses is an",
		"{@link im.app.plugin.AppException}. The operations of a role are there where that role runs.")
	entry.Open("public final class Api {")
	if err := entry.writeExtra("Api"); err != nil {
		return nil, err
	}
	for _, group := range slices.Sorted(maps.Keys(c.Groups)) {
		class := capital(identifier(group)) + "Api"
		entry.WriteByte('\n')
		entry.Doc("The operations of the group "+group+".", "@return the operations")
		entry.Open("public %s %s() {", class, identifier(group))
		entry.Line("return new %s(this);", entry.use(a.resources[group].pkg, class))
		entry.Close("}")
		if err := a.group(class, group); err != nil {
			return nil, fmt.Errorf("the operations of %s: %w", group, err)
		}
	}
	entry.Close("}")
	for _, name := range slices.Sorted(maps.Keys(c.Schemas)) {
		if err := a.schema(name); err != nil {
			return nil, fmt.Errorf("the type %s: %w", name, err)
		}
	}
	a.files = append(a.files, entry)
	return a, nil
}

// classNames are the classes of types whose names conflict with the protocol's names.
var classNames = map[string]string{"Message": "MessageInfo", "UserSession": "UserSessionInfo"}

// className returns the name of the class of a type of the admin interface.
func className(schema string) string {
	if class, ok := classNames[schema]; ok {
		return class
	}
	return schema
}

// refOf returns the name of the type that a schema refers to.
func refOf(s typings.Schema) string {
	if len(s.AllOf) == 1 {
		return refOf(s.AllOf[0])
	}
	return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
}

// group writes the class of a group of operations.
func (a *admin) group(class, group string) error {
	f := newFile(a.resources[group].pkg, class)
	f.Doc("The operations of the group " + group + ".")
	f.Open("public final class %s {", class)
	f.Line("private final %s api;\n", f.use(apiPackage, "Api"))
	f.Doc("Created by {@link Api#"+identifier(group)+"}.", "@param api where the operations are called")
	f.Open("public %s(Api api) {", class)
	f.Line("this.api = api;")
	f.Close("}")
	for _, name := range slices.Sorted(maps.Keys(a.Groups[group])) {
		if err := a.operation(f, identifier(name), a.Groups[group][name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	f.Close("}")
	a.files = append(a.files, f)
	return nil
}

// operation writes the methods of an operation. Its input is the body if there is nothing else.
func (a *admin) operation(f *file, name string, op typings.Operation) error {
	result, convert, err := a.result(f, op)
	if err != nil {
		return err
	}
	m := apiMethod{op: op, name: name, result: result, convert: convert, docs: []string{sentence(op.Summary)}}
	if d := javadoc(op.Description); d != "" && d != m.docs[0] {
		m.docs = append(m.docs, "<p>"+d)
	}
	inputs, body := op.Inputs(), op.RequestBody
	switch {
	case len(inputs) == 0 && body == nil:
		m.write(f)
		return nil
	case len(inputs) == 0:
		t, err := a.typ(f, body.Schema(), true)
		if err != nil {
			return err
		}
		m.param, m.doc, m.arg = t+" input", "what is created or changed", `java.util.Map.of("body", input)`
		m.write(f)
	default:
		if err := a.methodWithInput(f, m); err != nil {
			return err
		}
	}
	if !op.NeedsInput() && !needsSelection(op) {
		m.param, m.doc, m.arg = "", "", ""
		m.write(f)
	}
	if op.All != "" {
		return a.all(f, m)
	}
	return nil
}

// methodWithInput writes the method of an operation with a class for its parameters, and that
// class.
func (a *admin) methodWithInput(f *file, m apiMethod) error {
	class := capital(m.op.OperationID)
	m.param, m.doc, m.arg = class+" input", "the parameters", "input.toJson()"
	if needsSelection(m.op) {
		m.check(f)
	}
	m.write(f)
	return a.input(f.pkg, class, m.op)
}

// sentence returns the summary of an operation as a sentence.
func sentence(summary string) string { return javadoc(strings.TrimSuffix(summary, ".")) + "." }

// An apiMethod is a method of an operation.
type apiMethod struct {
	op   typings.Operation
	name string
	// result is the type of the result, convert the format of the expression that converts the
	// response.
	result, convert string
	// docs are the paragraphs of its documentation, throws the tags of further exceptions.
	docs, throws []string
	// param is the declaration of the parameter, doc its documentation, arg the expression of the
	// input; empty if there is none.
	param, doc, arg string
	// first is the statement before the call; empty if there is none.
	first string
}

func (m apiMethod) write(f *file) {
	f.WriteByte('\n')
	lines := slices.Clone(m.docs)
	if m.doc != "" {
		lines = append(lines, "@param input "+m.doc)
	}
	declared := m.result
	if m.result != "void" {
		declared = f.nullable(m.result)
		lines = append(lines, "@return the response; null if it is empty")
	}
	lines = append(lines, m.throws...)
	f.Doc(append(lines, "@throws im.app.plugin.AppException if the server refuses the request")...)
	f.Open("public %s %s(%s) {", declared, m.name, m.param)
	if m.first != "" {
		f.Line("%s;", m.first)
	}
	arg := m.arg
	if arg == "" {
		arg = "java.util.Map.of()"
	}
	call := fmt.Sprintf("api.call(%q, %s)", m.op.OperationID, arg)
	if m.result == "void" {
		f.Line("%s;", call)
	} else {
		f.Line("return %s;", fmt.Sprintf(m.convert, call))
	}
	f.Close("}")
}

// result returns the type of the result, and the format of the expression that converts what was
// read.
func (a *admin) result(f *file, op typings.Operation) (typ, convert string, err error) {
	r := op.Result()
	if r == nil {
		return "void", "", nil
	}
	if typ, err = a.typ(f, *r, true); err != nil {
		return "", "", err
	}
	if item, ok := a.pageOf(refOf(*r)); ok {
		return typ, f.use(basePackage+".spi", "Operations") + ".page(%s, " + a.use(f, item) + ".class)", nil
	}
	json := f.use(basePackage+".json", "Json")
	if r.Type == "array" {
		item, err := a.typ(f, *r.Items, true)
		return typ, json + ".convertList(%s, " + item + ".class)", err
	}
	if r.Type == "object" && len(r.Properties) == 0 {
		item := "Object"
		if v := r.Values(); v != nil {
			if item, err = a.typ(f, *v, true); err != nil {
				return "", "", err
			}
		}
		return typ, json + ".convertMap(%s, " + item + ".class)", err
	}
	return typ, json + ".convert(%s, " + typ + ".class)", nil
}

// input writes the class of the parameters of an operation.
func (a *admin) input(pkg, class string, op typings.Operation) error {
	f := newFile(pkg, class)
	f.Doc("Parameters: " + sentence(op.Summary))
	f.openFluent(class)
	for _, p := range op.Inputs() {
		if selectsAll(op, p) {
			continue // A method of its own name does that.
		}
		if selectsAlone(op, p) {
			p.Description, p.Required = absentAll.ReplaceAllString(p.Description, "."), true
		}
		if err := a.setter(f, class, p.Name, p.Description, p.Schema, p.Required); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if b := op.RequestBody; b != nil {
		if err := a.setter(f, class, "body", "What is created or changed.", b.Schema(), b.Required); err != nil {
			return fmt.Errorf("body: %w", err)
		}
	}
	f.Close("}")
	a.files = append(a.files, f)
	return nil
}

// openFluent begins a class with chained setters.
func (f *file) openFluent(class string) {
	f.use("java.util", "Map")
	f.use("java.util", "LinkedHashMap")
	f.Open("public final class %s implements %s {", class, f.use(basePackage+".json", "JsonObject"))
	object := f.nullable("Object")
	f.Line("private final Map<String, %s> values = new LinkedHashMap<>();\n", object)
	f.Doc("Makes one in which nothing is set.")
	f.Line("public %s() {}\n", class)
	f.Line("@Override")
	f.Open("public Map<String, %s> toJson() {", object)
	f.Line("return values;")
	f.Close("}")
}

// setter writes the setter of a value, and for lists another one with varargs.
func (a *admin) setter(f *file, class, name, doc string, s typings.Schema, required bool) error {
	t, err := a.typ(f, s, true)
	if err != nil {
		return err
	}
	text := javadoc(flat(doc + values(s)))
	if text == "" {
		text = words(name)
	}
	if required {
		text += " Must be set."
	}
	params := []string{t}
	if s.Type == "array" {
		item, err := a.typ(f, *s.Items, true)
		if err != nil {
			return err
		}
		params = []string{f.use("java.util", "Collection") + "<" + item + ">", item + "..."}
	}
	id := identifier(name)
	for _, param := range params {
		f.WriteByte('\n')
		f.Doc(text, "@param "+id+" the value", "@return this")
		f.Open("public %s %s(%s %[2]s) {", class, id, param)
		f.Line("values.put(%q, %s);", name, id)
		f.Line("return this;")
		f.Close("}")
	}
	return nil
}

// values describes the values of an enumeration.
func values(s typings.Schema) string {
	if s.Items != nil {
		return values(*s.Items)
	}
	if len(s.Enum) == 0 || s.Type != "string" {
		return ""
	}
	var names []string
	for _, v := range s.Enum {
		names = append(names, strings.Trim(string(v), `"`))
	}
	return " One of " + strings.Join(names, ", ") + "."
}

// schema writes a type: a class with setters if only plugins create it, otherwise a record.
func (a *admin) schema(name string) error {
	s := a.Schemas[name]
	if _, page := a.pageOf(name); page || !a.given[name] && !a.got[name] {
		return nil
	}
	class := className(name)
	f := newFile(a.packages[name], class)
	a.files = append(a.files, f)
	doc := javadoc(s.Description)
	if doc == "" {
		doc = "In JSON the object " + name + "."
	}
	if !a.got[name] {
		f.Doc(doc)
		f.openFluent(class)
		for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
			if err := a.setter(f, class, p, s.Properties[p].Description, s.Properties[p], slices.Contains(s.Required, p)); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		f.Close("}")
		return nil
	}
	lines, params, never := []string{doc}, []string{}, []string{}
	for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
		of, id := s.Properties[p], identifier(p)
		null := !slices.Contains(s.Required, p) || of.Nullable
		t, err := a.typ(f, of, null)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		text := javadoc(flat(of.Description + values(of)))
		if text == "" {
			text = words(p)
		}
		lines = append(lines, "@param "+id+" "+text)
		switch {
		case strings.HasPrefix(t, "List<"):
			never = append(never, fmt.Sprintf("%s = %[1]s == null ? List.of() : %[1]s;", id))
		case strings.HasPrefix(t, "Map<"):
			never = append(never, fmt.Sprintf("%s = %[1]s == null ? Map.of() : %[1]s;", id))
		case null:
			t = f.nullable(t)
		}
		if id != p {
			t = fmt.Sprintf("@%s(%q) %s", f.use(basePackage+".json", "JsonName"), p, t)
		}
		params = append(params, t+" "+id)
	}
	f.Doc(lines...)
	f.Open("public record %s(%s) {", class, strings.Join(params, ", "))
	if len(never) > 0 {
		f.Doc("Lists and maps that are null are empty.")
		f.Open("public %s {", class)
		for _, l := range never {
			f.Line("%s", l)
		}
		f.Close("}")
	}
	f.Close("}")
	return nil
}

// typ returns the Java type of a schema; a boxed one can be null.
func (a *admin) typ(f *file, s typings.Schema, boxed bool) (string, error) {
	either := func(primitive, object string) (string, error) {
		if boxed {
			return object, nil
		}
		return primitive, nil
	}
	if name := refOf(s); name != "" {
		if item, ok := a.pageOf(name); ok {
			return f.use(apiPackage, "Page") + "<" + a.use(f, item) + ">", nil
		}
		return a.use(f, name), nil
	}
	switch s.Type {
	case "":
		return "Object", nil
	case "boolean":
		return either("boolean", "Boolean")
	case "number":
		if s.Format == "float" {
			return either("float", "Float")
		}
		return either("double", "Double")
	case "integer":
		if s.Format == "int64" {
			return either("long", "Long")
		}
		return either("int", "Integer")
	case "string":
		switch s.Format {
		case "date-time":
			return f.use("java.time", "Instant"), nil
		case "byte":
			return "byte[]", nil
		}
		return "String", nil
	case "array":
		of, err := a.typ(f, *s.Items, true)
		return f.use("java.util", "List") + "<" + of + ">", err
	case "object":
		if len(s.Properties) > 0 {
			break
		}
		of := f.nullable("Object")
		if v := s.Values(); v != nil {
			var err error
			if of, err = a.typ(f, *v, true); err != nil {
				return "", err
			}
		}
		return f.use("java.util", "Map") + "<String, " + of + ">", nil
	}
	return "", fmt.Errorf("a schema of type %q has no counterpart in Java", s.Type)
}
