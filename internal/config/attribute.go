// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"regexp"
)

// UserDefinedAttributes says which attributes applications may keep with users
// or groups.
type UserDefinedAttributes struct {
	IgnoreUnknownAttributesOnUpsert bool        `default:"false" doc:"Whether attributes that are not allowed are left out instead of refused."`
	AllowedAttributes               []Attribute `doc:"The attributes that may be kept."`
}

// Validate checks that no two attributes are in each other's way.
func (a UserDefinedAttributes) Validate() error {
	sources, stored := map[string]bool{}, map[string]bool{}
	for i, attribute := range a.AllowedAttributes {
		if sources[attribute.SourceName] || stored[attribute.Stored()] {
			return violation(fmt.Sprintf("allowed-attributes[%d]", i), "must not have the name of another attribute")
		}
		sources[attribute.SourceName], stored[attribute.Stored()] = true, true
	}
	return nil
}

// Attribute is something that applications may keep with users or groups.
type Attribute struct {
	SourceName string         `required:"true" doc:"The name by which clients call the attribute."`
	StoredName string         `doc:"The name under which it is stored and shown; empty means the source name."`
	Immutable  bool           `default:"false" doc:"Whether the attribute keeps the first value that it gets."`
	Value      AttributeValue `doc:"Which values the attribute may have."`
}

// Stored returns the name under which the attribute is stored.
func (a Attribute) Stored() string {
	if a.StoredName == "" {
		return a.SourceName
	}
	return a.StoredName
}

// AttributeType is a kind of values.
type AttributeType string

// The kinds of values.
const (
	AttributeInt      AttributeType = "INT"
	AttributeLong     AttributeType = "LONG"
	AttributeDouble   AttributeType = "DOUBLE"
	AttributeBool     AttributeType = "BOOL"
	AttributeString   AttributeType = "STRING"
	AttributeLanguage AttributeType = "LANGUAGE"
	AttributeArray    AttributeType = "ARRAY"
)

// AttributeValue says which values an attribute may have.
type AttributeValue struct {
	Type        AttributeType   `default:"STRING" enum:"INT,LONG,DOUBLE,BOOL,STRING,LANGUAGE,ARRAY" doc:"The kind of the values."`
	IntValue    AttributeInts   `doc:"The values of kind INT."`
	LongValue   AttributeLongs  `doc:"The values of kind LONG."`
	DoubleValue AttributeFloats `doc:"The values of kind DOUBLE."`
	StringValue AttributeTexts  `doc:"The values of kind STRING."`
	ArrayValue  AttributeArrays `doc:"The values of kind ARRAY."`
}

// AttributeElement says which elements an array may have. Arrays of arrays are
// not possible.
type AttributeElement struct {
	Type        AttributeType   `default:"STRING" enum:"INT,LONG,DOUBLE,BOOL,STRING,LANGUAGE" doc:"The kind of the elements."`
	IntValue    AttributeInts   `doc:"The elements of kind INT."`
	LongValue   AttributeLongs  `doc:"The elements of kind LONG."`
	DoubleValue AttributeFloats `doc:"The elements of kind DOUBLE."`
	StringValue AttributeTexts  `doc:"The elements of kind STRING."`
}

// AttributeInts bounds whole numbers of 32 bits.
type AttributeInts struct {
	Min int32 `default:"-2147483648" doc:"The smallest number."`
	Max int32 `default:"2147483647" doc:"The greatest number."`
}

// AttributeLongs bounds whole numbers of 64 bits.
type AttributeLongs struct {
	Min int64 `default:"-9223372036854775808" doc:"The smallest number."`
	Max int64 `default:"9223372036854775807" doc:"The greatest number."`
}

// AttributeFloats bounds numbers.
type AttributeFloats struct {
	Min float64 `default:"-1.7976931348623157e+308" doc:"The smallest number."`
	Max float64 `default:"1.7976931348623157e+308" doc:"The greatest number."`
}

// AttributeTexts bounds texts.
type AttributeTexts struct {
	MinLength int32    `default:"0" min:"0" doc:"The least number of characters."`
	MaxLength int32    `default:"100" min:"0" doc:"The greatest number of characters."`
	Regexes   []string `doc:"Regular expressions, one of which the whole text must match; none means any text."`
}

// Validate checks that the regular expressions can be read.
func (a AttributeTexts) Validate() error {
	for i, expression := range a.Regexes {
		if _, err := regexp.Compile(expression); err != nil {
			return violation(fmt.Sprintf("regexes[%d]", i), "must be a regular expression")
		}
	}
	return nil
}

// AttributeArrays bounds arrays.
type AttributeArrays struct {
	MinElementCount  int32            `default:"0" min:"0" doc:"The least number of elements."`
	MaxElementCount  int32            `default:"10" min:"0" doc:"The greatest number of elements."`
	Unique           bool             `default:"false" doc:"Whether no two elements may be the same."`
	AllowNullElement bool             `default:"false" doc:"Whether elements may be missing."`
	Element          AttributeElement `doc:"Which elements the array may have."`
}
