// SPDX-License-Identifier: Apache-2.0

package java

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java/classfile"
)

// platform are name prefixes of the JDK's classes. Others begin with javax and com.sun, too.
var platform = []string{
	"java/", "jdk/", "sun/", "org/w3c/dom/", "org/xml/sax/", "org/ietf/jgss/", "netscape/javascript/",
	"com/sun/jdi/", "com/sun/management/", "com/sun/net/httpserver/", "com/sun/nio/", "com/sun/security/", "com/sun/source/", "com/sun/tools/",
	"javax/accessibility/", "javax/annotation/processing/", "javax/crypto/", "javax/imageio/", "javax/lang/model/", "javax/management/",
	"javax/naming/", "javax/net/", "javax/print/", "javax/rmi/ssl/", "javax/script/", "javax/security/", "javax/smartcardio/", "javax/sound/",
	"javax/sql/", "javax/swing/", "javax/tools/", "javax/transaction/xa/", "javax/xml/",
}

const (
	pluginClass    = "im/app/plugin/AppPlugin"
	extensionClass = "im/app/plugin/AppExtension"
)

// An Inspection is the result of analysing a jar without running it.
type Inspection struct {
	Descriptor plugin.Descriptor
	// Class is the class of the plugin.
	Class string
	// Classes is the number of classes, and Bytecode the newest Java version that they require.
	Classes, Bytecode int
	// Extensions are the possible extension classes; the plugin's code decides which are used.
	Extensions []InspectedExtension
	// Missing are referenced classes that do not exist.
	Missing []MissingClass
	// Packed are classes of the jar that are not used because the server provides them.
	Packed []string
}

// An InspectedExtension is a class that extends AppExtension.
type InspectedExtension struct {
	Class   string
	Points  []*plugin.Point
	Methods []*plugin.Method
	// Endpoints is true if it has, or may have, operations of the admin interface.
	Endpoints bool
}

// A MissingClass is a missing class, and one that references it.
type MissingClass struct{ Class, By string }

// Inspect analyses a jar without running it. The error is a sentence for its author.
func Inspect(data []byte) (*Inspection, error) {
	a, err := openArchive(data)
	if err != nil {
		return nil, err
	}
	name, text, err := a.descriptor()
	if err != nil {
		return nil, err
	}
	d, err := parseDescriptor(name, text)
	if err != nil {
		return nil, err
	}
	classes, err := a.classes()
	if err != nil {
		return nil, err
	}
	host, err := Jar(HostJar)
	if err != nil {
		return nil, err
	}
	server, err := openArchive(host)
	if err != nil {
		return nil, fmt.Errorf("the host's own jar: %w", err)
	}
	known, err := server.classes()
	if err != nil {
		return nil, fmt.Errorf("the host's own jar: %w", err)
	}
	in := &Inspection{Descriptor: d.Descriptor, Class: d.class, Classes: len(classes)}
	j := &jarClasses{own: classes, server: known}
	if err := j.checkEntry(d.class); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		in.Bytecode = max(in.Bytecode, classfile.Java(classes[name].Major))
		if x, ok := j.extension(classes[name]); ok {
			in.Extensions = append(in.Extensions, x)
		}
	}
	if len(in.Extensions) == 0 {
		return nil, fmt.Errorf("the jar has no class that extends %s and implements an extension point or has endpoints", dotted(extensionClass))
	}
	in.Missing, in.Packed = j.missing(), j.packed()
	return in, nil
}

// classes parses the class files of an archive, without those only for newer Java versions.
func (a *archive) classes() (map[string]*classfile.Class, error) {
	classes := map[string]*classfile.Class{}
	for _, f := range a.entries {
		if !strings.HasSuffix(f.Name, ".class") || strings.HasPrefix(f.Name, "META-INF/") || strings.HasSuffix(f.Name, "module-info.class") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name, err)
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name, err)
		}
		c, err := classfile.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shorten(f.Name), err)
		}
		classes[c.Name] = c
	}
	return classes, nil
}

func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }

// jarClasses are the classes visible to a plugin.
type jarClasses struct{ own, server map[string]*classfile.Class }

// find returns a class like the plugin's loader: the server's first.
func (j *jarClasses) find(name string) *classfile.Class {
	if c := j.server[name]; c != nil && visible(name) {
		return c
	}
	return j.own[name]
}

// visible reports whether plugins see a class of the host's jar.
func visible(name string) bool {
	return strings.HasPrefix(name, "com/google/protobuf/") || strings.HasPrefix(name, "im/app/") && !strings.HasPrefix(name, "im/app/plugin/host/")
}

