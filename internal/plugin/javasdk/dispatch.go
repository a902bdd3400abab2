// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"fmt"
	"strings"

	"example.org/app/internal/plugin"
)

// function returns the name of the function that calls a method.
func function(m *plugin.Method) string {
	return strings.ToLower(m.Point.Name[:1]) + m.Point.Name[1:] + capital(m.Name)
}

// class returns the class literal of a parameter.
func (g *generator) class(f *file, p plugin.Param) (string, error) {
	name, err := g.typ(f, p.Type, p.Optional)
	name, _, _ = strings.Cut(name, "<")
	return name + ".class", err
}

// qualified qualifies the functions of Codecs with their class.
func qualified(expression string) string {
	for _, name := range []string{"read", "write", "list(", "map(", "optional("} {
		var b strings.Builder
		rest := expression
		for {
			i := strings.Index(rest, name)
			if i < 0 {
				break
			}
			b.WriteString(rest[:i])
			if i == 0 || strings.ContainsAny(rest[i-1:i], " (") {
				b.WriteString("Codecs.")
			}
			b.WriteString(name)
			rest = rest[i+len(name):]
		}
		b.WriteString(rest)
		expression = b.String()
	}
	return expression
}

// dispatch writes the class through which the host calls extensions.
func (g *generator) dispatch() (*file, error) {
	f := newFile(generatedPackage, "Dispatch")
	for _, name := range []string{"In", "Out"} {
		f.use(wirePackage, name)
	}
	f.use("java.util", "List")
	f.use(basePackage, "AppExtension")
	f.Doc("Calls the methods of extensions with what the server sent, and writes what they answer. The number of a method is its position",
		"in the list of all methods of all extension points.")
	f.Open("public final class Dispatch {")
	f.Doc("What the server must have as well: it stands for the extension points and all types behind them.")
	f.Line("public static final String FINGERPRINT = %q;\n", fingerprint(g.points))
	f.Doc("The extension points in their order.")
	f.Line("public static final List<PointInfo> POINTS = List.of(")
	first := 0
	for i, p := range g.points {
		end := "),"
		if i == len(g.points)-1 {
			end = "));"
		}
		f.Line("        new PointInfo(%s.class, %q, %d, List.of(", f.use(p.Package, p.Name), p.FullName(), first)
		for j, m := range p.Methods {
			var classes []string
			for _, param := range m.Params {
				c, err := g.class(f, param)
				if err != nil {
					return nil, err
				}
				classes = append(classes, c)
			}
			comma := ","
			if j == len(p.Methods)-1 {
				comma = ")" + end
			}
			f.Line("                new MethodInfo(%q, List.of(%s))%s", m.Name, strings.Join(classes, ", "), comma)
		}
		first += len(p.Methods)
	}
	f.WriteByte('\n')
	f.Line("private Dispatch() {}\n")
	if err := f.writeExtra("Dispatch"); err != nil {
		return nil, err
	}
	f.WriteByte('\n')
	f.Doc("Calls a method.", "@param method its number", "@param extension whom to call; it implements the extension point",
		"@param async whether the extension overrides the method that answers later",
		"@param in the arguments", "@param out gets whether there is an answer, and the answer", "@throws Exception what the extension throws")
	f.Open("public static void call(int method, AppExtension extension, boolean async, In in, Out out) throws Exception {")
	f.Open("switch (method) {")
	for i, m := range methodsOf(g.points) {
		f.Line("case %d -> %s((%s) extension, async, in, out);", i, function(m), m.Point.Name)
	}
	f.Line(`default -> throw new IllegalArgumentException("there is no method " + method);`)
	f.Close("}")
	f.Close("}")
	for _, m := range methodsOf(g.points) {
		if err := g.call(f, m); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", m.Point.Name, m.Name, err)
		}
	}
	f.Close("}")
	return f, nil
}

