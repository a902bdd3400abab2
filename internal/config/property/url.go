// SPDX-License-Identifier: Apache-2.0

package property

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

// URL is an address that may contain credentials: a user and password, or tokens in its query.
// Every usual way of printing or encoding it omits them; see RedactURL. Only Reveal returns the
// text.
type URL string

// Reveal returns the text. It is for the one place that needs it, such as the
// call that opens a connection, and not for anything that prints.
func (u URL) Reveal() string { return string(u) }

// String returns the redacted text.
func (u URL) String() string { return RedactURL(string(u)) }

// GoString returns the redacted text.
func (u URL) GoString() string { return u.String() }

// Format writes the redacted text for every verb.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// MarshalText returns the redacted text.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// MarshalJSON returns the redacted text as a JSON string.
func (u URL) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }

// LogValue returns the redacted text.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// RedactURL returns a URL with a mask in the place of its user information, of
// every value of its query and of its fragment: which of them is a token cannot
// be told. A text that is no URL is masked as a whole, because it cannot be told
// what of it is secret.
func RedactURL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return mask
	}
	if u.Host == "" && u.Scheme == "" && strings.Contains(text, "@") {
		return mask // Without a scheme credentials would be taken for a path.
	}
	var b strings.Builder
	if u.Scheme != "" {
		b.WriteString(u.Scheme + ":")
	}
	if u.Host != "" || u.User != nil || strings.HasPrefix(text[strings.Index(text, ":")+1:], "//") {
		b.WriteString("//")
	}
	if u.User != nil {
		b.WriteString(mask + "@")
	}
	b.WriteString(u.Host + u.EscapedPath())
	separator := "?"
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, _, isPair := strings.Cut(pair, "=")
		if !isPair {
			name = "" // A token may stand there without a name.
		} else {
			name += "="
		}
		b.WriteString(separator + name + mask)
		separator = "&"
	}
	if u.Fragment != "" {
		b.WriteString("#" + mask)
	}
	return b.String()
}

// isRedacted reports whether a text is a URL as RedactURL shows it.
func isRedacted(text string) bool { return strings.Contains(text, mask) && RedactURL(text) == text }

var (
	_ fmt.Formatter          = URL("")
	_ fmt.GoStringer         = URL("")
	_ fmt.Stringer           = URL("")
	_ json.Marshaler         = URL("")
	_ encoding.TextMarshaler = URL("")
	_ slog.LogValuer         = URL("")
)