// chain returns a class and its known superclasses.
func (j *jarClasses) chain(c *classfile.Class) []*classfile.Class {
	var list []*classfile.Class
	for ; c != nil && !slices.Contains(list, c); c = j.find(c.Super) {
		list = append(list, c)
	}
	return list
}

func (j *jarClasses) extends(c *classfile.Class, name string) bool {
	return slices.ContainsFunc(j.chain(c), func(x *classfile.Class) bool { return x.Super == name })
}

// checkEntry checks the class of the plugin.
func (j *jarClasses) checkEntry(name string) error {
	c := j.own[strings.ReplaceAll(name, ".", "/")]
	switch {
	case c == nil:
		return fmt.Errorf("the jar has no class %s, which its descriptor names as the class of the plugin", name)
	case !j.extends(c, pluginClass):
		return fmt.Errorf("class %s is the class of the plugin, so it must extend %s", name, dotted(pluginClass))
	case c.Abstract:
		return fmt.Errorf("class %s is abstract: the host makes an instance of it, so it must not be", name)
	case !slices.ContainsFunc(c.Methods, func(m classfile.Method) bool {
		return m.Name == "<init>" && m.Descriptor == "()V" && m.Public
	}):
		return fmt.Errorf("class %s must have a public constructor without arguments", name)
	}
	return nil
}

// extension analyses a class that may be an extension.
func (j *jarClasses) extension(c *classfile.Class) (InspectedExtension, bool) {
	x := InspectedExtension{Class: dotted(c.Name)}
	if c.Abstract || c.Interface || !j.extends(c, extensionClass) {
		return x, false
	}
	all := map[string]bool{}
	for _, part := range j.chain(c) {
		j.interfaces(part, all)
	}
	for _, p := range plugin.Points {
		name := strings.ReplaceAll(p.FullName(), ".", "/")
		if !all[name] {
			continue
		}
		x.Points = append(x.Points, p)
		for _, m := range p.Methods {
			if j.overrides(c, name, m.Name) {
				x.Methods = append(x.Methods, m)
			}
		}
	}
	x.Endpoints = slices.ContainsFunc(j.chain(c), func(part *classfile.Class) bool {
		return part.Name != extensionClass && slices.ContainsFunc(part.Methods, func(m classfile.Method) bool {
			return m.Name == "getEndpoints" && strings.HasPrefix(m.Descriptor, "()") && m.Public && !m.Static
		})
	})
	return x, len(x.Points) > 0 || x.Endpoints
}

// interfaces collects the interfaces of a class, including inherited ones.
func (j *jarClasses) interfaces(c *classfile.Class, all map[string]bool) {
	for _, name := range c.Interfaces {
		if !all[name] {
			all[name] = true
			if i := j.find(name); i != nil {
				j.interfaces(i, all)
			}
		}
	}
}

// overrides reports whether a class or a superclass has a method of an extension point.
func (j *jarClasses) overrides(c *classfile.Class, point, method string) bool {
	declared := j.server[point]
	if declared == nil {
		return false
	}
	for _, d := range declared.Methods {
		if d.Name != method && d.Name != method+"Async" || d.Static {
			continue
		}
		// Compare only the parameters: the result may be covariant.
		params := d.Descriptor[:strings.IndexByte(d.Descriptor, ')')+1]
		for _, part := range j.chain(c) {
			if slices.ContainsFunc(part.Methods, func(m classfile.Method) bool {
				return m.Name == d.Name && strings.HasPrefix(m.Descriptor, params) && m.Public && !m.Static
			}) {
				return true
			}
		}
	}
	return false
}

// packed returns the jar's classes that the plugin's loader takes from the server.
func (j *jarClasses) packed() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(j.own)) {
		if j.server[name] != nil && visible(name) {
			list = append(list, dotted(name))
		}
	}
	return list
}

// missing returns referenced classes that the jar, the server and the platform lack.
func (j *jarClasses) missing() []MissingClass {
	by := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(j.own)) {
		for _, ref := range j.own[name].References {
			if by[ref] != "" || j.find(ref) != nil || slices.ContainsFunc(platform, func(p string) bool { return strings.HasPrefix(ref, p) }) {
				continue
			}
			by[ref] = name
		}
	}
	var list []MissingClass
	for _, ref := range slices.Sorted(maps.Keys(by)) {
		list = append(list, MissingClass{Class: dotted(ref), By: dotted(by[ref])})
	}
	return list
}
