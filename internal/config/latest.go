// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// latestFile returns the path of the file with changes at run time on this node.
func latestFile(home string) string { return filepath.Join(home, "config", "application-latest.yaml") }

// SaveLatest merges nested camelCase values into the file with changes at run time on this node,
// which Load reads at the next start. It replaces the file atomically.
func SaveLatest(home string, values map[string]any) error {
	file := latestFile(home)
	all := map[string]any{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %q: %w", file, err)
	}
	app, _ := all[rootName].(map[string]any)
	if app == nil {
		app = map[string]any{}
	}
	mergeMaps(app, values)
	var b bytes.Buffer
	b.WriteString("# Written by the server: settings that were changed on this node while it ran.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(map[string]any{rootName: app}); err != nil {
		return fmt.Errorf("write %q: %w", file, err)
	}
	if err := replaceFile(file, b.Bytes()); err != nil {
		return fmt.Errorf("write %q: %w", file, err)
	}
	return nil
}

// mergeMaps merges from into into.
func mergeMaps(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		if old, ok := into[key].(map[string]any); ok && isMap {
			mergeMaps(old, inner)
			continue
		}
		into[key] = value
	}
}

// replaceFile replaces a file atomically.
func replaceFile(file string, data []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".application-latest-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
