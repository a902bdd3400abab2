// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/test/need"
)

// maven runs Maven on a project with a JDK that is new enough, and without the daemon of the Kotlin
// compiler, which would keep running for hours.
func maven(t *testing.T, project string) {
	t.Helper()
	home := javatest.Home(t)
	if _, err := exec.LookPath("mvn"); err != nil {
		need.Skip(t, "java", err)
	}
	cmd := exec.CommandContext(t.Context(), "mvn", "--batch-mode", "--quiet", "--no-transfer-progress", "-Dkotlin.compiler.daemon=false", "-f", project, "package")
	cmd.Env = append(os.Environ(), "JAVA_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mvn package: %v\n%s", err, out)
	}
}

// TestPluginNewJava builds a new plugin with its test, and loads it in a host.
func TestPluginNewJava(t *testing.T) {
	javatest.Home(t)
	dir := t.TempDir()
	if code, out, errs := output(t, "plugin", "new", "--java", "two-words", "--dir", dir); code != 0 || !strings.Contains(out, "mvn -f "+filepath.Join(dir, "two-words")+" package") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	checkRunConfigurations(t, filepath.Join(dir, "two-words"), "two-words", "5005")
	maven(t, filepath.Join(dir, "two-words"))
	if _, err := os.Stat(filepath.Join(dir, "two-words", "target", "surefire-reports")); err != nil {
		t.Errorf("its test did not run: %v", err)
	}
	jar := filepath.Join(dir, "two-words", "target", "two-words.jar")
	parts := []string{"id           two-words\n", "version      0.1\n", "made for     every server\n", "bytecode     Java 21", "extension org.example.plugin.TwoWordsExtension\n", "ClientRequestHandler: transform (without handle)\n"}
	for _, tt := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"loaded", nil, append(parts, "is a plugin that a server loads")},
		{"not loaded", []string{"--set", "app.plugin.java.home=/nowhere"}, append(parts, "it was not loaded", `WARNING: what the plugin does when it is loaded is not known: app.plugin.java.home = "/nowhere"`)},
	} {
		code, out, errs := output(t, append([]string{"plugin", "check", jar}, tt.args...)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: %d %s", tt.name, code, errs)
		}
		for _, part := range tt.parts {
			if !strings.Contains(out, part) {
				t.Errorf("%s: %s lacks %q", tt.name, out, part)
			}
		}
	}
	for _, args := range [][]string{{"--java", "two-words"}, {"--java", "Bad Name"}, {"--java", "app"}, {"--java", "a", "--js", "b"}, {}} {
		if code, _, errs := output(t, append([]string{"plugin", "new", "--dir", dir}, args...)...); code == 0 || errs == "" {
			t.Errorf("%v is taken: %d %s", args, code, errs)
		}
	}
	checkBroken(t, jar)
}

