// SPDX-License-Identifier: Apache-2.0

package js

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-sourcemap/sourcemap"
)

// A sourceMap translates places in a script to places in what it was made of, such as TypeScript.
type sourceMap struct {
	// data is the map as it was found; nil once it is parsed.
	data []byte
	// root is what the map puts before the names of its sources.
	root     string
	consumer *sourcemap.Consumer
}

// mapComment begins the last line of a script that has a map.
const mapComment = "//# sourceMappingURL="

// cutMap splits a script into its code and the reference to its map, "" if it has none.
func cutMap(script string) (code, reference string) {
	i := strings.LastIndex(script, mapComment)
	if i < 0 || i > 0 && script[i-1] != '\n' {
		return script, ""
	}
	reference = strings.TrimSpace(script[i+len(mapComment):])
	if reference == "" || strings.ContainsAny(reference, " \t\r\n") {
		return script, ""
	}
	return script[:i], reference
}

// withoutMap returns the code of a script without its map, and remembers the map. The reference is returned for debuggers.
// A map that cannot be read is reported: the script runs without it.
func (ss *scripts) withoutMap(name, script string) (code, reference string) {
	code, reference = cutMap(script)
	if reference == "" {
		return script, ""
	}
	data, err := ss.readMap(name, reference)
	if err != nil {
		ss.m.log.Warn("the source map of a script cannot be read", "script", name, "map", shorten(reference), "error", err)
		return script, ""
	}
	if data == nil {
		return script, ""
	}
	if ss.maps == nil {
		ss.maps = map[string]*sourceMap{}
	}
	ss.maps[name] = &sourceMap{data: data}
	return code, reference
}

// readMap reads the map of a script: it is in the script, or beside it. It returns nil for a map that nobody can find, that
// of a script without a folder.
func (ss *scripts) readMap(name, reference string) ([]byte, error) {
	if strings.HasPrefix(reference, "data:") {
		return dataOf(reference)
	}
	if !isURL(name) && (ss.folder == nil || isURL(reference)) {
		return nil, nil
	}
	if !isURL(reference) && !strings.HasPrefix(reference, "/") && !strings.HasPrefix(reference, ".") {
		reference = "./" + reference
	}
	full, err := ss.absolute(name, reference)
	if err != nil {
		return nil, err
	}
	text, err := ss.read(full)
	return []byte(text), err
}

// dataOf returns what a data URL holds.
func dataOf(reference string) ([]byte, error) {
	head, body, ok := strings.Cut(strings.TrimPrefix(reference, "data:"), ",")
	if !ok {
		return nil, errors.New("the data URL has no comma")
	}
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
		return nil, fmt.Errorf("the data URL holds %q, not application/json", shorten(kind))
	}
	if isBase64 {
		return base64.StdEncoding.DecodeString(body)
	}
	text, err := url.PathUnescape(body)
	return []byte(text), err
}

// place is a place in a text, such as a line of a stack trace.
var place = regexp.MustCompile(`([^\s()]+):(\d+):(\d+)`)

// sourced translates the places in a text from scripts to what they were made of.
func (ss *scripts) sourced(text string) string {
	if len(ss.maps) == 0 {
		return text
	}
	return place.ReplaceAllStringFunc(text, func(s string) string {
		p := place.FindStringSubmatch(s)
		line, _ := strconv.Atoi(p[2])
		column, _ := strconv.Atoi(p[3])
		found := ss.maps[p[1]]
		if found == nil {
			return s
		}
		if source, line, column, ok := found.source(line, column); ok {
			return fmt.Sprintf("%s:%d:%d", source, line, column)
		}
		return s
	})
}

// source returns where a place in the script comes from. Lines and columns count from 1. The author of the plugin made the
// map: one that is wrong must not cost more than itself.
func (s *sourceMap) source(line, column int) (name string, sourceLine, sourceColumn int, ok bool) {
	defer func() {
		if recover() != nil {
			s.consumer, ok = nil, false
		}
	}()
	if s.data != nil {
		s.parse()
	}
	if s.consumer == nil || line < 1 || column < 1 {
		return "", 0, 0, false
	}
	name, _, sourceLine, sourceColumn, ok = s.consumer.Source(line, column-1)
	if !ok || name == "" {
		return "", 0, 0, false
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, s.root), "/"), sourceLine, sourceColumn + 1, true
}

// parse parses the map, the first time that it is needed.
func (s *sourceMap) parse() {
	data := s.data
	s.data = nil
	var head struct {
		SourceRoot string `json:"sourceRoot"`
	}
	if json.Unmarshal(data, &head) != nil {
		return
	}
	if c, err := sourcemap.Parse("", data); err == nil {
		s.consumer, s.root = c, strings.TrimSuffix(head.SourceRoot, "/")
	}
}
