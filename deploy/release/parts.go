// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A part is third-party software in a release.
type part struct {
	component
	// licence is the text of its licence and notices.
	licence string
}

// parts returns the third-party software of a release: the Go modules in the binary, from its build
// information, the libraries in the jars, and the npm packages in the console and in the debugger.
func (r release) parts(ctx context.Context, binary string) ([]part, error) {
	var all []part
	for _, collect := range []func() ([]part, error){
		func() ([]part, error) { return r.modules(ctx, binary) },
		r.libraries,
		r.packages,
	} {
		parts, err := collect()
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	slices.SortFunc(all, func(x, y part) int { return cmp.Compare(x.PURL, y.PURL) })
	return slices.CompactFunc(all, func(x, y part) bool { return x.PURL == y.PURL }), nil
}

// modules returns Go's standard library and the Go modules of a binary.
func (r release) modules(ctx context.Context, binary string) ([]part, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built from: %w", binary, err)
	}
	root, err := r.run(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	licence, err := licenceOf(strings.TrimSpace(string(root)))
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	parts := []part{{component{"library", "std", version, "pkg:golang/std@" + version}, licence}}
	if len(info.Deps) == 0 {
		return parts, nil
	}
	args := []string{"go", "mod", "download", "-json"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		args = append(args, m.Path+"@"+m.Version)
	}
	list, err := r.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return parts, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		licence, err := licenceOf(m.Dir)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version}, licence})
	}
}

// run returns the output of a command that runs in the source tree.
func (r release) run(ctx context.Context, command ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(command[:min(len(command), 3)], " "), err)
	}
	return out, nil
}

// licenceFile matches the names of files with licences and notices.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// licenceOf returns the licences and notices in a folder, and an error if there are none.
func licenceOf(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", fmt.Errorf("find the licence: %w", err)
	}
	var texts []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(string(data)))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("%s has no licence", folder)
	}
	return strings.Join(texts, "\n\n"), nil
}

// javaLicences are the files with the licences of the libraries in the jars, by artifact. The
// libraries themselves contain none.
var javaLicences = map[string]string{
	"asm":           "sdk/java/licenses/asm.txt",
	"jspecify":      "LICENSE", // It is under the licence of this project.
	"protobuf-java": "sdk/java/licenses/protobuf-java.txt",
}

// libraries returns the Java libraries in the jars.
func (r release) libraries() ([]part, error) {
	jars, err := filepath.Glob(filepath.Join(r.root, jarFolder, "*.jar"))
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, jar := range jars {
		libraries, err := mavenLibraries(jar)
		if err != nil {
			return nil, err
		}
		for _, l := range libraries {
			group, artifact, _ := strings.Cut(l.Name, ":")
			if group == "im.app" {
				continue // It is of this project.
			}
			name, ok := javaLicences[artifact]
			if !ok {
				return nil, fmt.Errorf("the licence of %s is unknown: add its text to sdk/java/licenses and to javaLicences", l.Name)
			}
			licence, err := os.ReadFile(filepath.Join(r.root, name))
			if err != nil {
				return nil, err
			}
			parts = append(parts, part{l, string(licence)})
		}
	}
	return parts, nil
}

// mavenLibraries returns the Maven artifacts in a jar.
func mavenLibraries(jar string) ([]component, error) {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", jar, err)
	}
	defer archive.Close()
	var found []component
	for _, f := range archive.File {
		if !strings.HasPrefix(f.Name, "META-INF/maven/") || !strings.HasSuffix(f.Name, "/pom.properties") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		properties := map[string]string{}
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), "="); ok {
				properties[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
		group, artifact, version := properties["groupId"], properties["artifactId"], properties["version"]
		found = append(found, component{"library", group + ":" + artifact, version, "pkg:maven/" + group + "/" + artifact + "@" + version})
	}
	return found, nil
}

// packages returns the npm packages in the console, as its build lists them, and the parser in the
// JavaScript debugger.
func (r release) packages() ([]part, error) {
	const list, parser = "internal/console/dist/licenses.json", "internal/plugin/js/inspector/acorn"
	data, err := os.ReadFile(filepath.Join(r.root, list))
	if err != nil {
		return nil, err
	}
	var all []struct{ Name, Version, Identifier, Text string }
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", list, err)
	}
	var parts []part
	for _, p := range all {
		if p.Text == "" {
			p.Text = "The package contains no licence text; it names the licence " + p.Identifier + "."
		}
		parts = append(parts, npmPart(p.Name, p.Version, p.Text))
	}
	source, err := os.ReadFile(filepath.Join(r.root, parser, "acorn.js"))
	if err != nil {
		return nil, err
	}
	version := regexp.MustCompile(`\n\s*var version = "([0-9.]+)";`).FindSubmatch(source)
	if version == nil {
		return nil, fmt.Errorf("%s does not contain its version", parser)
	}
	licence, err := licenceOf(filepath.Join(r.root, parser))
	return append(parts, npmPart("acorn", string(version[1]), licence)), err
}

func npmPart(name, version, licence string) part {
	return part{component{"library", name, version, "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version}, licence}
}

// licencesFile is the file of a release with the licences of third-party software.
const licencesFile = "THIRD_PARTY_LICENSES.txt"

// printLicences prints the contents of licencesFile for a binary.
func (r release) printLicences(ctx context.Context, binary string) error {
	parts, err := r.parts(ctx, binary)
	if err == nil {
		_, err = os.Stdout.Write(r.licences(parts))
	}
	return err
}

// licences returns the contents of licencesFile. Each text occurs once, with the parts that it
// applies to.
func (r release) licences(parts []part) []byte {
	names := map[string][]string{}
	var texts []string
	for _, p := range parts {
		text := strings.TrimSpace(strings.ReplaceAll(p.licence, "\r\n", "\n"))
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], p.Name+" "+p.Version)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s contains the following software of third parties under the licences given.\n", strings.TrimSpace("app "+r.number()))
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[text], "\n"), strings.Repeat("-", 80), text)
	}
	return b.Bytes()
}
