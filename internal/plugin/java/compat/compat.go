// SPDX-License-Identifier: Apache-2.0

// Package compat compares the API for plugins in Java with that of the last release. The API of a release is a text in the
// source tree, one line for each class, field and method, so that reviewers see what a change does to it; Check says what of
// it breaks plugins that were compiled against that release. It reads class files only: what code does is not compared.
package compat

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	_ "embed" // For the baseline.
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/classfile"
)

// File is where the API of the last release stands, from the top of the source tree.
const File = "internal/plugin/java/compat/baseline.txt"

//go:embed baseline.txt
var baseline string

// Baseline returns the API of the last release.
func Baseline() (*API, error) {
	api, err := Parse(baseline)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	return api, nil
}

// An API is what plugins can use of a jar.
type API struct {
	// Version is the version of the release, as in the pom.xml.
	Version string
	// Classes are by their names, with slashes as in class files.
	Classes map[string]*Class
}

// A Class is a class, an interface, an enumeration or a record that plugins can use.
type Class struct {
	Name string
	// Words are what is known of it: its kind, final, abstract, deprecated.
	Words []string
	// Supers are the class that it extends and the interfaces that it implements, sorted.
	Supers []string
	// Signature is what it extends with parameters of types; empty if there are none.
	Signature string
	// Members are by their names and descriptors.
	Members map[string]*Member
}

// A Member is a field or a method.
type Member struct {
	// Key is the name and the descriptor, separated by a space for fields.
	Key   string
	Words []string
	// Signature is the descriptor with parameters of types, Constant the value that compilers copy. Empty if there is none.
	Signature, Constant string
}

func (c *Class) is(word string) bool  { return slices.Contains(c.Words, word) }
func (m *Member) is(word string) bool { return slices.Contains(m.Words, word) }

// protocol is the package of the classes that protoc makes of the protocol. Of these, the interfaces that read messages and the
// constants of enumerations are kept: everything else follows from them.
const protocol = "im/app/proto/"

// internal is the package between the API and the host, which plugins do not use.
const internal = "im/app/plugin/spi/"

// Current returns the API of the jars that this program carries.
func Current(version string) (*API, error) {
	var all [][]byte
	for _, name := range []string{java.APIJar, java.TestJar} {
		jar, err := java.Jar(name)
		if err != nil {
			return nil, err
		}
		all = append(all, jar)
	}
	return Read(version, all...)
}

// Read returns the API of jars.
func Read(version string, jars ...[]byte) (*API, error) {
	api := &API{Version: version, Classes: map[string]*Class{}}
	for _, jar := range jars {
		if err := api.add(jar); err != nil {
			return nil, err
		}
	}
	return api, nil
}

func (api *API) add(jar []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return fmt.Errorf("read the jar: %w", err)
	}
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, ".class") || strings.HasSuffix(f.Name, "-info.class") || strings.HasPrefix(f.Name, internal) {
			continue
		}
		c, err := parse(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if !c.Public || c.Synthetic || c.Enclosed {
			continue
		}
		if class := classOf(c); !strings.HasPrefix(c.Name, protocol) || class.is("enum") || strings.HasSuffix(c.Name, "OrBuilder") {
			api.Classes[c.Name] = class
		}
	}
	return nil
}

func parse(f *zip.File) (*classfile.Class, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return classfile.Parse(data)
}

// words are those whose condition is true.
func words(list ...any) []string {
	var out []string
	for i := 0; i < len(list); i += 2 {
		if list[i+1].(bool) {
			out = append(out, list[i].(string))
		}
	}
	return out
}

