// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"regexp"

	"example.org/app/internal/config/property"
)

// Settings says which settings users may have.
type Settings struct {
	AllowedSettings               []AllowedSetting `doc:"The settings that are allowed."`
	IgnoreUnknownSettingsOnUpsert bool             `default:"false" doc:"Whether settings that are not allowed are ignored, instead of causing an error, when users change settings."`
	IgnoreUnknownSettingsOnDelete bool             `default:"false" doc:"Whether settings that are not allowed are ignored, instead of causing an error, when users remove settings."`
}

// Validate checks that no two settings have the same name.
func (s Settings) Validate() error { return differentNames("allowed-settings", s.AllowedSettings) }

func differentNames(name string, list []AllowedSetting) error {
	const rule = "must not be that of another one"
	sources, stored := make(map[string]bool), make(map[string]bool)
	for i, allowed := range list {
		if sources[allowed.SourceName] {
			return property.Violation(fmt.Sprintf("%s[%d].source-name", name, i), rule)
		}
		if stored[allowed.Stored()] {
			return property.Violation(fmt.Sprintf("%s[%d].stored-name", name, i), rule)
		}
		sources[allowed.SourceName], stored[allowed.Stored()] = true, true
	}
	return nil
}

// AllowedSetting is a setting that users may have.
type AllowedSetting struct {
	SourceName string    `required:"true" doc:"The name of the setting for users."`
	StoredName string    `doc:"The stored name of the setting; empty means the source name."`
	Immutable  bool      `default:"false" doc:"Whether the setting cannot be changed once it is set."`
	Deletable  bool      `default:"true" doc:"Whether the setting can be removed."`
	Value      ValueRule `doc:"What the setting may be."`
}

// Stored is the name by which the setting is stored.
func (a AllowedSetting) Stored() string {
	if a.StoredName == "" {
		return a.SourceName
	}
	return a.StoredName
}

// UserDefinedAttributes says which attributes users may give to something.
type UserDefinedAttributes struct {
	AllowedAttributes               []AllowedAttribute `doc:"The attributes that are allowed."`
	IgnoreUnknownAttributesOnUpsert bool               `default:"false" doc:"Whether attributes that are not allowed are ignored, instead of causing an error, when users change attributes."`
}

// Validate checks that no two attributes have the same name.
func (a UserDefinedAttributes) Validate() error {
	return differentNames("allowed-attributes", a.Settings().AllowedSettings)
}

// Settings are the attributes as settings, by whose rules they go.
func (a UserDefinedAttributes) Settings() Settings {
	s := Settings{IgnoreUnknownSettingsOnUpsert: a.IgnoreUnknownAttributesOnUpsert}
	for _, allowed := range a.AllowedAttributes {
		s.AllowedSettings = append(s.AllowedSettings, AllowedSetting{
			SourceName: allowed.SourceName, StoredName: allowed.StoredName, Immutable: allowed.Immutable, Deletable: true, Value: allowed.Value,
		})
	}
	return s
}

// AllowedAttribute is an attribute that users may give.
type AllowedAttribute struct {
	SourceName string    `required:"true" doc:"The name of the attribute for users."`
	StoredName string    `doc:"The stored name of the attribute; empty means the source name."`
	Immutable  bool      `default:"false" doc:"Whether the attribute cannot be changed once it is set."`
	Value      ValueRule `doc:"The allowed values of the attribute."`
}

// ValueRule says what a value may be that users make up.
type ValueRule struct {
	Type string `default:"STRING" enum:"INT,LONG,DOUBLE,BOOL,STRING,LANGUAGE,ARRAY" doc:"The type of the value."`
	ValueLimits
	ArrayValue ArrayValueRule `doc:"The limits of an ARRAY."`
}

// ElementRule says what the elements of an array may be. They are not arrays.
type ElementRule struct {
	Type string `default:"STRING" enum:"INT,LONG,DOUBLE,BOOL,STRING,LANGUAGE" doc:"The type of each element."`
	ValueLimits
}

// ValueLimits are the limits of values by their type.
type ValueLimits struct {
	IntValue    IntValueRule    `doc:"The limits of an INT."`
	LongValue   LongValueRule   `doc:"The limits of a LONG."`
	DoubleValue DoubleValueRule `doc:"The limits of a DOUBLE."`
	StringValue StringValueRule `doc:"The limits of a STRING."`
}

// IntValueRule are the limits of a number of 32 bits.
type IntValueRule struct {
	Min int32 `default:"-2147483648" doc:"The least value."`
	Max int32 `default:"2147483647" doc:"The greatest value."`
}

// Validate checks that there is a number that fits.
func (r IntValueRule) Validate() error { return inOrder("min", "max", r.Min, r.Max) }

// LongValueRule are the limits of a number of 64 bits.
type LongValueRule struct {
	Min int64 `default:"-9223372036854775808" doc:"The least value."`
	Max int64 `default:"9223372036854775807" doc:"The greatest value."`
}

// Validate checks that there is a number that fits.
func (r LongValueRule) Validate() error { return inOrder("min", "max", r.Min, r.Max) }

// DoubleValueRule are the limits of a number with a fraction.
type DoubleValueRule struct {
	Min float64 `default:"-1.7976931348623157e+308" doc:"The least value."`
	Max float64 `default:"1.7976931348623157e+308" doc:"The greatest value."`
}

// Validate checks that there is a number that fits.
func (r DoubleValueRule) Validate() error { return inOrder("min", "max", r.Min, r.Max) }

// StringValueRule are the limits of a text.
type StringValueRule struct {
	MinLength int32    `default:"0" min:"0" doc:"The minimum number of characters."`
	MaxLength int32    `default:"100" min:"0" doc:"The maximum number of characters."`
	Regexes   []string `doc:"Regular expressions, in the syntax RE2, all of which the whole text must match."`
}

// Validate checks that there is a length that fits and that the expressions are
// such.
func (r StringValueRule) Validate() error {
	for i, text := range r.Regexes {
		if _, err := regexp.Compile(text); err != nil {
			return property.Violation(fmt.Sprintf("regexes[%d]", i), "must be a regular expression in the syntax RE2: "+err.Error())
		}
	}
	return inOrder("min-length", "max-length", r.MinLength, r.MaxLength)
}

// ArrayValueRule are the limits of an array.
type ArrayValueRule struct {
	MinElementCount  int32       `default:"0" min:"0" doc:"The minimum number of elements."`
	MaxElementCount  int32       `default:"10" min:"0" doc:"The maximum number of elements."`
	Unique           bool        `default:"false" doc:"Whether no two elements may be equal."`
	AllowNullElement bool        `default:"false" doc:"Whether elements may be null."`
	Element          ElementRule `doc:"What each element may be."`
}

// Validate checks that there is a number of elements that fits.
func (r ArrayValueRule) Validate() error {
	return inOrder("min-element-count", "max-element-count", r.MinElementCount, r.MaxElementCount)
}

func inOrder[N int32 | int64 | float64](low, high string, least, most N) error {
	if least > most {
		return property.Violation(low, fmt.Sprintf("must not be greater than %s, which is %v", high, most))
	}
	return nil
}
