// SPDX-License-Identifier: Apache-2.0

package property

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decimal is the syntax of integers. A leading zero is an error, because some readers take such a
// number for an octal one.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// convert parses the text of one value as the type of the scalar n and checks the rules of n. The
// second result is the violated rule, or empty.
func (n *node) convert(text string) (reflect.Value, string) {
	v := reflect.New(n.typ).Elem()
	if rule := n.parse(v, text); rule != "" {
		return v, rule
	}
	return v, n.check(v)
}

// parse sets v to the value of the text.
func (n *node) parse(v reflect.Value, text string) string {
	trimmed := strings.TrimSpace(text)
	switch v.Kind() {
	case reflect.Bool:
		switch strings.ToLower(trimmed) {
		case "true":
			v.SetBool(true)
		case "false":
			v.SetBool(false)
		default:
			return "must be true or false"
		}
	case reflect.Int16, reflect.Int32, reflect.Int64:
		if !decimal.MatchString(trimmed) {
			return "must be an integer"
		}
		i, err := strconv.ParseInt(trimmed, 10, v.Type().Bits())
		if err != nil {
			low, high := n.bounds()
			return fmt.Sprintf("must be between %d and %d", low, high)
		}
		v.SetInt(i)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(trimmed, v.Type().Bits())
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(trimmed, "xX_") {
			return "must be a number"
		}
		v.SetFloat(f)
	case reflect.String:
		if n.rules.enum != nil {
			for _, option := range n.rules.enum {
				if strings.EqualFold(option, trimmed) {
					v.SetString(option)
					return ""
				}
			}
		}
		if n.secret && text == mask {
			return "must not be the mask that is shown instead of a sensitive value"
		}
		if n.url && isRedacted(text) {
			return "must not have the mask that is shown instead of credentials"
		}
		v.SetString(text)
	}
	return ""
}

// bounds are those of the rules, or else those of the integer type.
func (n *node) bounds() (low, high int64) {
	bits := n.typ.Bits()
	low, high = math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits)
	if n.rules.min != nil {
		low = *n.rules.min
	}
	if n.rules.max != nil {
		high = *n.rules.max
	}
	return low, high
}

// check returns the rule of the leaf n that its value v violates, or empty. It does not check the
// elements of lists and maps.
func (n *node) check(v reflect.Value) string {
	r := n.rules
	switch {
	case n.kind == kindList || n.kind == kindMap:
		if rule := r.checkLength(int64(v.Len()), "element"); rule != "" {
			return rule
		}
	case v.CanInt():
		i := v.Int()
		if rule := r.checkBounds(r.min != nil && i < *r.min, r.max != nil && i > *r.max); rule != "" {
			return rule
		}
	case v.CanFloat():
		f := v.Float()
		if rule := r.checkBounds(r.min != nil && f < float64(*r.min), r.max != nil && f > float64(*r.max)); rule != "" {
			return rule
		}
	case v.Kind() == reflect.String:
		if r.enum != nil && !slices.Contains(r.enum, v.String()) {
			return "must be one of " + strings.Join(r.enum, ", ")
		}
		if rule := r.checkLength(int64(utf8.RuneCountInString(v.String())), "character"); rule != "" {
			return rule
		}
	}
	if err := callValidate(v); err != nil {
		var e *Error
		if errors.As(err, &e) {
			return e.Rule
		}
		return err.Error()
	}
	return ""
}

// checkBounds returns the rule for the given bounds.
func (r rules) checkBounds(low, high bool) string {
	switch {
	case !low && !high:
		return ""
	case r.min != nil && r.max != nil:
		return fmt.Sprintf("must be between %d and %d", *r.min, *r.max)
	case low:
		return fmt.Sprintf("must be at least %d", *r.min)
	}
	return fmt.Sprintf("must be at most %d", *r.max)
}

// checkLength checks the number of characters or elements.
func (r rules) checkLength(n int64, what string) string {
	plural := func(count int64) string {
		if count == 1 {
			return fmt.Sprintf("%d %s", count, what)
		}
		return fmt.Sprintf("%d %ss", count, what)
	}
	switch {
	case r.required && n == 0:
		return "must not be empty"
	case r.minLen != nil && n < *r.minLen:
		return "must have at least " + plural(*r.minLen)
	case r.maxLen != nil && n > *r.maxLen:
		return "must have at most " + plural(*r.maxLen)
	}
	return ""
}

// callValidate calls the Validate method of v, if it has one.
func callValidate(v reflect.Value) error {
	if v.CanAddr() {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return nil
	}
	if validator, ok := v.Interface().(interface{ Validate() error }); ok {
		return validator.Validate()
	}
	return nil
}
