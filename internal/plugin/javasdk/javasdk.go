// SPDX-License-Identifier: Apache-2.0

// Package javasdk writes the generated part of the Java SDK: the interfaces of the extension points, records of what they
// get and answer, the code that reads and writes these on the pipes of the Java host, the status codes, and the
// operations of the admin interface. All of it comes from the declarations; nothing here is declared anew.
//
// What a value looks like on the pipes follows from its Go type alone:
//
//	bool                     one byte
//	integers, enums          zigzag varint
//	float32, float64         4 or 8 bytes, big endian
//	string, []byte           varint length, bytes
//	time.Time                zigzag varint of milliseconds since 1970
//	pointers                 one byte that is 0 for nil, then what they point to
//	messages of the protocol as pointers; then varint length, bytes
//	structs                  their fields in order
//	slices                   varint count, items
//	maps                     varint count, keys and values
//	map[string]any           a string that holds its JSON
//
// The Go end of the pipes is not here: internal/plugin/java is.
package javasdk

import (
	"fmt"
	"path"
	"strings"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/typings"
)

// Folders hold the generated sources and nothing else.
const (
	APIFolder  = "sdk/java/app-plugin-api/src/generated/java"
	HostFolder = "sdk/java/app-plugin-host/src/generated/java"
)

const (
	basePackage      = "im.app.plugin"
	modelPackage     = basePackage + ".model"
	apiPackage       = basePackage + ".api"
	protoPackage     = "im.app.proto"
	wirePackage      = basePackage + ".host.wire"
	generatedPackage = basePackage + ".host.generated"
)

// Files returns all generated sources by their paths in the source tree.
func Files(points []*plugin.Point, apis ...typings.API) (map[string][]byte, error) {
	g, err := newGenerator(points)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	add := func(folder string, f *file, err error) error {
		if err != nil {
			return err
		}
		data, err := f.bytes()
		if err != nil {
			return err
		}
		files[path.Join(folder, strings.ReplaceAll(f.pkg, ".", "/"), f.name+".java")] = data
		return nil
	}
	for _, p := range points {
		f, err := g.point(p)
		if err := add(APIFolder, f, err); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	for _, t := range g.structs {
		f, err := g.record(t)
		if err := add(APIFolder, f, err); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name(), err)
		}
	}
	if err := add(APIFolder, codes(), nil); err != nil {
		return nil, err
	}
	for _, write := range []func() (*file, error){g.dispatch, g.codecs, g.arguments, g.pointInfo, g.methodInfo} {
		f, err := write()
		if err := add(HostFolder, f, err); err != nil {
			return nil, err
		}
	}
	operations, err := operations(apis)
	if err != nil {
		return nil, err
	}
	for _, f := range operations {
		if err := add(APIFolder, f, nil); err != nil {
			return nil, err
		}
	}
	return files, nil
}