// TestPluginNewKotlin creates a plugin in Kotlin, makes its API look like that of an older server,
// upgrades it, and builds the plugin with its test.
func TestPluginNewKotlin(t *testing.T) {
	javatest.Home(t)
	dir := t.TempDir()
	if code, out, errs := output(t, "plugin", "new", "--kotlin", "two-words", "--dir", dir); code != 0 || !strings.Contains(out, "with a JDK of version 21 or newer") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	project := filepath.Join(dir, "two-words")
	if code, out, errs := output(t, "plugin", "upgrade", project); code != 0 || errs != "" || !strings.Contains(out, "is up to date") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	file := filepath.Join(project, "pom.xml")
	pom, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, regexp.MustCompile("<app.version>.*</app.version>").ReplaceAll(pom, []byte("<app.version>1.0.0-old</app.version>")), 0o600); err != nil {
		t.Fatal(err)
	}
	api := filepath.Join(project, "repo", "im", "app", "app-plugin-api")
	versions, err := os.ReadDir(api)
	if err != nil || len(versions) != 1 {
		t.Fatal(versions, err)
	}
	if err := os.Rename(filepath.Join(api, versions[0].Name()), filepath.Join(api, "1.0.0-old")); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(project, "src", "main", "kotlin", "*", "*", "*", "*Extension.kt"))
	if err != nil || len(sources) != 1 {
		t.Fatal(sources, err)
	}
	source, err := os.ReadFile(sources[0])
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.ReplaceAll(source, []byte("im.app.plugin.api.users."), []byte("im.app.plugin.api."))
	built := filepath.Join(project, "target", "Old.kt")
	if err := errors.Join(os.MkdirAll(filepath.Dir(built), 0o700), os.WriteFile(built, old, 0o600), os.WriteFile(sources[0], old, 0o600)); err != nil {
		t.Fatal(err)
	}
	checkFailingUpgrade(t, project, file, sources[0])
	if code, out, errs := output(t, "plugin", "upgrade", project); code != 0 || errs != "" || !strings.Contains(out, "before it was 1.0.0-old") ||
		!strings.Contains(out, "TwoWordsExtension.kt: names of classes changed") || strings.Contains(out, "Old.kt") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if after, err := os.ReadFile(sources[0]); err != nil || !bytes.Equal(after, source) || bytes.Equal(old, source) {
		t.Errorf("the source is %s, %v", after, err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, pom) {
		t.Errorf("pom.xml is %s, %v", after, err)
	}
	if left, err := os.ReadDir(api); err != nil || len(left) != 1 || left[0].Name() != versions[0].Name() {
		t.Errorf("the repository has %v, %v", left, err)
	}
	maven(t, project)
	if _, err := os.Stat(filepath.Join(project, "target", "surefire-reports")); err != nil {
		t.Errorf("its test did not run: %v", err)
	}
	code, out, errs := output(t, "plugin", "check", filepath.Join(project, "target", "two-words.jar"))
	if code != 0 || errs != "" || !strings.Contains(out, "extension org.example.plugin.TwoWordsExtension\n") || !strings.Contains(out, "transform (without handle)\n") || strings.Contains(out, "WARNING") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if err := os.WriteFile(file, []byte("<project/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := output(t, "plugin", "upgrade", project); code != 1 || !strings.Contains(errs, "no property app.version") {
		t.Errorf("%d %s", code, errs)
	}
}

// checkFailingUpgrade upgrades a project while one of its files cannot be written, and expects that
// no other file is changed.
func checkFailingUpgrade(t *testing.T, project, blocked string, others ...string) {
	t.Helper()
	obstacle := blocked + ".tmp" // The name of the new file until it replaces the old one.
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	files := append([]string{blocked}, others...)
	before := map[string]string{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before[path] = string(text)
	}
	if code, out, errs := output(t, "plugin", "upgrade", project); code != 1 || out != "" || !strings.Contains(errs, blocked) {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for _, path := range files {
		if after, err := os.ReadFile(path); err != nil || string(after) != before[path] {
			t.Errorf("%s is %s, %v", path, after, err)
		}
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
}

// checkBroken corrupts a valid jar in several ways and expects an error for each, with a Java and
// without.
func checkBroken(t *testing.T, jar string) {
	t.Helper()
	data, err := os.ReadFile(jar)
	if err != nil {
		t.Fatal(err)
	}
	const extension = "org/example/plugin/TwoWordsExtension$Properties.class"
	for _, tt := range []struct {
		name, file, content, want string
		warns                     bool
	}{
		{"no descriptor", "plugin.yaml", "", "it has no plugin.yaml", false},
		{"no class", "plugin.yaml", "id: p\nclass: org.example.None\n", "no class org.example.None", false},
		{"not a plugin", "plugin.yaml", "id: p\nclass: org.example.plugin.TwoWordsExtension\n", "must extend im.app.plugin.AppPlugin", false},
		{"no extension", "org/example/plugin/TwoWordsExtension.class", "", "has no class that extends im.app.plugin.AppExtension", false},
		{"damaged class", "org/example/plugin/TwoWordsExtension.class", "x", "it is not a class file", false},
		{"packed class", "im/app/plugin/AppPlugin.class", serverClass(t, "im/app/plugin/AppPlugin.class"), "WARNING: class im.app.plugin.AppPlugin in the jar is also in the server: that of the server is used. Give", true},
		{"missing class", extension, "", "WARNING: class org.example.plugin.TwoWordsExtension$Properties is neither in the jar nor in the server", true},
	} {
		path := filepath.Join(t.TempDir(), "broken.jar")
		if err := os.WriteFile(path, changed(t, data, tt.file, tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"--set", "app.plugin.java.home=/nowhere"}, nil} {
			code, out, errs := output(t, append([]string{"plugin", "check", path}, args...)...)
			if (code == 0) != tt.warns || !strings.Contains(out+errs, tt.want) {
				t.Errorf("%s %v: %d %s %s", tt.name, args, code, out, errs)
			}
		}
	}
}

// serverClass returns the content of a class file of the API.
func serverClass(t *testing.T, name string) string {
	t.Helper()
	jar, err := java.Jar(java.APIJar)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(z, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// changed returns a jar with a changed file; an empty content removes the file.
func changed(t *testing.T, jar []byte, name, content string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range z.File {
		if f.Name == name || strings.HasSuffix(f.Name, "/") {
			continue
		}
		if err := w.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	if content != "" {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestVersionsOfLibraries compares the versions in new projects with those of the SDK.
func TestVersionsOfLibraries(t *testing.T) {
	pom, err := os.ReadFile(filepath.Join("..", "..", "sdk", "java", "pom.xml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"protobuf": protobufVersion, "jspecify": jspecifyVersion} {
		if found := regexp.MustCompile("<" + name + ".version>(.*)</" + name + ".version>").FindSubmatch(pom); found == nil || string(found[1]) != want {
			t.Errorf("the SDK has another version of %s than %s: %s", name, want, found)
		}
	}
	javatest.Home(t)
	if _, err := java.Jar(java.TestJar); err != nil {
		t.Errorf("make unit builds the jars first: %v", err)
	}
}
