// SPDX-License-Identifier: Apache-2.0

package java

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// A descriptor is a jar's description of its plugin.
type descriptor struct {
	plugin.Descriptor
	// class is the class of the plugin.
	class string
}

// parseDescriptor parses a descriptor. It ignores unknown keys.
func parseDescriptor(name string, text []byte) (d descriptor, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return d, fmt.Errorf("%s is empty: it must have an id and a class", name)
		}
		return d, fmt.Errorf("%s is not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return d, fmt.Errorf("%s has more than one document", name)
	}
	root := resolve(document.Content[0])
	if root.Kind != yaml.MappingNode {
		return d, fmt.Errorf("%s must have keys and values, and is %s", name, describe(root))
	}
	fail := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n.Line, fmt.Sprintf(format, args...))
	}
	texts := map[string]*string{
		"id": &d.ID, "class": &d.class, "version": &d.Version, "provider": &d.Provider, "license": &d.License, "description": &d.Description,
	}
	grants := map[string]*yaml.Node{"permissions": nil, "hosts": nil, "java": nil}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], resolve(root.Content[i+1])
		if seen[key.Value] {
			return d, fail(key, "%s is there twice", shorten(key.Value))
		}
		seen[key.Value] = true
		if target := texts[key.Value]; target != nil {
			if value.Tag == "!!null" {
				continue
			}
			if value.Kind != yaml.ScalarNode {
				return d, fail(value, "%s must be a text, and is %s", key.Value, describe(value))
			}
			*target = value.Value
		}
		if key.Value == "settings" && value.Tag != "!!null" {
			if d.Settings, err = parseSchema(value); err != nil {
				return d, fail(value, "settings: %v", err)
			}
		}
		if _, ok := grants[key.Value]; ok && value.Tag != "!!null" {
			grants[key.Value] = value
		}
		if key.Value == "compatible-server" || key.Value == "compatible-servers" {
			if err := d.addServers(value, func(n *yaml.Node, format string, args ...any) error {
				return fail(n, key.Value+": "+format, args...)
			}); err != nil {
				return d, err
			}
		}
	}
	for _, key := range []string{"id", "class"} {
		if strings.TrimSpace(*texts[key]) == "" {
			return d, fmt.Errorf("%s must have %s that is not empty", name, map[string]string{"id": "an id", "class": "a class, the name of the class of the plugin,"}[key])
		}
	}
	d.class = strings.TrimSpace(d.class)
	return d, d.readGrants(grants, fail)
}

// readGrants reads the requested grants.
func (d *descriptor) readGrants(nodes map[string]*yaml.Node, fail func(n *yaml.Node, format string, args ...any) error) (err error) {
	var texts [2][]string
	for i, key := range []string{"permissions", "hosts"} {
		n := nodes[key]
		if n == nil {
			continue
		}
		if n.Kind != yaml.SequenceNode {
			return fail(n, "%s must be a list of texts, and is %s", key, describe(n))
		}
		for _, item := range n.Content {
			item = resolve(item)
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return fail(item, "%s must hold texts, and has %s", key, describe(item))
			}
			texts[i] = append(texts[i], item.Value)
		}
		if d.Requested, err = plugin.NewGrants(texts[0], texts[1], false); err != nil {
			return fail(n, "%v", err)
		}
	}
	if n := nodes["java"]; n != nil {
		if n.Tag != "!!bool" || n.Decode(&d.Requested.Java) != nil {
			return fail(n, "java must be true or false, and is %s", describe(n))
		}
	}
	return nil
}

// parseSchema reads the schema of the settings.
func parseSchema(n *yaml.Node) (*plugin.Schema, error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("it must be a JSON Schema, and is %s", describe(n))
	}
	var v map[string]any
	if err := n.Decode(&v); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	return plugin.NewSchema(text)
}

// addServers reads the plugin's roles: a comma-separated text, or a list of texts or of objects
// with a type.
func (d *descriptor) addServers(n *yaml.Node, fail func(n *yaml.Node, format string, args ...any) error) error {
	var names []*yaml.Node
	switch {
	case n.Tag == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode:
		for s := range strings.SplitSeq(n.Value, ",") {
			names = append(names, &yaml.Node{Kind: yaml.ScalarNode, Value: s, Line: n.Line})
		}
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			item = resolve(item)
			if item.Kind == yaml.MappingNode {
				if item = valueOf(item, "type"); item == nil {
					return fail(n, "each server must have a type")
				}
			}
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return fail(item, "a server must be a text, and is %s", describe(item))
			}
			names = append(names, item)
		}
	default:
		return fail(n, "it must be a list of servers, and is %s", describe(n))
	}
	for _, item := range names {
		s := strings.TrimSpace(item.Value)
		r, ok := role.OfServer(s)
		if !ok {
			return fail(item, "%q is neither GATEWAY (app-gateway) nor SERVICE (app-service)", shorten(s))
		}
		if !slices.Contains(d.Servers, r) {
			d.Servers = append(d.Servers, r)
		}
	}
	return nil
}

func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// describe names the kind of a value.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "an object"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("the text %q", shorten(n.Value))
}
