// SPDX-License-Identifier: Apache-2.0

package login

import (
	"encoding/json"
	"strconv"
	"strings"
)

// looselyEqual compares a decoded JSON value with a configured text: true equals "true" and 1
// equals "1", but objects, lists and null equal nothing.
func looselyEqual(value any, want string) bool {
	switch v := value.(type) {
	case string:
		return v == want
	case bool:
		return strconv.FormatBool(v) == want
	case json.Number:
		return v.String() == want || sameNumber(v.String(), want)
	}
	return false
}

// sameNumber compares two notations of a number of which one has a point or an exponent. Plain
// integers are equal only if their text is.
func sameNumber(a, b string) bool {
	if !strings.ContainsAny(a+b, ".eE") {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// mismatch returns a name whose value is not the wanted one; found is false if there is none.
func mismatch(values map[string]any, want map[string]string) (name string, found bool) {
	for name, text := range want {
		if !looselyEqual(values[name], text) {
			return name, true
		}
	}
	return "", false
}
