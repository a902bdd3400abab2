// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/config/property"
)

// TestSettingProperties pins the properties of what users may set: their names,
// their defaults, and that they may change while the server runs.
func TestSettingProperties(t *testing.T) {
	value := func(path string) []string {
		return []string{
			path + ".type=STRING",
			path + ".intValue.min=-2147483648", path + ".intValue.max=2147483647",
			path + ".longValue.min=-9223372036854775808", path + ".longValue.max=9223372036854775807",
			path + ".doubleValue.min=-1.7976931348623157e+308", path + ".doubleValue.max=1.7976931348623157e+308",
			path + ".stringValue.minLength=0", path + ".stringValue.maxLength=100", path + ".stringValue.regexes=[]",
		}
	}
	want := []string{
		"allowedSettings=[]", "allowedSettings[?].sourceName=", "allowedSettings[?].storedName=",
		"allowedSettings[?].immutable=false", "allowedSettings[?].deletable=true",
	}
	want = append(want, value("allowedSettings[?].value")...)
	want = append(want, "allowedSettings[?].value.arrayValue.minElementCount=0", "allowedSettings[?].value.arrayValue.maxElementCount=10",
		"allowedSettings[?].value.arrayValue.unique=false", "allowedSettings[?].value.arrayValue.allowNullElement=false")
	want = append(want, value("allowedSettings[?].value.arrayValue.element")...)
	want = append(want, "ignoreUnknownSettingsOnUpsert=false", "ignoreUnknownSettingsOnDelete=false")
	for _, noun := range []string{"user", "conversation"} {
		var got []string
		for _, p := range Properties() {
			if path, ok := strings.CutPrefix(p.JSONPath, "service."+noun+".settings."); ok {
				got = append(got, path+"="+p.Default)
				if !p.Mutable || !p.Global {
					t.Errorf("%s is mutable %v, global %v", p.Name, p.Mutable, p.Global)
				}
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the properties are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestAttributeProperties pins the properties of user-defined attributes, which
// are those of settings but that attributes cannot be removed.
func TestAttributeProperties(t *testing.T) {
	var settings, attributes []string
	for _, p := range Properties() {
		if path, ok := strings.CutPrefix(p.JSONPath, "service.user.settings.allowedSettings"); ok && path != "[?].deletable" {
			settings = append(settings, path+"="+p.Default)
		}
		if path, ok := strings.CutPrefix(p.JSONPath, "service.user.info.userDefinedAttributes."); ok {
			attributes = append(attributes, strings.TrimPrefix(path, "allowedAttributes")+"="+p.Default)
			if !p.Mutable || !p.Global {
				t.Errorf("%s is mutable %v, global %v", p.Name, p.Mutable, p.Global)
			}
		}
	}
	if want := append(settings, "ignoreUnknownAttributesOnUpsert=false"); strings.Join(attributes, "\n") != strings.Join(want, "\n") {
		t.Errorf("the properties are\n%s\nwant\n%s", strings.Join(attributes, "\n"), strings.Join(want, "\n"))
	}
}

func TestAllowedSettings(t *testing.T) {
	load := func(list string) (*Config, error) {
		return Load(Options{Home: t.TempDir(), File: writeFile(t, "app:\n  service:\n    user:\n      settings:\n        allowed-settings:\n"+list)})
	}
	if err := (UserDefinedAttributes{AllowedAttributes: []AllowedAttribute{{SourceName: "a"}, {SourceName: "b", StoredName: "a"}}}).Validate(); err == nil || !strings.Contains(err.Error(), "allowed-attributes[1].stored-name") {
		t.Errorf("two attributes of one name give %v", err)
	}
	c, err := load(`
          - {source-name: theme, stored-name: t, immutable: true, value: {type: INT, int-value: {min: 1, max: 3}}}
          - source-name: tags
            deletable: false
            value: {type: array, array-value: {max-element-count: 2, unique: true, element: {string-value: {regexes: ["[a-z]+"]}}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(name string) AllowedSetting {
		var a AllowedSetting
		tree, err := property.New("setting", reflect.TypeFor[AllowedSetting]())
		if err != nil {
			t.Fatal(err)
		}
		tree.SetDefaults(&a)
		a.SourceName = name
		return a
	}
	theme, tags := fresh("theme"), fresh("tags")
	theme.StoredName, theme.Immutable, theme.Value.Type = "t", true, "INT"
	theme.Value.IntValue = IntValueRule{1, 3}
	tags.Deletable, tags.Value.Type, tags.Value.ArrayValue.MaxElementCount, tags.Value.ArrayValue.Unique = false, "ARRAY", 2, true
	tags.Value.ArrayValue.Element.StringValue.Regexes = []string{"[a-z]+"}
	got := c.Service.User.Settings.AllowedSettings
	if want := []AllowedSetting{theme, tags}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got[0].Stored() != "t" || got[1].Stored() != "tags" {
		t.Errorf("stored as %q and %q", got[0].Stored(), got[1].Stored())
	}

	for name, test := range map[string]struct{ list, want string }{
		"no name":         {"[{stored-name: a}]", "source-name"},
		"same name":       {"[{source-name: a}, {source-name: a}]", "allowed-settings[1].source-name"},
		"same store name": {"[{source-name: a}, {source-name: b, stored-name: a}]", "allowed-settings[1].stored-name"},
		"bad type":        {"[{source-name: a, value: {type: DATE}}]", "must be one of INT"},
		"array of arrays": {"[{source-name: a, value: {array-value: {element: {type: ARRAY}}}}]", "must be one of INT"},
		"int range":       {"[{source-name: a, value: {int-value: {min: 2, max: 1}}}]", "must not be greater than max, which is 1"},
		"long range":      {"[{source-name: a, value: {long-value: {min: 2, max: 1}}}]", "must not be greater than max, which is 1"},
		"double range":    {"[{source-name: a, value: {double-value: {min: 2.5, max: 1}}}]", "must not be greater than max, which is 1"},
		"lengths":         {"[{source-name: a, value: {string-value: {min-length: 101}}}]", "must not be greater than max-length, which is 100"},
		"counts":          {"[{source-name: a, value: {array-value: {min-element-count: 11}}}]", "must not be greater than max-element-count, which is 10"},
		"expression":      {"[{source-name: a, value: {string-value: {regexes: ['(']}}}]", "regexes[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load("          " + test.list + "\n"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
		})
	}
}