// call writes the function that calls one method.
func (g *generator) call(f *file, m *plugin.Method) error {
	f.WriteByte('\n')
	f.Open("private static void %s(%s extension, boolean async, In in, Out out) throws Exception {", function(m), m.Point.Name)
	var names []string
	for _, p := range m.Params {
		t, err := g.typ(f, p.Type, p.Optional)
		if err != nil {
			return err
		}
		r, err := read(p.Type, "in")
		if err != nil {
			return err
		}
		f.Line("%s %s = %s;", t, p.Name, qualified(r))
		names = append(names, p.Name)
	}
	args := strings.Join(names, ", ")
	if m.Result == nil {
		f.Open("if (async) {")
		f.Line("join(extension.%sAsync(%s));", m.Name, args)
		f.Close("} else {")
		f.Deeper()
		f.Line("extension.%s(%s);", m.Name, args)
		f.Close("}")
		f.Line("out.bool(false);")
	} else {
		t, err := g.typ(f, m.Result, true)
		if err != nil {
			return err
		}
		w, err := write(m.Result, "out", "answer")
		if err != nil {
			return err
		}
		f.Line("%s answer = async ? join(extension.%sAsync(%s)) : extension.%[2]s(%[3]s);", t, m.Name, args)
		f.Line("out.bool(answer != null);")
		f.Open("if (answer != null) {")
		f.Line("%s;", qualified(w))
		f.Close("}")
	}
	f.Close("}")
	return nil
}

// arguments writes the class that acts like the server: it writes arguments and reads results.
func (g *generator) arguments() (*file, error) {
	f := newFile(generatedPackage, "Arguments")
	for _, name := range []string{"In", "Out"} {
		f.use(wirePackage, name)
	}
	f.Doc("The other end of {@link Dispatch}: writes arguments and reads answers, as the server does. Tests of plugins call extensions through it.")
	f.Open("public final class Arguments {")
	f.Line("private Arguments() {}\n")
	f.Doc("Writes the arguments of a call.", "@param method the number of the method", "@param args the arguments", "@param out gets them")
	f.Line(`@SuppressWarnings("unchecked")`)
	f.Open("public static void write(int method, Object[] args, Out out) {")
	f.Open("switch (method) {")
	for i, m := range methodsOf(g.points) {
		f.Open("case %d -> {", i)
		for j, p := range m.Params {
			t, err := g.typ(f, p.Type, true)
			if err != nil {
				return nil, err
			}
			w, err := write(p.Type, "out", fmt.Sprintf("(%s) args[%d]", t, j))
			if err != nil {
				return nil, err
			}
			f.Line("%s;", qualified(w))
		}
		f.Close("}")
	}
	f.Line(`default -> throw new IllegalArgumentException("there is no method " + method);`)
	f.Close("}")
	f.Close("}\n")
	f.Doc("Reads the answer to a call.", "@param method the number of the method", "@param in what the extension answered", "@return the answer, null for nothing")
	f.Open("public static Object read(int method, In in) {")
	f.Open("if (!in.bool()) {")
	f.Line("return null;")
	f.Close("}")
	f.Open("return switch (method) {")
	for i, m := range methodsOf(g.points) {
		if m.Result == nil {
			continue
		}
		r, err := read(m.Result, "in")
		if err != nil {
			return nil, err
		}
		f.Line("case %d -> %s;", i, qualified(r))
	}
	f.Line("default -> null;")
	f.Close("};")
	f.Close("}")
	f.Close("}")
	return f, nil
}

func (g *generator) pointInfo() (*file, error) {
	f := newFile(generatedPackage, "PointInfo")
	f.use("java.util", "List")
	f.Doc("An extension point.", "@param type its interface", "@param name its fully qualified name, as the server knows it",
		"@param first the number of its first method", "@param methods its methods, which have the numbers from there on")
	f.Line("public record PointInfo(Class<?> type, String name, int first, List<MethodInfo> methods) {}")
	return f, nil
}

func (g *generator) methodInfo() (*file, error) {
	f := newFile(generatedPackage, "MethodInfo")
	f.use("java.util", "List")
	f.Doc("A method of an extension point. There is another one with Async at the end of its name.", "@param name its name", "@param parameters the classes of its parameters")
	f.Line("public record MethodInfo(String name, List<Class<?>> parameters) {}")
	return f, nil
}