func classOf(c *classfile.Class) *Class {
	kind := "class"
	switch {
	case c.Interface && slices.Contains(c.Interfaces, "java/lang/annotation/Annotation"):
		kind = "annotation"
	case c.Interface:
		kind = "interface"
	case c.Record:
		kind = "record"
	case c.Super == "java/lang/Enum":
		kind = "enum"
	}
	class := &Class{
		Name: c.Name, Signature: c.Signature, Members: map[string]*Member{},
		Words: append([]string{kind}, words("abstract", c.Abstract && !c.Interface, "final", c.Final, "deprecated", c.Deprecated)...),
	}
	class.Supers = append(class.Supers, c.Interfaces...)
	if c.Super != "" && c.Super != "java/lang/Object" {
		class.Supers = append(class.Supers, c.Super)
	}
	slices.Sort(class.Supers)
	built := slices.ContainsFunc(c.Methods, func(m classfile.Method) bool { return m.Name == "builder" })
	for _, f := range c.Fields {
		if f.Synthetic || !f.Public && !f.Protected {
			continue
		}
		key := f.Name + " " + f.Descriptor
		class.Members[key] = &Member{Key: key, Signature: f.Signature, Constant: f.Constant, Words: words(
			"public", f.Public, "protected", f.Protected, "static", f.Static, "final", f.Final, "deprecated", f.Deprecated)}
	}
	for _, m := range c.Methods {
		// The constructors of records that the server makes, or that have a builder, grow with every component.
		grows := c.Record && m.Name == "<init>" && (built || strings.HasPrefix(c.Name, "im/app/plugin/api/"))
		if m.Synthetic || !m.Public && !m.Protected || m.Protected && c.Final || grows {
			continue
		}
		key := m.Name + m.Descriptor
		class.Members[key] = &Member{Key: key, Signature: m.Signature, Words: words(
			"public", m.Public, "protected", m.Protected, "static", m.Static, "abstract", m.Abstract, "final", m.Final && !c.Final, "deprecated", m.Deprecated)}
	}
	return class
}

const title = "# The API for plugins in Java, as of version "

// Write writes an API as Parse reads it.
func (api *API) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s%s.\n# go run ./internal/plugin/java/compat/renew writes it, for a release. DO NOT EDIT.\n", title, api.Version)
	for _, name := range slices.Sorted(maps.Keys(api.Classes)) {
		c := api.Classes[name]
		fmt.Fprintf(b, "\n%s: %s\n", c.Name, strings.Join(c.Words, " "))
		if len(c.Supers) > 0 {
			fmt.Fprintf(b, "\tof %s\n", strings.Join(c.Supers, " "))
		}
		if c.Signature != "" {
			fmt.Fprintf(b, "\tas %s\n", c.Signature)
		}
		for _, key := range slices.Sorted(maps.Keys(c.Members)) {
			m := c.Members[key]
			fmt.Fprintf(b, "\t%s: %s\n", m.Key, strings.Join(m.Words, " "))
			if m.Signature != "" {
				fmt.Fprintf(b, "\t\tas %s\n", m.Signature)
			}
			if m.Constant != "" {
				fmt.Fprintf(b, "\t\t= %s\n", m.Constant)
			}
		}
	}
	return b.Flush()
}

// Parse reads what Write wrote.
func Parse(text string) (*API, error) {
	first, rest, _ := strings.Cut(text, "\n")
	version, ok := strings.CutPrefix(first, title)
	if !ok {
		return nil, fmt.Errorf("the first line is not %q and a version", title)
	}
	api := &API{Version: strings.TrimSuffix(version, "."), Classes: map[string]*Class{}}
	class, member := &Class{}, &Member{}
	number := 1
	for line := range strings.Lines(rest) {
		number++
		line = strings.TrimSuffix(line, "\n")
		depth := len(line) - len(strings.TrimLeft(line, "\t"))
		line = line[depth:]
		key, words, isItem := strings.Cut(line, ": ")
		word, value, _ := strings.Cut(line, " ")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case depth == 0 && isItem:
			class = &Class{Name: key, Words: strings.Fields(words), Members: map[string]*Member{}}
			api.Classes[key] = class
		case depth == 1 && word == "of":
			class.Supers = strings.Fields(value)
		case depth == 1 && word == "as":
			class.Signature = value
		case depth == 1 && isItem && class.Members != nil:
			member = &Member{Key: key, Words: strings.Fields(words)}
			class.Members[key] = member
		case depth == 2 && word == "as":
			member.Signature = value
		case depth == 2 && word == "=":
			member.Constant = value
		default:
			return nil, fmt.Errorf("line %d: %q is not understood", number, line)
		}
	}
	return api, nil
}

// major is the first number of a version.
func major(version string) string {
	n, _, _ := strings.Cut(version, ".")
	return n
}

// dotted is a name as sources have it.
func dotted(name string) string {
	return strings.NewReplacer("/", ".", "$", ".").Replace(name)
}

// compare orders by name, for reports.
func compare(a, b string) int { return cmp.Compare(dotted(a), dotted(b)) }
