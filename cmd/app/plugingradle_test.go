// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/test/need"
)

// newGradlePlugin creates a plugin for Gradle and returns its folder.
func newGradlePlugin(t *testing.T, name string) string {
	t.Helper()
	javatest.Home(t)
	dir := t.TempDir()
	project := filepath.Join(dir, name)
	if code, out, errs := output(t, "plugin", "new", "--java", name, "--build", "gradle", "--dir", dir); code != 0 || !strings.Contains(out, "gradle -p "+project+" build") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	return project
}

// gradle runs Gradle on a project. The Gradle of Debian and Ubuntu needs an older Java than the one
// that plugins are compiled for.
func gradle(t *testing.T, project string) {
	t.Helper()
	home := javatest.Home(t)
	if _, err := exec.LookPath("gradle"); err != nil {
		need.Skip(t, "gradle", err)
	}
	for _, java := range []string{home, oldJava(t)} {
		cmd := exec.CommandContext(t.Context(), "gradle", "--version")
		cmd.Env = append(os.Environ(), "JAVA_HOME="+java)
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("JVM:")) {
			continue
		}
		cmd = exec.CommandContext(t.Context(), "gradle", "--no-daemon", "--quiet", "-Pjdk="+home, "-p", project, "build")
		cmd.Env = append(os.Environ(), "JAVA_HOME="+java)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gradle build: %v\n%s", err, out)
		}
		return
	}
	need.Skip(t, "gradle", "no Java on which it runs")
}

// oldJava returns the home of a Java 17, which every Gradle of the last years runs on, or a folder
// that does not exist.
func oldJava(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/jvm/*17*/bin/java")
	if err != nil || len(found) == 0 {
		return filepath.Join(t.TempDir(), "none")
	}
	return filepath.Dir(filepath.Dir(found[0]))
}

// TestPluginNewGradle builds a new plugin with Gradle, with its test and a library, and runs it on
// a server.
func TestPluginNewGradle(t *testing.T) {
	project := newGradlePlugin(t, "two-words")
	checkRunConfigurations(t, project, "two-words", "5005")
	// Two libraries provide the same service, beside one of the plugin itself.
	service := "META-INF/services/org.example.Service"
	libraries := ""
	for _, name := range []string{"one", "two"} {
		writeJar(t, filepath.Join(project, "libs", name+".jar"), map[string]string{
			service: "# " + name + "\norg.example." + name + " # the best\norg.example.Both\n", name + ".txt": name, "both.txt": name,
			"META-INF/LIBRARY.SF": "x", "module-info.class": "x",
		})
		libraries += "    implementation files('libs/" + name + ".jar')\n"
	}
	edit(t, filepath.Join(project, "build.gradle"), "dependencies {\n", "dependencies {\n"+libraries)
	own := filepath.Join(project, "src", "main", "resources", filepath.FromSlash(service))
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("org.example.Own"), 0o600); err != nil {
		t.Fatal(err)
	}
	gradle(t, project)
	if found, err := filepath.Glob(filepath.Join(project, "build", "test-results", "test", "*.xml")); err != nil || len(found) == 0 {
		t.Errorf("its test did not run: %v", err)
	}
	jar := filepath.Join(project, "build", "libs", "two-words.jar")
	want := map[string]string{service: "org.example.Own\norg.example.one\norg.example.Both\norg.example.two\n", "one.txt": "one", "two.txt": "two", "both.txt": "one"}
	for name, data := range readJar(t, jar) {
		if text, ok := want[name]; ok && text != data {
			t.Errorf("%s in the jar is %q", name, data)
		}
		delete(want, name)
		if name == "module-info.class" || strings.HasSuffix(name, ".SF") || strings.HasPrefix(name, "im/app/") {
			t.Errorf("%s is in the jar", name)
		}
	}
	if len(want) > 0 {
		t.Errorf("the jar lacks %v", want)
	}
	code, out, errs := output(t, "plugin", "check", jar)
	if code != 0 || errs != "" || !strings.Contains(out, "extension org.example.plugin.TwoWordsExtension\n") || !strings.Contains(out, "bytecode     Java 21") || strings.Contains(out, "WARNING") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	home := t.TempDir()
	plugins := filepath.Join(home, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(jar)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(plugins, "two-words.jar"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, home)
	s.get("/admins", "app")
	s.Process.Signal(os.Interrupt)
	if code := s.wait(); code != 0 || !strings.Contains(s.banner+s.stderr.String(), "an administrator: queryAdmins, which ended with 1000") {
		t.Errorf("exit code %d, the plugin was not called:\n%s%s", code, s.banner, s.stderr.String())
	}
}

