// SPDX-License-Identifier: Apache-2.0

package java

import (
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java/classfile"
)

func parsed(name, super string, refs ...string) *classfile.Class {
	return &classfile.Class{Major: 65, Name: name, Super: super, References: refs}
}

// TestMissing verifies that classes are searched in the jar, in the visible part of the
// server, and in the platform.
func TestMissing(t *testing.T) {
	j := &jarClasses{
		own: map[string]*classfile.Class{
			"p/A": parsed("p/A", "java/lang/Object", "p/B", "p/None", "im/app/plugin/AppPlugin", "im/app/plugin/host/Main", "com/google/protobuf/Message"),
			"p/B": parsed("p/B", "java/lang/Object", "p/None", "javax/servlet/Filter", "javax/crypto/Mac", "com/sun/net/httpserver/HttpServer", "com/sun/jna/Library", "org/xml/sax/Parser"),
		},
		server: map[string]*classfile.Class{
			"im/app/plugin/AppPlugin": parsed("im/app/plugin/AppPlugin", "java/lang/Object"), "im/app/plugin/host/Main": parsed("im/app/plugin/host/Main", "java/lang/Object"),
			"com/google/protobuf/Message": parsed("com/google/protobuf/Message", "java/lang/Object"),
		},
	}
	want := []MissingClass{{"com.sun.jna.Library", "p.B"}, {"im.app.plugin.host.Main", "p.A"}, {"javax.servlet.Filter", "p.B"}, {"p.None", "p.A"}}
	if got := j.missing(); !slices.Equal(got, want) {
		t.Errorf("missing are %v", got)
	}
}

// TestInspectedExtension verifies that inherited and asynchronous methods are found, and no
// methods with other parameters.
func TestInspectedExtension(t *testing.T) {
	const handler, params = "im/app/service/infra/plugin/extension/ClientRequestHandler", "(Lim/app/plugin/model/ClientRequest;)"
	method := func(name, descriptor string) classfile.Method {
		return classfile.Method{Name: name, Descriptor: descriptor, Public: true}
	}
	point := parsed(handler, "java/lang/Object")
	point.Methods = []classfile.Method{method("transform", params+"L;"), method("transformAsync", params+"L;"), method("handle", params+"L;"), method("handleAsync", params+"L;")}
	base := parsed("p/Base", extensionClass)
	base.Abstract, base.Interfaces, base.Methods = true, []string{"p/Mine"}, []classfile.Method{method("transformAsync", params+"Lp/Narrower;")}
	mine := parsed("p/Mine", "java/lang/Object")
	mine.Interface, mine.Interfaces = true, []string{handler}
	x := parsed("p/X", "p/Base")
	x.Methods = []classfile.Method{method("handle", "()V")}
	j := &jarClasses{own: map[string]*classfile.Class{"p/Base": base, "p/Mine": mine, "p/X": x}, server: map[string]*classfile.Class{handler: point}}
	got, ok := j.extension(x)
	if !ok || len(got.Points) != 1 || got.Points[0].Name != "ClientRequestHandler" || len(got.Methods) != 1 || got.Methods[0].Name != "transform" {
		t.Errorf("the extension is %+v", got)
	}
	if _, ok := j.extension(base); ok {
		t.Error("an abstract class is an extension")
	}
	// A cycle of superclasses ends the search.
	loop := parsed("p/Loop", "p/Loop")
	j.own["p/Loop"] = loop
	if _, ok := j.extension(loop); ok {
		t.Error("a class that extends itself is an extension")
	}
}

// TestPacked verifies that only classes that the server provides to plugins are reported.
func TestPacked(t *testing.T) {
	both := map[string]*classfile.Class{}
	for _, name := range []string{"im/app/plugin/AppPlugin", "im/app/plugin/host/Main", "com/google/protobuf/Message", "org/other/Library"} {
		both[name] = parsed(name, "java/lang/Object")
	}
	j := &jarClasses{own: both, server: both}
	if got := j.packed(); !slices.Equal(got, []string{"com.google.protobuf.Message", "im.app.plugin.AppPlugin"}) {
		t.Errorf("packed are %v", got)
	}
}

func TestInspectRefuses(t *testing.T) {
	if _, err := Inspect([]byte("text")); err == nil || !strings.Contains(err.Error(), "not a jar") {
		t.Errorf("the error is %v", err)
	}
}
