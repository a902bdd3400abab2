// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/test/need"
)

// current returns the API of this tree, with the version in its pom.xml.
func current(t *testing.T) *API {
	t.Helper()
	data, err := os.ReadFile("../../../../sdk/java/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	var pom struct {
		Version string `xml:"version"`
	}
	if err := xml.Unmarshal(data, &pom); err != nil {
		t.Fatal(err)
	}
	api, err := Current(pom.Version)
	if errors.Is(err, java.ErrNoJars) {
		need.Skip(t, "java", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestAPI compares the API of this tree with that of the last release.
func TestAPI(t *testing.T) {
	now := current(t)
	old, err := Baseline()
	if err != nil {
		t.Fatal(err)
	}
	if found := Check(old, now); len(found) > 0 {
		t.Errorf("plugins of version %s break; docs/plugins.md#stability says what may change, and how:\n%s", old.Version, strings.Join(found, "\n"))
	}
	if len(old.Classes) < 400 || old.Classes["im/app/plugin/AppExtension"] == nil || old.Classes["im/app/proto/UserStatus"] == nil ||
		old.Classes["im/app/plugin/test/PluginRunner"] == nil {
		t.Errorf("the baseline has %d classes, and not those that every plugin uses", len(old.Classes))
	}
}

// TestNames finds classes with the same name in two packages, which a source cannot import both.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for name := range current(t).Classes {
		if strings.Contains(name, "$") || strings.HasPrefix(name, protocol) {
			continue
		}
		simple := name[strings.LastIndex(name, "/")+1:]
		if other := seen[simple]; other != "" {
			t.Errorf("both %s and %s are called %s", dotted(name), dotted(other), simple)
		}
		if slices.Contains([]string{"Message", "UserSession"}, simple) {
			t.Errorf("%s has a name that handlers of requests know from the protocol", name)
		}
		seen[simple] = name
	}
}

func TestWrite(t *testing.T) {
	api := current(t)
	var b bytes.Buffer
	if err := api.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(api, back) {
		t.Error("what is read is not what was written")
	}
	for _, bad := range []string{"", "x\n", title + "1.\n\tm(): public\n", title + "1.\np/C: class\nwhat\n"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is an API", bad)
		}
	}
}

// cases are two versions of classes, and what the second breaks.
var cases = map[string]struct {
	old, now string
	want     []string
}{
	"Same":        {`public class Same { public int x() { return 1; } }`, `public class Same { public int x() { return 2; } int y; private void z() {} }`, nil},
	"Added":       {`public interface Added { void a(); }`, `public interface Added { void a(); default void b() {} static void c() {} }`, nil},
	"Gone":        {`public class Gone {}`, ``, []string{"p.Gone is gone or no longer public"}},
	"Hidden":      {`public class Hidden {}`, `class Hidden {}`, []string{"p.Hidden is gone or no longer public"}},
	"Kind":        {`public interface Kind {}`, `public class Kind {}`, []string{"p.Kind was of the kind interface and is of the kind class"}},
	"Final":       {`public class Final { public void m() {} }`, `public final class Final { public void m() {} }`, []string{"p.Final is final now"}},
	"Sealed":      {`public class Sealed { public void m() {} }`, `public class Sealed { public final void m() {} }`, []string{"p.Sealed: m()V is final now"}},
	"Less":        {`public class Less { public void m() {} }`, `public class Less { protected void m() {} }`, []string{"p.Less: m()V is no longer public"}},
	"Dropped":     {`public class Dropped { public void m(int x) {} }`, `public class Dropped { public void m(long x) {} }`, []string{"p.Dropped has no m(I)V any more"}},
	"Result":      {`public class Result { public Object m() { return null; } }`, `public class Result { public String m() { return null; } }`, []string{"p.Result has no m()Ljava.lang.Object; any more"}},
	"Moved":       {`public class Moved { public void m() {} }`, `public class Moved extends Base {}`, nil},
	"Base":        {`public class Base { public void m() {} }`, `public class Base { public void m() {} }`, nil},
	"Orphan":      {`public class Orphan implements Runnable { public void run() {} }`, `public class Orphan { public void run() {} }`, []string{"p.Orphan no longer extends or implements java.lang.Runnable"}},
	"Demands":     {`public interface Demands { void a(); }`, `public interface Demands { void a(); void b(); }`, []string{"p.Demands demands b()V of those who implement it"}},
	"Harder":      {`public interface Harder { default void a() {} }`, `public interface Harder { void a(); }`, []string{"p.Harder: a()V is abstract now"}},
	"Static":      {`public class Static { public static void m() {} }`, `public class Static { public void m() {} }`, []string{"p.Static: m()V is static in one version only"}},
	"Number":      {`public class Number { public static final int N = 1; }`, `public class Number { public static final int N = 2; }`, []string{"p.Number: N I has the value 2 instead of 1, which compiled plugins keep"}},
	"Items":       {`public class Items { public java.util.List<String> l() { return null; } }`, `public class Items { public java.util.List<Long> l() { return null; } }`, []string{"p.Items: l()Ljava.util.List; has other types: ()Ljava/util/List<Ljava/lang/Long;>; instead of ()Ljava/util/List<Ljava/lang/String;>;"}},
	"Constant":    {`public enum Constant { A, B }`, `public enum Constant { A, C }`, []string{"p.Constant has no B Lp.Constant; any more"}},
	"Point":       {`public record Point(int x) {}`, `public record Point(int x, int y) {}`, []string{"p.Point has no <init>(I)V any more"}},
	"Built":       {`public record Built(int x) { public static Object builder() { return null; } }`, `public record Built(int x, int y) { public static Object builder() { return null; } }`, nil},
	"Constructor": {`public class Constructor { public Constructor() {} }`, `public class Constructor { private Constructor() {} }`, []string{"p.Constructor has no <init>()V any more"}},
	"Old":         {`public class Old { @Deprecated public void m() {} }`, `public class Old {}`, []string{"p.Old has no m()V any more"}},
	"Older":       {`@Deprecated public class Older {}`, ``, []string{"p.Older is gone or no longer public"}},
}

func TestCheck(t *testing.T) {
	javatest.Home(t)
	old, now := map[string]string{}, map[string]string{"p/Also.java": "package p; public class Also {}"}
	var want, later []string
	for name, c := range cases {
		old["p/"+name+".java"] = "package p; " + c.old
		if c.now != "" {
			now["p/"+name+".java"] = "package p; " + c.now
		}
		want = append(want, c.want...)
		if !strings.HasPrefix(name, "Old") {
			later = append(later, c.want...)
		}
	}
	read := func(sources map[string]string, version string) *API {
		api, err := Read(version, javatest.Jar(t, javatest.Plugin{Descriptor: "-", Sources: sources}))
		if err != nil {
			t.Fatal(err)
		}
		return api
	}
	before, after := read(old, "1.2.0"), read(now, "1.3.0")
	compare := func(got, want []string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		for _, s := range got {
			if !slices.Contains(want, s) {
				t.Errorf("found without reason: %s", s)
			}
		}
		for _, s := range want {
			if !slices.Contains(got, s) {
				t.Errorf("not found: %s", s)
			}
		}
	}
	compare(Check(before, after), want)
	after.Version = "2.0.0" // Deprecated declarations may be removed.
	compare(Check(before, after), later)
	if found := Check(before, before); len(found) > 0 {
		t.Errorf("an API breaks itself: %v", found)
	}
}
