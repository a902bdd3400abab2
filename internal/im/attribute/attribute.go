// SPDX-License-Identifier: Apache-2.0

// Package attribute holds the rules about the attributes that applications keep
// with users and groups: which ones are allowed, which values they may have, and
// what may be overwritten. It does not store anything; packages user and group do.
package attribute

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
)

// Upsert returns what is stored after attributes were given on top of those that
// are stored already; what is not given stays. Names are those that clients use,
// in the result those that are stored. It reports whether anything changed.
func Upsert(rules config.UserDefinedAttributes, stored, given map[string]any) (result map[string]any, changed bool, err error) {
	result = make(map[string]any, len(stored)+len(given))
	for name, value := range stored {
		result[name] = value
	}
	for name, value := range given {
		i := slices.IndexFunc(rules.AllowedAttributes, func(a config.Attribute) bool { return a.SourceName == name })
		if i < 0 {
			if rules.IgnoreUnknownAttributesOnUpsert {
				continue
			}
			return nil, false, apierr.New(apierr.IllegalArgument, "userDefinedAttributes: the attribute %q is not allowed", name)
		}
		rule := rules.AllowedAttributes[i]
		if value, err = checkValue(name, rule.Value, value); err != nil {
			return nil, false, err
		}
		old, exists := result[rule.Stored()]
		if exists && same(old, value) {
			continue
		}
		if exists && rule.Immutable {
			return nil, false, apierr.New(apierr.IllegalArgument, "userDefinedAttributes: the attribute %q has a value that cannot be changed", name)
		}
		result[rule.Stored()] = value
		changed = true
	}
	return result, changed, nil
}

// same compares values by their stored form: numbers come back from the store as
// text.
func same(a, b any) bool {
	first, err1 := json.Marshal(a)
	second, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(first) == string(second)
}

func refuse(name, rule string, args ...any) error {
	return apierr.New(apierr.IllegalArgument, "userDefinedAttributes.%s: "+rule, append([]any{name}, args...)...)
}

// checkValue returns a value in the form in which it is stored.
func checkValue(name string, rule config.AttributeValue, value any) (any, error) {
	if rule.Type != config.AttributeArray {
		return checkElement(name, config.AttributeElement{
			Type: rule.Type, IntValue: rule.IntValue, LongValue: rule.LongValue, DoubleValue: rule.DoubleValue, StringValue: rule.StringValue,
		}, value)
	}
	list := reflect.ValueOf(value)
	if _, isBytes := value.([]byte); isBytes || list.Kind() != reflect.Slice {
		return nil, refuse(name, "must be an array")
	}
	limits := rule.ArrayValue
	if n := list.Len(); n < int(limits.MinElementCount) || n > int(limits.MaxElementCount) {
		return nil, refuse(name, "must have %d to %d elements, but has %d", limits.MinElementCount, limits.MaxElementCount, n)
	}
	checked := make([]any, list.Len())
	for i := range checked {
		element := list.Index(i).Interface()
		if element == nil {
			if !limits.AllowNullElement {
				return nil, refuse(name, "must have no missing elements")
			}
			continue
		}
		var err error
		if checked[i], err = checkElement(name, limits.Element, element); err != nil {
			return nil, err
		}
		if limits.Unique && slices.ContainsFunc(checked[:i], func(other any) bool { return same(other, checked[i]) }) {
			return nil, refuse(name, "must not have the same element twice")
		}
	}
	return checked, nil
}

// language is the form of a BCP 47 language tag.
var language = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

func checkElement(name string, rule config.AttributeElement, value any) (any, error) {
	switch rule.Type {
	case config.AttributeBool:
		if _, ok := value.(bool); !ok {
			return nil, refuse(name, "must be true or false")
		}
		return value, nil
	case config.AttributeInt:
		return checkWhole(name, value, int64(rule.IntValue.Min), int64(rule.IntValue.Max))
	case config.AttributeLong:
		return checkWhole(name, value, rule.LongValue.Min, rule.LongValue.Max)
	case config.AttributeDouble:
		return checkNumber(name, value, rule.DoubleValue)
	case config.AttributeLanguage:
		if text, ok := value.(string); !ok || !language.MatchString(text) {
			return nil, refuse(name, "must be a language tag such as en or pt-BR")
		}
		return value, nil
	default:
		return checkText(name, value, rule.StringValue)
	}
}

func checkWhole(name string, value any, least, most int64) (any, error) {
	number, ok := whole(value)
	if !ok {
		return nil, refuse(name, "must be a whole number")
	}
	if number < least || number > most {
		return nil, refuse(name, "%d must be between %d and %d", number, least, most)
	}
	return number, nil
}

func whole(value any) (int64, bool) {
	switch v := reflect.ValueOf(value); {
	case v.IsValid() && v.CanInt():
		return v.Int(), true
	case v.IsValid() && v.CanUint():
		return int64(v.Uint()), v.Uint() <= math.MaxInt64
	case v.IsValid() && v.CanFloat():
		return int64(v.Float()), v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) < 1<<63
	}
	if number, ok := value.(json.Number); ok {
		n, err := number.Int64()
		return n, err == nil
	}
	return 0, false
}

func checkNumber(name string, value any, limits config.AttributeFloats) (any, error) {
	var number float64
	if v := reflect.ValueOf(value); v.IsValid() && v.CanFloat() {
		number = v.Float()
	} else if n, ok := value.(json.Number); ok {
		var err error
		if number, err = n.Float64(); err != nil {
			return nil, refuse(name, "must be a number")
		}
	} else if n, ok := whole(value); ok {
		number = float64(n)
	} else {
		return nil, refuse(name, "must be a number")
	}
	if math.IsNaN(number) || math.IsInf(number, 0) || number < limits.Min || number > limits.Max {
		return nil, refuse(name, "%v must be between %v and %v", number, limits.Min, limits.Max)
	}
	return number, nil
}

func checkText(name string, value any, limits config.AttributeTexts) (any, error) {
	text, ok := value.(string)
	if !ok {
		return nil, refuse(name, "must be a text")
	}
	if n := check.Length(text); n < int(limits.MinLength) || n > int(limits.MaxLength) {
		return nil, refuse(name, "must have %d to %d characters, but has %d", limits.MinLength, limits.MaxLength, n)
	}
	if len(limits.Regexes) == 0 {
		return text, nil
	}
	for _, expression := range limits.Regexes {
		if matched, err := regexp.MatchString(`\A(?:`+expression+`)\z`, text); err == nil && matched {
			return text, nil
		}
	}
	return nil, refuse(name, "must match one of %q", limits.Regexes)
}
