// SPDX-License-Identifier: Apache-2.0

package js

import (
	"net/url"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"example.org/app/internal/plugin/js/engine"
)

// urls are the functions for URL and URLSearchParams.
func (l *library) urls() map[string]engine.Func {
	return map[string]engine.Func{
		"parseURL": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			input := l.t.text(args[0])
			var u *whatwg.Url
			var err error
			if base := argument(args, 1); engine.IsUndefined(base) {
				u, err = whatwg.Parse(input)
			} else {
				u, err = whatwg.ParseRef(l.t.text(base), input)
			}
			if err != nil {
				return engine.Undefined, mismatchf("%q is not a URL", shorten(input))
			}
			return l.t.value(l.t.anyToJS(urlParts(u)))
		},
		"setURL": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			u, err := whatwg.Parse(l.t.text(args[0]))
			if err != nil {
				return engine.Undefined, err
			}
			value := l.t.text(args[2])
			switch l.t.text(args[1]) {
			case "protocol":
				u.SetProtocol(value)
			case "username":
				u.SetUsername(value)
			case "password":
				u.SetPassword(value)
			case "host":
				u.SetHost(value)
			case "hostname":
				u.SetHostname(value)
			case "port":
				u.SetPort(value)
			case "pathname":
				u.SetPathname(value)
			case "search":
				u.SetSearch(value)
			case "hash":
				u.SetHash(value)
			}
			return l.t.value(l.t.anyToJS(urlParts(u)))
		},
		"parseForm": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			return l.t.value(l.t.anyToJS(parseForm(l.t.text(args[0]))))
		},
		"formatForm": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			x, err := l.t.anyFromJS(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			return l.t.value(l.t.String(formatForm(x.([]any))))
		},
	}
}

// urlParts returns the properties of a URL in the order of the prelude.
func urlParts(u *whatwg.Url) []any {
	origin := "null"
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		origin = u.Protocol() + "//" + u.Host()
	}
	return []any{
		u.Href(false), origin, u.Protocol(), u.Username(), u.Password(), u.Host(), u.Hostname(), u.Port(), u.Pathname(),
		u.Search(), u.Hash(),
	}
}

// parseForm parses application/x-www-form-urlencoded text.
func parseForm(s string) []any {
	list := []any{}
	for part := range strings.SplitSeq(s, "&") {
		if part == "" {
			continue
		}
		k, v, _ := strings.Cut(part, "=")
		list = append(list, []any{unescape(k), unescape(v)})
	}
	return list
}

// unescape decodes percent signs followed by two hexadecimal digits, and keeps the others.
func unescape(s string) string {
	s = strings.ReplaceAll(s, "+", " ")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if r, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(r)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func formatForm(list []any) string {
	var b strings.Builder
	for i, p := range list {
		kv := p.([]any)
		if i > 0 {
			b.WriteByte('&')
		}
		escape(&b, kv[0].(string))
		b.WriteByte('=')
		escape(&b, kv[1].(string))
	}
	return b.String()
}

func escape(b *strings.Builder, s string) {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			b.WriteByte('+')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '*', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
}
