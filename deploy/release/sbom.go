// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// writeSBOM lists the third-party software of a release.
func (r release) writeSBOM(base string, parts []part) error {
	list := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{r.time.UTC().Format(time.RFC3339), component{Type: "application", Name: "app", Version: r.number()}},
	}
	for _, p := range parts {
		list.Components = append(list.Components, p.component)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, base+".cdx.json"), append(data, '\n'), 0o644)
}
