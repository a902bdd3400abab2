// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// openAPI is the part of an OpenAPI 3.0 document that the reference uses.
type openAPI struct {
	Info struct {
		Title       string
		Description string
	}
	Tags []struct {
		Name        string
		Description string
	}
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]*schema
	}
}

type operation struct {
	OperationID string
	Summary     string
	Description string
	Tags        []string
	Parameters  []struct {
		Name        string
		In          string
		Description string
		Required    bool
		Schema      *schema
		Content     map[string]struct{ Schema *schema }
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema *schema }
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Format               string
	Description          string
	Enum                 []any
	Nullable             bool
	Default              any
	Minimum, Maximum     *json.Number
	MaxItems, MaxLength  *json.Number
	Items                *schema
	Properties           map[string]*schema
	Required             []string
	AllOf, OneOf, AnyOf  []*schema
	AdditionalProperties json.RawMessage
}

//go:embed operations.html
var operationsText string

var operationsTemplate = template.Must(template.New("operations").Funcs(template.FuncMap{
	"markdown": inline, "type": typeOf, "limits": limits,
	"sorted": func(m map[string]*schema) []string { return slices.Sorted(maps.Keys(m)) },
	"has":    func(list []string, name string) bool { return slices.Contains(list, name) },
}).Parse(operationsText))

// An entry is one operation of the reference.
type entry struct {
	Method, Path, Anchor string
	operation
	// Body and Result are the schemas of the request body and of the data in the response; nil if
	// there is none.
	Body, Result *schema
	ResultMedia  []string
}

// group are the operations with one tag.
type group struct {
	Title, Anchor, Description string
	Entries                    []*entry
}

// methods is the display order of the operations of a path.
var methods = []string{"get", "post", "put", "patch", "delete", "head", "options"}

// operations renders the reference of one role's admin API.
func operations(role string, data []byte) (*page, error) {
	var doc openAPI
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		return nil, err
	}
	groups := make([]*group, 0, len(doc.Tags))
	byTag := map[string]*group{}
	for _, tag := range doc.Tags {
		title := strings.TrimSuffix(tag.Name, "Controller")
		g := &group{Title: spaced(title), Anchor: strings.ToLower(title), Description: tag.Description}
		groups, byTag[tag.Name] = append(groups, g), g
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range methods {
			o, ok := doc.Paths[path][method]
			if !ok {
				continue
			}
			if len(o.Tags) == 0 || byTag[o.Tags[0]] == nil {
				return nil, fmt.Errorf("%s %s has no declared tag", method, path)
			}
			g := byTag[o.Tags[0]]
			g.Entries = append(g.Entries, newEntry(method, path, o))
		}
	}
	p := &page{path: "api-" + role + ".html", Title: "Admin API of app-" + role}
	p.sections = append(p.sections, section{Title: p.Title, Level: 1, text: doc.Info.Description})
	for _, g := range groups {
		p.sections = append(p.sections, section{Title: g.Title, Anchor: g.Anchor, Level: 2, text: g.Description})
		for _, e := range g.Entries {
			p.sections = append(p.sections, section{Title: e.Method + " " + e.Path, Anchor: e.Anchor, Level: 3, text: e.Summary + " " + e.Description})
		}
	}
	p.sections = append(p.sections, section{Title: "Schemas", Anchor: "schemas", Level: 2})
	var b bytes.Buffer
	err := operationsTemplate.Execute(&b, map[string]any{
		"Title": p.Title, "Description": doc.Info.Description, "Groups": groups, "Schemas": doc.Components.Schemas,
	})
	p.body = template.HTML(b.String()) //nolint:gosec // The template escapes its data.
	return p, err
}

func newEntry(method, path string, o operation) *entry {
	e := &entry{Method: strings.ToUpper(method), Path: path, Anchor: o.OperationID, operation: o}
	if o.RequestBody != nil {
		for _, media := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
			e.Body = o.RequestBody.Content[media].Schema
		}
	}
	for media, content := range o.Responses["200"].Content {
		e.ResultMedia = append(e.ResultMedia, media)
		if content.Schema != nil && media == "application/json" {
			e.Result = content.Schema.Properties["data"]
		}
	}
	slices.Sort(e.ResultMedia)
	return e
}

// spaced inserts spaces between the words of a camel-case name.
func spaced(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 {
			b.WriteByte(' ')
		}
		if upper && i > 0 {
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

var (
	hideTags = strings.NewReplacer("<", "&lt;", ">", "&gt;")
	// Markdown escapes the ampersand again inside code.
	showTags = strings.NewReplacer("&amp;lt;", "&lt;", "&amp;gt;", "&gt;")
)

// inline renders a description, in which tags are plain text.
func inline(text string) (template.HTML, error) {
	var b bytes.Buffer
	err := markdown.Convert([]byte(hideTags.Replace(text)), &b)
	return template.HTML(showTags.Replace(b.String())), err //nolint:gosec // The text has no tags.
}

// typeOf returns the type of a schema, with links to the schemas that it names.
func typeOf(s *schema) template.HTML {
	if s == nil {
		return ""
	}
	switch {
	case s.Ref != "":
		name := template.HTMLEscapeString(s.Ref[strings.LastIndexByte(s.Ref, '/')+1:])
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`) //nolint:gosec // The name is escaped.
	case len(s.AllOf) == 1:
		return typeOf(s.AllOf[0])
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case s.AdditionalProperties != nil && s.Type == "object" && len(s.Properties) == 0:
		var of schema
		if json.Unmarshal(s.AdditionalProperties, &of) == nil && (of.Type != "" || of.Ref != "") {
			return "map of " + typeOf(&of)
		}
		return "map"
	}
	text := s.Type
	if s.Format != "" {
		text += " (" + s.Format + ")"
	}
	if text == "" {
		text = "any"
	}
	return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // The text is escaped.
}

// limits describes the constraints of a value.
func limits(s *schema) string {
	if s == nil {
		return ""
	}
	var list []string
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		list = append(list, "one of "+strings.Join(values, ", "))
	}
	if s.Items != nil && len(s.Items.Enum) > 0 {
		list = append(list, "each "+limits(s.Items))
	}
	for _, limit := range []struct {
		text  string
		value *json.Number
	}{{"at least", s.Minimum}, {"at most", s.Maximum}, {"at most %s elements", s.MaxItems}, {"at most %s characters", s.MaxLength}} {
		switch {
		case limit.value == nil:
		case strings.Contains(limit.text, "%s"):
			list = append(list, fmt.Sprintf(limit.text, limit.value.String()))
		default:
			list = append(list, limit.text+" "+limit.value.String())
		}
	}
	if s.Default != nil {
		list = append(list, fmt.Sprintf("default %v", s.Default))
	}
	return strings.Join(list, "; ")
}
