// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"path/filepath"
	"strings"
)

//go:embed debug
var debugTemplates embed.FS

// runConfigurations returns the debug configurations of a new plugin for Visual Studio Code and
// IntelliJ IDEA. kind is js or java.
func runConfigurations(kind, name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for template, path := range map[string]string{
		kind + ".launch.json": filepath.Join(".vscode", "launch.json"),
		kind + ".run.xml":     filepath.Join(".run", "Attach to "+name+".run.xml"),
	} {
		text, err := debugTemplates.ReadFile("debug/" + template + ".txt")
		if err != nil {
			return nil, err
		}
		files[path] = []byte(strings.ReplaceAll(string(text), "NAME", name))
	}
	return files, nil
}
