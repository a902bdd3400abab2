// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bufio"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The used subset of CycloneDX 1.6.
type (
	bom struct {
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    metadata    `json:"metadata"`
		Components  []component `json:"components"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		PURL    string `json:"purl,omitempty"`
	}
)

// writeSBOM lists the modules in a binary, from its build information, and the libraries in its
// jars.
func (r release) writeSBOM(base, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read what %s was built from: %w", binary, err)
	}
	list := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{r.time.UTC().Format(time.RFC3339), component{Type: "application", Name: "app", Version: r.number()}},
		Components: []component{{"library", "std", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}},
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list.Components = append(list.Components, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	jars, err := filepath.Glob(filepath.Join(r.root, jarFolder, "*.jar"))
	if err != nil {
		return err
	}
	for _, jar := range jars {
		libraries, err := mavenLibraries(jar)
		if err != nil {
			return err
		}
		list.Components = append(list.Components, libraries...)
	}
	slices.SortFunc(list.Components, func(x, y component) int { return cmp.Compare(x.PURL, y.PURL) })
	list.Components = slices.Compact(list.Components)
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, base+".cdx.json"), append(data, '\n'), 0o644)
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

// sortFiles sorts files into a reproducible order.
func sortFiles(files []file) {
	slices.SortFunc(files, func(x, y file) int { return cmp.Compare(x.name, y.name) })
}
