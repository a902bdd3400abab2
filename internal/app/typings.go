// SPDX-License-Identifier: Apache-2.0

package app

import (
	"maps"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/javasdk"
	"example.org/app/internal/plugin/typings"
	"example.org/app/internal/role"
)

// Typings returns the generated files for authors of plugins by their paths in the source tree.
func Typings() (map[string][]byte, error) {
	var apis []typings.API
	for _, r := range role.All {
		functions, _ := functionsOf([]role.Role{r})
		apis = append(apis, typings.API{Role: r, OpenAPI: OpenAPI(r), Operations: functions})
	}
	files := map[string][]byte{}
	for path, write := range map[string]func() ([]byte, error){
		"sdk/js/points.d.ts":       func() ([]byte, error) { return typings.Points(plugin.Points) },
		"sdk/js/api.d.ts":          func() ([]byte, error) { return typings.Functions(apis...) },
		"sdk/js/codes.d.ts":        func() ([]byte, error) { return typings.Codes(), nil },
		"docs/extension-points.md": func() ([]byte, error) { return typings.Markdown(plugin.Points) },
	} {
		data, err := write()
		if err != nil {
			return nil, err
		}
		files[path] = data
	}
	java, err := javasdk.Files(plugin.Points, apis...)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, java)
	return files, nil
}
