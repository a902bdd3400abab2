// SPDX-License-Identifier: Apache-2.0

package property

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxYAMLNodes bounds what aliases can make of a small file.
const maxYAMLNodes = 100_000

// yamlReader brings a parsed file into the common form.
type yamlReader struct {
	file  string
	nodes int
}

// parseYAMLValue parses one document. An empty one is null.
func parseYAMLValue(file string, data []byte) (input, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return input{kind: inputNull, origin: origin{file, 1}}, nil
	case err != nil:
		return input{}, malformedYAML(file, data, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return input{}, &Error{Source: origin{file, second.Line}.String(), Rule: "a configuration file must be one YAML document"}
	case !errors.Is(err, io.EOF):
		return input{}, malformedYAML(file, data, err)
	}
	r := yamlReader{file: file}
	return r.read(&document, 0)
}

func (r *yamlReader) fail(n *yaml.Node, rule string) (input, *Error) {
	return input{}, &Error{Source: origin{r.file, n.Line}.String(), Rule: rule}
}

// read brings a node into the common form. It never repeats what the file says:
// it does not know yet what is sensitive.
func (r *yamlReader) read(n *yaml.Node, depth int) (input, *Error) {
	if r.nodes++; r.nodes > maxYAMLNodes || depth > maxInputDepth {
		return r.fail(n, "the file must not have more than "+strconv.Itoa(maxYAMLNodes)+" values or "+
			strconv.Itoa(maxInputDepth)+" levels, aliases included")
	}
	in := input{origin: origin{r.file, n.Line}}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.read(n.Content[0], depth+1)
	case yaml.AliasNode:
		in, err := r.read(n.Alias, depth+1)
		if err != nil {
			return r.fail(n, err.Rule)
		}
		in.origin.line = n.Line
		return in, nil
	case yaml.SequenceNode:
		in.kind = inputSequence
		for _, item := range n.Content {
			value, err := r.read(item, depth+1)
			if err != nil {
				return in, err
			}
			in.items = append(in.items, value)
		}
	case yaml.MappingNode:
		in.kind = inputMapping
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			switch {
			case key.Kind != yaml.ScalarNode:
				return r.fail(n.Content[i], "the name of a property must be one word")
			case key.ShortTag() == "!!merge":
				return r.fail(n.Content[i], "merge keys (<<) must not be used")
			}
			value, err := r.read(n.Content[i+1], depth+1)
			if err != nil {
				return in, err
			}
			// The line of the name is where a reader looks first.
			value.origin.line = n.Content[i].Line
			in.fields = append(in.fields, inputField{key: key.Value, value: value})
		}
	default:
		return r.scalar(n, in)
	}
	return in, nil
}

func (r *yamlReader) scalar(n *yaml.Node, in input) (input, *Error) {
	switch n.ShortTag() {
	case "!!null":
		in.kind = inputNull
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
		in.kind, in.text, in.tag = inputText, n.Value, n.ShortTag()
	default:
		return r.fail(n, "YAML tags must not be used; put a value that begins with ! in quotes")
	}
	return in, nil
}

var (
	yamlLine   = regexp.MustCompile(`^line (\d+): `)
	yamlAnchor = regexp.MustCompile(`(?s)^unknown anchor '(.*)' referenced$`)
)

// malformedYAML turns an error of the parser into one line with a place. The
// name of an unknown anchor is left out, because an unquoted password that
// begins with * looks like one; for the same reason the cause is not kept.
func malformedYAML(file string, data []byte, err error) *Error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line, at := 1, -1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	} else if m := yamlAnchor.FindStringSubmatch(text); m != nil {
		at = bytes.Index(data, []byte("*"+m[1]))
		text = "unknown anchor; put a value that begins with * in quotes"
	} else {
		at = strangeRune(data)
	}
	if at >= 0 {
		line += bytes.Count(data[:at], []byte{'\n'})
	}
	return &Error{Source: origin{file, line}.String(), Rule: "malformed YAML: " + text}
}

// strangeRune returns the position of the first byte that cannot be in a file,
// or -1. The parser tells no line for those.
func strangeRune(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n\u0085", r) {
			return i
		}
		i += size
	}
	return -1
}
