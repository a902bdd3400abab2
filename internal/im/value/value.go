// SPDX-License-Identifier: Apache-2.0

// Package value holds the rules about user-defined values within the configured limits: names and
// types of settings. It does not know their owners or where they are stored.
//
// A value is an int32, an int64, a float64, a bool, a string, a list ([]any) of those, or, as an
// element of a list, nil.
package value

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"sync"

	"golang.org/x/text/language"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
)

// Check converts a value to the type of the rule, or returns an error. It also accepts float32 and
// json.Number.
func Check(field string, v any, rule config.ValueRule) (any, error) {
	if rule.Type == "ARRAY" {
		return checkArray(field, v, rule.ArrayValue)
	}
	return checkScalar(field, v, rule.Type, rule.ValueLimits)
}

func refuse(field, format string, args ...any) error {
	return apierr.New(apierr.IllegalArgument, field+": "+format, args...)
}

func checkScalar(field string, v any, typ string, limits config.ValueLimits) (any, error) {
	switch typ {
	case "INT":
		n, ok := integer(v)
		if least, most := limits.IntValue.Min, limits.IntValue.Max; !ok || n < int64(least) || n > int64(most) {
			return nil, refuse(field, "must be an integer between %d and %d", least, most)
		}
		return int32(n), nil
	case "LONG":
		n, ok := integer(v)
		if least, most := limits.LongValue.Min, limits.LongValue.Max; !ok || n < least || n > most {
			return nil, refuse(field, "must be an integer between %d and %d", least, most)
		}
		return n, nil
	case "DOUBLE":
		n, ok := number(v)
		if least, most := limits.DoubleValue.Min, limits.DoubleValue.Max; !ok || n < least || n > most {
			return nil, refuse(field, "must be a number between %v and %v", least, most)
		}
		return n, nil
	case "BOOL":
		b, ok := v.(bool)
		if !ok {
			return nil, refuse(field, "must be true or false")
		}
		return b, nil
	case "LANGUAGE":
		text, ok := v.(string)
		if _, err := language.Parse(text); !ok || err != nil {
			return nil, refuse(field, "must be a language, such as en or zh-Hans")
		}
		return text, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, refuse(field, "must be a text")
	}
	return text, checkText(field, text, limits.StringValue)
}

// integer returns a whole number.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

// number returns a finite number.
func number(v any) (f float64, ok bool) {
	switch n := v.(type) {
	case int32:
		return float64(n), true
	case int64:
		return float64(n), true
	case float32:
		f = float64(n)
	case float64:
		f = n
	case json.Number:
		var err error
		if f, err = n.Float64(); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

func checkText(field, text string, limits config.StringValueRule) error {
	if n := check.Length(text); n < int(limits.MinLength) || n > int(limits.MaxLength) {
		return refuse(field, "must have %d to %d characters, but has %d", limits.MinLength, limits.MaxLength, n)
	}
	for _, expression := range limits.Regexes {
		if !compiled(expression).MatchString(text) {
			return refuse(field, "must match the regular expression %s", expression)
		}
	}
	return nil
}

// expressions caches the compiled regular expressions. They are few, because they come from the
// configuration.
var expressions sync.Map

// compiled returns the expression anchored to whole texts.
func compiled(expression string) *regexp.Regexp {
	if known, ok := expressions.Load(expression); ok {
		return known.(*regexp.Regexp)
	}
	// The configuration is validated.
	fresh := regexp.MustCompile(`\A(?:` + expression + `)\z`)
	expressions.Store(expression, fresh)
	return fresh
}

func checkArray(field string, v any, rule config.ArrayValueRule) (any, error) {
	// nil counts as an empty list, because some callers cannot distinguish them.
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, refuse(field, "must be a list")
	}
	if n := len(list); n < int(rule.MinElementCount) || n > int(rule.MaxElementCount) {
		return nil, refuse(field, "must have %d to %d elements, but has %d", rule.MinElementCount, rule.MaxElementCount, n)
	}
	checked := make([]any, len(list))
	for i, element := range list {
		if element == nil {
			if !rule.AllowNullElement {
				return nil, refuse(field, "element %d must not be missing", i)
			}
			continue
		}
		c, err := checkScalar(field, element, rule.Element.Type, rule.Element.ValueLimits)
		if err != nil {
			return nil, err
		}
		checked[i] = c
	}
	if !rule.Unique {
		return checked, nil
	}
	seen := make(map[any]bool, len(checked))
	for i, element := range checked {
		if seen[element] {
			return nil, refuse(field, "element %d must not be equal to another", i)
		}
		seen[element] = true
	}
	return checked, nil
}

// Restore converts a value that was checked by a rule and stored as JSON, with numbers as
// json.Number. Without a rule, or if it does not fit because the rule has changed, the type is
// guessed.
func Restore(v any, rule *config.ValueRule) any {
	typ, element := "", ""
	if rule != nil {
		typ, element = rule.Type, rule.ArrayValue.Element.Type
	}
	if list, ok := v.([]any); ok {
		restored := make([]any, len(list))
		for i, e := range list {
			restored[i] = restoreScalar(e, element)
		}
		return restored
	}
	return restoreScalar(v, typ)
}

func restoreScalar(v any, typ string) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	whole, isWhole := integer(n)
	fits := isWhole && whole >= math.MinInt32 && whole <= math.MaxInt32
	switch {
	case typ == "INT" && fits:
		return int32(whole)
	case typ == "LONG" && isWhole:
		return whole
	case typ == "DOUBLE" || !isWhole:
		f, _ := number(n)
		return f
	case fits:
		return int32(whole)
	}
	return whole
}

// Equal reports whether two values are the same.
func Equal(a, b any) bool { return reflect.DeepEqual(a, b) }
