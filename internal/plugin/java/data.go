// SPDX-License-Identifier: Apache-2.0

package java

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// folder makes the folder of a plugin, unless it is there, and returns its path.
func (q *question) folder() ([]byte, error) {
	if err := q.rest.end(); err != nil {
		return nil, err
	}
	data := q.session.host.opts.Data
	if data == "" {
		return nil, errors.New("plugins have no folders here")
	}
	path, err := filepath.Abs(filepath.Join(data, dataName(q.m.descriptor.ID)))
	if err != nil {
		return nil, fmt.Errorf("make the folder of the plugin: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the plugin: %w", err)
	}
	return appendString(nil, path), nil
}

// maxDataName bounds the name of a folder in bytes. File systems take 255.
const maxDataName = 200

// dataName is the name of the folder of a plugin. It is the id where that can be the name of a file; no two ids have the
// same name.
func dataName(id string) string {
	name := url.PathEscape(id)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	if len(name) > maxDataName {
		sum := sha256.Sum256([]byte(id))
		name = name[:maxDataName-32] + "%" + hex.EncodeToString(sum[:15])
	}
	return name
}
