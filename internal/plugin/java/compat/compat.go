// SPDX-License-Identifier: Apache-2.0

// Package compat compares the Java plugin API with that of the last release. The API of a release
// is a text file in the source tree, one line for each class, field and method, so that reviewers
// see how a change affects it; Check reports what breaks plugins that were compiled against that
// release. It reads class files only and does not compare behaviour.
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

// File is the file with the API of the last release, relative to the source tree.
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

// An API is the public API of a jar.
type API struct {
	// Version is the version of the release, as in pom.xml.
	Version string
	// Classes are by name, with slashes as in class files.
	Classes map[string]*Class
}

// A Class is a class, an interface, an enumeration or a record of the API.
type Class struct {
	Name string
	// Words are its kind and modifiers: final, abstract, deprecated.
	Words []string
	// Supers are its superclass and interfaces, sorted.
	Supers []string
	// Signature is its generic signature; empty if there is none.
	Signature string
	// Members are by name and descriptor.
	Members map[string]*Member
}

// A Member is a field or a method.
type Member struct {
	// Key is the name and the descriptor, separated by a space for fields.
	Key   string
	Words []string
	// Signature is the generic signature, Constant the value that compilers inline; empty if there
	// is none.
	Signature, Constant string
}

func (c *Class) is(word string) bool  { return slices.Contains(c.Words, word) }
func (m *Member) is(word string) bool { return slices.Contains(m.Words, word) }

// protocol is the package of the classes that protoc generates from the protocol. Of these, the
// interfaces for reading messages and the constants of enumerations are compared: everything else
// follows from them.
const protocol = "im/app/proto/"

// internal is the package between API and host, which plugins do not use.
const internal = "im/app/plugin/spi/"

// Current returns the API of the jars that are embedded in this program.
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

// words returns the words whose condition is true.
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
		// Constructors of records that only the server creates, or that have a builder, get a
		// parameter for every new component.
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

// Write writes an API in the format of Parse.
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

// Parse parses the output of Write.
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

// major returns the major version.
func major(version string) string {
	n, _, _ := strings.Cut(version, ".")
	return n
}

// dotted returns a name as in source code.
func dotted(name string) string {
	return strings.NewReplacer("/", ".", "$", ".").Replace(name)
}

// compare compares names, for reports.
func compare(a, b string) int { return cmp.Compare(dotted(a), dotted(b)) }
