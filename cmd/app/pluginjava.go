// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/plugin/java"
)

// javaTemplates are the files of a new plugin in Java or Kotlin.
//
//go:embed java kotlin gradle
var javaTemplates embed.FS

// protobufVersion is the version of the protobuf runtime of the host, which plugins compile
// against.
const protobufVersion = "4.36.2"

// jspecifyVersion is the version of the nullness annotations in the API.
const jspecifyVersion = "1.0.0"

// javaPackage is the package of the classes of a new plugin.
const javaPackage = "org.example.plugin"

// javaArtifacts are the jars that a project needs, and their dependencies.
var javaArtifacts = []struct {
	name, jar    string
	dependencies [][3]string
}{
	{"app-plugin-api", java.APIJar, [][3]string{{"com.google.protobuf", "protobuf-java", protobufVersion}, {"org.jspecify", "jspecify", jspecifyVersion}}},
	{"app-plugin-host", java.HostJar, nil},
	{"app-plugin-test", java.TestJar, [][3]string{{"im.app", "app-plugin-host", ""}}},
}

// kotlinVersion is the version of the compiler and the library in a new plugin in Kotlin.
const kotlinVersion = "2.2.21"

// A dialect is a JVM language of new plugins.
type dialect struct {
	// folder contains the sources, both in the templates and in the project; ext is their
	// extension.
	folder, ext string
}

var (
	inJava   = dialect{"java", "java"}
	inKotlin = dialect{"kotlin", "kt"}
)

// A buildTool is a program that builds plugins for the JVM.
type buildTool struct {
	name, command string
	// templates maps the paths of its files in the project to their templates.
	templates map[string]string
	// output is the folder of the jar.
	output string
}

var (
	byMaven = buildTool{
		name: "Maven", command: "mvn -f %s package", output: "target",
		templates: map[string]string{"pom.xml": "java/pom.xml", "README.md": "java/README.md", ".gitignore": "java/gitignore"},
	}
	byGradle = buildTool{
		name: "Gradle", command: "gradle -p %s build", output: filepath.Join("build", "libs"),
		templates: map[string]string{
			"build.gradle": "gradle/build.gradle", "settings.gradle": "gradle/settings.gradle", gradleProperties: "gradle/gradle.properties",
			filepath.Join("gradle", "plugin.gradle"): "gradle/plugin.gradle", "README.md": "gradle/README.md", ".gitignore": "gradle/gitignore",
		},
	}
)

// gradleProperties is the file of a Gradle project that names the version of the API.
const gradleProperties = "gradle.properties"

// newJVMPlugin creates a Maven or Gradle project.
func newJVMPlugin(dir, name, class string, in dialect, by buildTool) error {
	version, err := writeJavaAPI(dir)
	if err != nil {
		return err
	}
	parts := map[string]string{"COMPILER": "", "PROPERTIES": "", "LIBRARIES": "", "FOLDERS": ""}
	for part := range parts {
		text, err := javaTemplates.ReadFile(in.folder + "/" + strings.ToLower(part) + ".xml.txt")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		parts[part] = string(text)
	}
	replace := strings.NewReplacer(
		"COMPILER", parts["COMPILER"], "PROPERTIES", parts["PROPERTIES"], "LIBRARIES", parts["LIBRARIES"], "FOLDERS", parts["FOLDERS"],
	)
	names := strings.NewReplacer("NAME", name, "CLASS", class, "PACKAGE", javaPackage, "VERSION", version, "KOTLIN", kotlinVersion)
	folder := filepath.FromSlash(strings.ReplaceAll(javaPackage, ".", "/"))
	source, test := filepath.Join("src", "main", in.folder, folder), filepath.Join("src", "test", in.folder, folder)
	files, err := runConfigurations("java", name)
	if err != nil {
		return err
	}
	templates := map[string]string{
		filepath.Join("src", "main", "resources", "plugin.yaml"): "java/plugin.yaml",
		filepath.Join(source, class+"Plugin."+in.ext):            in.folder + "/Plugin." + in.ext,
		filepath.Join(source, class+"Extension."+in.ext):         in.folder + "/Extension." + in.ext,
		filepath.Join(test, class+"Test."+in.ext):                in.folder + "/Test." + in.ext,
	}
	maps.Copy(templates, by.templates)
	for path, template := range templates {
		text, err := javaTemplates.ReadFile(template + ".txt")
		if err != nil {
			return err
		}
		if path == "pom.xml" {
			text = []byte(replace.Replace(string(text)))
		}
		files[path] = []byte(names.Replace(string(text)))
	}
	if err := writeFiles(dir, files); err != nil {
		return err
	}
	fmt.Printf("created %s, a %s project with a plugin that works. Next, with a JDK of version 21 or newer:\n\n"+
		"  %s\n  app plugin check %[4]s\n  app plugin dev %[4]s\n", dir, by.name, fmt.Sprintf(by.command, dir), filepath.Join(dir, by.output, name+".jar"))
	return nil
}