// TestGradleLikeMaven compares the contents of both kinds of projects, without running either tool.
func TestGradleLikeMaven(t *testing.T) {
	project := newGradlePlugin(t, "two-words")
	dir := t.TempDir()
	if code, _, errs := output(t, "plugin", "new", "--java", "two-words", "--dir", dir); code != 0 {
		t.Fatal(errs)
	}
	maven := filepath.Join(dir, "two-words")
	own := []string{"build.gradle", "settings.gradle", "gradle.properties", "gradle/plugin.gradle", "pom.xml"}
	text := func(dir, name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	list := func(dir string) (files []string) {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(dir, path)
			if name = filepath.ToSlash(name); err == nil && !d.IsDir() && !slices.Contains(own, name) {
				files = append(files, name)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return files
	}
	files := list(project)
	if others := list(maven); !slices.Equal(files, others) {
		t.Errorf("the projects have %v and %v", files, others)
	}
	for _, name := range files {
		if name != "README.md" && name != ".gitignore" && text(project, name) != text(maven, name) {
			t.Errorf("%s differs", name)
		}
	}
	build, pom := text(project, "build.gradle"), text(maven, "pom.xml")
	value := func(text, pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Errorf("%s is not in %s", pattern, text)
			return ""
		}
		return found[1]
	}
	for what, patterns := range map[string][3]string{
		"group":   {build, `group = '(.*)'`, `<groupId>(.*)</groupId>`},
		"version": {build, `\nversion = '(.*)'`, `<version>(.*)</version>`},
		"name":    {text(project, "settings.gradle"), `rootProject.name = '(.*)'`, `<artifactId>(.*)</artifactId>`},
		"API":     {text(project, "gradle.properties"), `appVersion=(.*)`, `<app.version>(.*)</app.version>`},
		"release": {text(project, "gradle/plugin.gradle"), `release.set\((.*)\)`, `<maven.compiler.release>(.*)</maven.compiler.release>`},
		"JUnit":   {build, `junit-jupiter:(.*)'`, `<artifactId>junit-jupiter</artifactId>\s*<version>(.*)</version>`},
	} {
		if a, b := value(patterns[0], patterns[1]), value(pom, patterns[2]); a != b {
			t.Errorf("%s is %q and %q", what, a, b)
		}
	}
	// Upgrade updates the version of the API in both.
	for dir, file := range map[string]string{project: "gradle.properties", maven: "pom.xml"} {
		before := text(dir, file)
		edit(t, filepath.Join(dir, file), value(before, `(1\.0\.0-[0-9a-f]{12})`), "1.0.0-old")
		if code, out, errs := output(t, "plugin", "upgrade", dir); code != 0 || !strings.Contains(out, "before it was 1.0.0-old") {
			t.Errorf("%s: %d %s %s", file, code, out, errs)
		}
		if after := text(dir, file); after != before {
			t.Errorf("%s is %s", file, after)
		}
	}
	edit(t, filepath.Join(project, "gradle.properties"), "appVersion", "another")
	if code, _, errs := output(t, "plugin", "upgrade", project); code != 1 || !strings.Contains(errs, "gradle.properties has no property appVersion") {
		t.Errorf("%d %s", code, errs)
	}
	for _, args := range [][]string{{"--kotlin", "other", "--build", "gradle"}, {"--js", "other", "--build", "gradle"}, {"--java", "other", "--build", "ant"}} {
		if code, _, errs := output(t, append([]string{"plugin", "new", "--dir", dir}, args...)...); code == 0 || !strings.Contains(errs, "build") {
			t.Errorf("%v is taken: %d %s", args, code, errs)
		}
	}
}

// edit replaces a part of a file; the part must exist.
func edit(t *testing.T, path, part, by string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(part)) {
		t.Fatalf("%s has no %q", path, part)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(part), []byte(by), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeJar writes a jar with these files.
func writeJar(t *testing.T, path string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readJar reads the files of a jar.
func readJar(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]string{}
	for _, f := range z.File {
		data, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(data)
	}
	return files
}
