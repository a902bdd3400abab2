// SPDX-License-Identifier: Apache-2.0

package java

import (
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

func TestDescriptor(t *testing.T) {
	full := descriptor{class: "b.C", Descriptor: plugin.Descriptor{ID: "a", Version: "1.20", Provider: "me", License: "MIT", Description: "What it is.", Servers: []role.Role{role.Service, role.Gateway}}}
	for _, c := range []struct {
		name, text string
		want       descriptor
		err        string
	}{
		{"least", "id: a\nclass: b.C", descriptor{class: "b.C", Descriptor: plugin.Descriptor{ID: "a"}}, ""},
		{"full", "id: a\nclass: b.C\nversion: 1.20\nprovider: me\nlicense: MIT\ndescription: What it is.\ncompatible-server:\n  - type: SERVICE\n  - type: app-gateway\n", full, ""},
		{"other spelling", "id: a\nclass: b.C\nversion: '1.20'\nprovider: me\nlicense: MIT\ndescription: What it is.\ncompatible-servers: [app-service, GATEWAY]\n", full, ""},
		{"as a text", "id: a\nclass: b.C\nversion: '1.20'\nprovider: me\nlicense: MIT\ndescription: What it is.\ncompatible-servers: app-service, GATEWAY\n", full, ""},
		{"others", "id: 5\nclass: b.C\nversion:\ncompatible-server:\nwhatever: {a: b}", descriptor{class: "b.C", Descriptor: plugin.Descriptor{ID: "5"}}, ""},
		{"grants", "id: a\nclass: b.C\npermissions: [USER_QUERY, USER_CREATE]\nhosts: ['*.Example.org', 127.0.0.1:80]\njava: true", descriptor{class: "b.C", Descriptor: plugin.Descriptor{
			ID: "a", Requested: plugin.Grants{Permissions: []permission.Permission{permission.UserCreate, permission.UserQuery}, Hosts: []string{"*.example.org", "127.0.0.1:80"}, Java: true},
		}}, ""},
		{"no grants", "id: a\nclass: b.C\npermissions:\nhosts: []\njava: false", descriptor{class: "b.C", Descriptor: plugin.Descriptor{ID: "a"}}, ""},
		{"unknown permission", "id: a\nclass: b.C\npermissions: [USER_READ]", descriptor{}, `plugin.yaml:3: permissions: "USER_READ" is not a permission of the admin interface`},
		{"permissions as a text", "id: a\nclass: b.C\npermissions: USER_QUERY", descriptor{}, `plugin.yaml:3: permissions must be a list of texts, and is the text "USER_QUERY"`},
		{"host as an object", "id: a\nclass: b.C\nhosts: [{a: b}]", descriptor{}, "plugin.yaml:3: hosts must hold texts, and has an object"},
		{"bad host", "id: a\nclass: b.C\nhosts: ['http://a.example']", descriptor{}, `plugin.yaml:3: hosts: "http://a.example" is not a host`},
		{"java as a text", "id: a\nclass: b.C\njava: perhaps", descriptor{}, `plugin.yaml:3: java must be true or false, and is the text "perhaps"`},
		{"empty", "", descriptor{}, "plugin.yaml is empty: it must have an id and a class"},
		{"comment", "# nothing", descriptor{}, "plugin.yaml is empty"},
		{"no YAML", "id: a\n\tclass: b", descriptor{}, "plugin.yaml is not YAML: line 2"},
		{"list", "- id", descriptor{}, "must have keys and values, and is a list"},
		{"text", "id", descriptor{}, `must have keys and values, and is the text "id"`},
		{"two documents", goodDescriptor + "---\nid: b", descriptor{}, "more than one document"},
		{"no id", "class: b.C", descriptor{}, "must have an id that is not empty"},
		{"blank id", "id: ' '\nclass: b.C", descriptor{}, "must have an id that is not empty"},
		{"null id", "id:\nclass: b.C", descriptor{}, "must have an id that is not empty"},
		{"no class", "id: a", descriptor{}, "must have a class"},
		{"blank class", "id: a\nclass: ''", descriptor{}, "must have a class"},
		{"list as id", "class: b.C\nid: [a]", descriptor{}, "plugin.yaml:2: id must be a text, and is a list"},
		{"object as version", "id: a\nclass: b\nversion: {a: b}", descriptor{}, "plugin.yaml:3: version must be a text, and is an object"},
		{"twice", "id: a\nid: b\nclass: c", descriptor{}, "id"},
		{"unknown server", "id: a\nclass: b\ncompatible-server: [{type: MOON}]", descriptor{}, `plugin.yaml:3: compatible-server: "MOON" is neither GATEWAY (app-gateway) nor SERVICE (app-service)`},
		{"server without type", "id: a\nclass: b\ncompatible-server: [{kind: SERVICE}]", descriptor{}, "each server must have a type"},
		{"server as object", "id: a\nclass: b\ncompatible-server: {type: SERVICE}", descriptor{}, "it must be a list of servers, and is an object"},
		{"server as list", "id: a\nclass: b\ncompatible-server: [[SERVICE]]", descriptor{}, "a server must be a text, and is a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseDescriptor("plugin.yaml", []byte(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("it is %+v, %v", got, err)
			}
		})
	}
}