// writeJavaAPI writes the jars that a project needs, which are in no public repository, as a local
// Maven repository, and returns their version.
func writeJavaAPI(dir string) (version string, err error) {
	jars := map[string][]byte{}
	hash := sha256.New()
	for _, a := range javaArtifacts {
		data, err := java.Jar(a.jar)
		if err != nil {
			return "", fmt.Errorf("write the plugin API: %w", err)
		}
		jars[a.name] = data
		hash.Write(data)
	}
	// The version depends on the content, because Maven caches artifacts by version.
	version = "1.0.0-" + hex.EncodeToString(hash.Sum(nil))[:12]
	pom, err := javaTemplates.ReadFile("java/dependency.pom.txt")
	if err != nil {
		return "", err
	}
	files := map[string][]byte{}
	for _, a := range javaArtifacts {
		dependencies := ""
		for _, d := range a.dependencies {
			if d[2] == "" {
				d[2] = version
			}
			dependencies += fmt.Sprintf("\n    <dependency>\n      <groupId>%s</groupId>\n      <artifactId>%s</artifactId>\n      <version>%s</version>\n    </dependency>", d[0], d[1], d[2])
		}
		path := filepath.Join(repository, a.name, version, a.name+"-"+version)
		files[path+".jar"] = jars[a.name]
		if sources, err := java.Jar(a.name + "-sources.jar"); err == nil { // For editors; optional.
			files[path+"-sources.jar"] = sources
		}
		files[path+".pom"] = []byte(strings.NewReplacer("ARTIFACT", a.name, "VERSION", version, "DEPENDENCIES", dependencies).Replace(string(pom)))
	}
	return version, writeFiles(dir, files)
}

// repository is the folder of the jars in a project.
var repository = filepath.Join("repo", "im", "app")

// writeFiles writes files into a folder.
func writeFiles(dir string, files map[string][]byte) error {
	for path, data := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("create a folder of the plugin: %w", err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("write the plugin: %w", err)
		}
	}
	return nil
}

// maxMissing limits how many missing classes are named: libraries may refer to many that are never
// used.
const maxMissing = 20

// printJar prints the report on a jar.
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
			printEndpoints(w, e.Endpoints)
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
			if e.Endpoints {
				fmt.Fprint(w, "    endpoints of the admin interface\n")
			}
		}
		warnings = append(warnings, fmt.Sprintf("what the plugin does when it is loaded is not known: %v", r.NoJava))
	}
	if n := len(r.Packed); n > 0 {
		packed := fmt.Sprintf("%d classes in the jar are also in the server, such as %s: those of the server are used", n, r.Packed[0])
		if n == 1 {
			packed = fmt.Sprintf("class %s in the jar is also in the server: that of the server is used", r.Packed[0])
		}
		warnings = append(warnings, packed+". Give app-plugin-api and protobuf-java the scope provided, so that they are not packed")
	}
	for i, m := range r.Missing {
		if i == maxMissing {
			warnings = append(warnings, fmt.Sprintf("%d more classes are missing", len(r.Missing)-i))
			break
		}
		warnings = append(warnings, fmt.Sprintf("class %s is neither in the jar nor in the server, but %s refers to it: a call that needs it fails with NoClassDefFoundError", m.Class, m.By))
	}
	for _, warning := range warnings {
		fmt.Fprintf(w, "\nWARNING: %s\n", warning)
	}
}
