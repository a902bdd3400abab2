// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/plugin/java"
)

// javaTemplates are the files of a new plugin in Java.
//
//go:embed java
var javaTemplates embed.FS

// protobufVersion is that of the protobuf runtime in the host, with which plugins are compiled.
const protobufVersion = "4.36.2"

// javaPackage is the package of the classes of a new plugin.
const javaPackage = "org.example.plugin"

// javaArtifacts are the jars that a project needs, and what each needs.
var javaArtifacts = []struct {
	name, jar    string
	dependencies [][3]string
}{
	{"app-plugin-api", java.APIJar, [][3]string{{"com.google.protobuf", "protobuf-java", protobufVersion}}},
	{"app-plugin-host", java.HostJar, nil},
	{"app-plugin-test", java.TestJar, [][3]string{{"im.app", "app-plugin-host", ""}}},
}

// newJavaPlugin makes a Maven project. The jars that it needs are in no public repository, so it gets them as a
// repository of its own.
func newJavaPlugin(dir, name, class string) error {
	jars := map[string][]byte{}
	hash := sha256.New()
	for _, a := range javaArtifacts {
		data, err := java.Jar(a.jar)
		if err != nil {
			return fmt.Errorf("make a plugin in Java: %w", err)
		}
		jars[a.name] = data
		hash.Write(data)
	}
	// The version says what is inside, because Maven remembers what it once got under a version.
	version := "1.0.0-" + hex.EncodeToString(hash.Sum(nil))[:12]
	replace := strings.NewReplacer("NAME", name, "CLASS", class, "PACKAGE", javaPackage, "VERSION", version)
	folder := filepath.FromSlash(strings.ReplaceAll(javaPackage, ".", "/"))
	source, test := filepath.Join("src", "main", "java", folder), filepath.Join("src", "test", "java", folder)
	files := map[string][]byte{}
	for template, path := range map[string]string{
		"pom.xml": "pom.xml", "README.md": "README.md", "gitignore": ".gitignore",
		"plugin.yaml":    filepath.Join("src", "main", "resources", "plugin.yaml"),
		"Plugin.java":    filepath.Join(source, class+"Plugin.java"),
		"Extension.java": filepath.Join(source, class+"Extension.java"),
		"Test.java":      filepath.Join(test, class+"Test.java"),
	} {
		text, err := javaTemplates.ReadFile("java/" + template + ".txt")
		if err != nil {
			return err
		}
		files[path] = []byte(replace.Replace(string(text)))
	}
	pom, err := javaTemplates.ReadFile("java/dependency.pom.txt")
	if err != nil {
		return err
	}
	for _, a := range javaArtifacts {
		dependencies := ""
		for _, d := range a.dependencies {
			if d[2] == "" {
				d[2] = version
			}
			dependencies += fmt.Sprintf("\n    <dependency>\n      <groupId>%s</groupId>\n      <artifactId>%s</artifactId>\n      <version>%s</version>\n    </dependency>", d[0], d[1], d[2])
		}
		path := filepath.Join("repo", "im", "app", a.name, version, a.name+"-"+version)
		files[path+".jar"] = jars[a.name]
		if sources, err := java.Jar(a.name + "-sources.jar"); err == nil { // For editors, which do without.
			files[path+"-sources.jar"] = sources
		}
		files[path+".pom"] = []byte(strings.NewReplacer("ARTIFACT", a.name, "VERSION", version, "DEPENDENCIES", dependencies).Replace(string(pom)))
	}
	for path, data := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make a folder of the plugin: %w", err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("write the plugin: %w", err)
		}
	}
	fmt.Printf("%[1]s is a Maven project with a plugin that works. Next, with a JDK of version 21 or newer:\n\n"+
		"  mvn -f %[1]s package\n  app plugin check %[2]s\n  app plugin dev %[2]s\n", dir, filepath.Join(dir, "target", name+".jar"))
	return nil
}

// maxMissing is how many missing classes are named: libraries may refer to many that nobody needs.
const maxMissing = 20

// printJar prints what was learned of a jar.
func printJar(w io.Writer, file string, r *adapter.JarReport) {
	bytecode := fmt.Sprintf("Java %d (%d classes)", r.Bytecode, r.Classes)
	var warnings []string
	if r.Plugin != nil {
		fmt.Fprintf(w, "%s is a plugin that a server loads\n\n", file)
		printDescriptor(w, r.Plugin.Descriptor, [2]string{"class", r.Class}, [2]string{"bytecode", bytecode})
		for _, e := range r.Plugin.Extensions() {
			fmt.Fprintf(w, "\n  extension %s\n", e.Class)
			for _, point := range e.Points {
				printPoint(w, point, e.Methods)
			}
		}
		warnings = r.Plugin.Warnings()
	} else {
		fmt.Fprintf(w, "%s looks like a plugin; it was not loaded\n\n", file)
		printDescriptor(w, r.Descriptor, [2]string{"class", r.Class}, [2]string{"bytecode", bytecode})
		for _, e := range r.Extensions {
			fmt.Fprintf(w, "\n  extension %s\n", e.Class)
			for _, point := range e.Points {
				printPoint(w, point, e.Methods)
			}
		}
		warnings = append(warnings, fmt.Sprintf("what the plugin does when it is loaded is not known: %v", r.NoJava))
	}
	if n := len(r.Packed); n > 0 {
		warnings = append(warnings, fmt.Sprintf("%d classes in the jar are in the server, too, such as %s: the server's are used. "+
			"Give app-plugin-api and protobuf-java the scope provided, so that they are not packed", n, r.Packed[0]))
	}
	for i, m := range r.Missing {
		if i == maxMissing {
			warnings = append(warnings, fmt.Sprintf("%d more classes are missing", len(r.Missing)-i))
			break
		}
		warnings = append(warnings, fmt.Sprintf("class %s is neither in the jar nor in the server, and %s refers to it: a call that needs it fails with NoClassDefFoundError", m.Class, m.By))
	}
	for _, warning := range warnings {
		fmt.Fprintf(w, "\nWARNING: %s\n", warning)
	}
}
