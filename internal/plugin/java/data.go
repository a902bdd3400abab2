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

// folder returns the path of a plugin's data folder, creating it if necessary.
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

// maxDataName is the maximum length of a folder's name in bytes. File systems allow 255.
const maxDataName = 200

// dataName returns the name of a plugin's folder: the id if it is a valid file name. It is unique
// for each id.
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
