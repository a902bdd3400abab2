// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"fmt"
	"strings"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/typings"
)

// point writes the interface of an extension point.
func (g *generator) point(p *plugin.Point) (*file, error) {
	f := newFile(p.Package, p.Name)
	var roles []string
	for _, r := range p.Roles {
		roles = append(roles, string(r))
	}
	where := "Called on: " + strings.Join(roles, ", ") + "."
	if p.Singleton {
		where += " Only one plugin may implement it."
	}
	f.Doc(javadoc(p.Doc), "<p>"+where+" A method that an extension does not override is not called.")
	f.Open("public interface %s extends %s {", p.Name, f.use(basePackage, "ExtensionPoint"))
	for _, m := range p.Methods {
		if err := g.method(f, m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	f.Close("}")
	return f, nil
}

func (g *generator) method(f *file, m *plugin.Method) error {
	result, boxed := "void", f.nullable("Void")
	if m.Result != nil {
		var err error
		if result, err = g.typ(f, m.Result, true); err != nil {
			return fmt.Errorf("result: %w", err)
		}
		result = f.nullable(result)
		boxed = result
	}
	var params, names, docs []string
	for _, p := range m.Params {
		t, err := g.typ(f, p.Type, p.Optional)
		if err != nil {
			return fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		doc := javadoc(p.Doc)
		if p.Optional {
			t = f.nullable(t)
			doc += " May be null."
		}
		params, names = append(params, t+" "+p.Name), append(names, p.Name)
		docs = append(docs, "@param "+p.Name+" "+doc)
	}
	lines := append([]string{javadoc(m.Doc), "<p>" + javadoc(typings.Meaning(m))}, docs...)
	if m.Result != nil {
		lines = append(lines, "@return the answer, or null for nothing")
	}
	thrown := "@throws Exception if the call fails; an {@link " + basePackage + ".AppException} refuses with a status code"
	f.Doc(append(lines, thrown)...)
	f.Open("default %s %s(%s) throws Exception {", result, m.Name, strings.Join(params, ", "))
	if m.Result != nil {
		f.Line("return null;")
	}
	f.Close("}\n")
	lines = append([]string{"The same as {@link #" + m.Name + "}, for answers that come later. An extension overrides one of the two."}, docs...)
	f.Doc(append(lines, "@return the stage that has the answer", thrown)...)
	f.Open("default %s<%s> %sAsync(%s) throws Exception {", f.use("java.util.concurrent", "CompletionStage"), boxed, m.Name, strings.Join(params, ", "))
	if m.Result == nil {
		f.Line("%s(%s);", m.Name, strings.Join(names, ", "))
		f.Line("return %s.completedFuture(null);", f.use("java.util.concurrent", "CompletableFuture"))
	} else {
		f.Line("return %s.completedFuture(%s(%s));", f.use("java.util.concurrent", "CompletableFuture"), m.Name, strings.Join(names, ", "))
	}
	f.Close("}")
	if m != m.Point.Methods[len(m.Point.Methods)-1] {
		f.WriteByte('\n')
	}
	return nil
}
