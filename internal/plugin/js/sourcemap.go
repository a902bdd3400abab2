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

// A sourceMap maps positions in a script to its sources, such as TypeScript.
type sourceMap struct {
	// data is the unparsed map; nil once it is parsed.
	data []byte
	// root is the map's prefix for the names of its sources.
	root     string
	consumer *sourcemap.Consumer
}

// mapComment is the prefix of the last line of a script with a map.
const mapComment = "//# sourceMappingURL="

// cutMap splits a script into its code and the reference to its map, "" if there is none.
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

// withoutMap returns the code of a script without its map, and stores the map. The reference is
// returned for debuggers. An unreadable map is reported: the script runs without it.
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

// readMap reads the map of a script, inline or from a file beside it. It returns nil for a script
// without a folder.
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

// dataOf returns the content of a data URL.
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

// place matches a position in a text, such as a line of a stack trace.
var place = regexp.MustCompile(`([^\s()]+):(\d+):(\d+)`)

// sourced translates positions in a text from scripts to their sources.
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

// source maps a position in the script to its source. Lines and columns count from 1. The map comes
// from the plugin's author: an invalid one must not cause other failures.
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

// parse parses the map on first use.
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
