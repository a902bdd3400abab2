// SPDX-License-Identifier: Apache-2.0

package property

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// mask replaces a sensitive value. It has a fixed length, so that it reveals nothing about the
// value.
const mask = "***"

// Secret is a value that must not be shown: every usual way of printing or encoding it yields a
// mask. Only Reveal returns the text.
type Secret string

// Reveal returns the text. It is for the one place that needs it, such as the call that opens a
// connection, and not for output.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask.
func (Secret) String() string { return mask }

// GoString returns the mask.
func (Secret) GoString() string { return mask }

// Format writes the mask for every verb, including those that do not fit a string, for which fmt
// would otherwise print the raw value.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// MarshalText returns the mask.
func (Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// MarshalJSON returns the mask as a JSON string.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// LogValue returns the mask.
func (Secret) LogValue() slog.Value { return slog.StringValue(mask) }

var (
	_ fmt.Formatter          = Secret("")
	_ fmt.GoStringer         = Secret("")
	_ fmt.Stringer           = Secret("")
	_ json.Marshaler         = Secret("")
	_ encoding.TextMarshaler = Secret("")
	_ slog.LogValuer         = Secret("")
)
