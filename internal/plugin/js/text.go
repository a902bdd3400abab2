// SPDX-License-Identifier: Apache-2.0

package js

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/plugin/js/words"
)

// textFunctions convert between text and bytes.
func (m *module) textFunctions() map[string]engine.Func {
	return map[string]engine.Func{
		"encode": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			return m.value(m.engine.Bytes([]byte(m.text(args[0]))))
		},
		"decode": m.decode,
		"atob": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			s := strings.Map(func(r rune) rune {
				if strings.ContainsRune(" \t\n\f\r", r) {
					return -1
				}
				return r
			}, m.text(args[0]))
			b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
			if err != nil {
				return engine.Undefined, errors.New("atob: the text is not base64")
			}
			latin := make([]rune, len(b))
			for i, c := range b {
				latin[i] = rune(c)
			}
			return m.value(m.engine.String(string(latin)))
		},
		"btoa": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			var b []byte
			for _, r := range m.text(args[0]) {
				if r > 255 {
					return engine.Undefined, errors.New("btoa: the text has characters above U+00FF; encode it with TextEncoder first")
				}
				b = append(b, byte(r))
			}
			return m.value(m.engine.String(base64.StdEncoding.EncodeToString(b)))
		},
	}
}

// value lets an exception that is pending go on.
func (m *module) value(v engine.Value) (engine.Value, error) {
	if engine.IsFailed(v) {
		return v, engine.Thrown()
	}
	return v, nil
}

// decode decodes UTF-8: what was left of the last time, the input, whether errors throw, whether more follows. It
// returns the text and what is left.
func (m *module) decode(_ engine.Value, args []engine.Value) (engine.Value, error) {
	rest, _ := m.engine.AsBytes(args[0])
	input, _ := m.engine.AsBytes(args[1])
	fatal, _ := engine.AsBool(args[2])
	stream, _ := engine.AsBool(args[3])
	b := append(rest, input...)
	cut := len(b)
	if stream {
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
			if utf8.RuneStart(b[len(b)-i]) {
				if !utf8.FullRune(b[len(b)-i:]) {
					cut = len(b) - i
				}
				break
			}
		}
	}
	if fatal && !utf8.Valid(b[:cut]) {
		return engine.Undefined, mismatchf("the bytes are not UTF-8")
	}
	arr := m.engine.Array()
	s, left := m.engine.String(string(b[:cut])), m.engine.Bytes(b[cut:])
	if engine.IsFailed(arr) || engine.IsFailed(s) || engine.IsFailed(left) {
		m.free([]engine.Value{arr, s, left})
		return engine.Failed, engine.Thrown()
	}
	m.engine.Append(arr, 0, s)
	m.engine.Append(arr, 1, left)
	return arr, nil
}

// matcherFunctions find words.
func (m *module) matcherFunctions() map[string]engine.Func {
	return map[string]engine.Func{
		"matcher": m.newMatcher,
		"matchContains": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			w, err := m.matcher(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			return engine.Bool(w.Contains(m.text(args[1]))), nil
		},
		"matchMask": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			w, err := m.matcher(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			return m.value(m.engine.String(w.Mask(m.text(args[1]), m.text(args[2]))))
		},
		"matchFind": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			w, err := m.matcher(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			text := m.text(args[1])
			return m.value(m.t.anyToJS(places(text, w.Find(text))))
		},
	}
}

// A wordMatcher is a matcher whose memory counts for its plugin.
type wordMatcher struct{ *words.Matcher }

func (m *module) matcher(v engine.Value) (*words.Matcher, error) {
	w, ok := m.engine.Held(v).(wordMatcher)
	if !ok {
		return nil, errors.New("the matcher is not one of app.text.matcher")
	}
	return w.Matcher, nil
}

func (m *module) newMatcher(_ engine.Value, args []engine.Value) (engine.Value, error) {
	list, err := m.t.anyFromJS(args[0])
	if err != nil {
		return engine.Undefined, err
	}
	var all []string
	size := int64(0)
	for i, x := range list.([]any) {
		s, ok := x.(string)
		if !ok || s == "" {
			return engine.Undefined, mismatchf("app.text.matcher: the word at %d must be a string that is not empty", i)
		}
		size += int64(len(s))
		all = append(all, s)
	}
	if limit := m.host.opts.MemoryLimit; size*64 > limit {
		return engine.Undefined, fmt.Errorf("app.text.matcher: %d bytes of words need more memory than the %d bytes that the plugin may use", size, limit)
	}
	ignore, _ := engine.AsBool(args[1])
	whole, _ := engine.AsBool(args[2])
	w, err := words.New(all, words.Options{IgnoreCase: ignore, Whole: whole})
	if err != nil {
		return engine.Undefined, err
	}
	held := int64(0)
	m.engine.EachHeld(func(x any) {
		if o, ok := x.(wordMatcher); ok {
			held += o.Size()
		}
	})
	if limit := m.host.opts.MemoryLimit; held+w.Size() > limit {
		return engine.Undefined, fmt.Errorf("app.text.matcher: the matchers of the plugin need more memory than the %d bytes that it may use", limit)
	}
	return m.value(m.engine.Handle(wordMatcher{w}))
}

// places are matches with positions as JavaScript counts them.
func places(text string, list []words.Match) []any {
	out := make([]any, 0, len(list))
	if len(list) == 0 {
		return out
	}
	units := make([]int32, 1, len(text)+1)
	for _, r := range text {
		units = append(units, units[len(units)-1]+int32(utf16.RuneLen(r)))
	}
	for _, x := range list {
		out = append(out, map[string]any{"word": x.Word, "start": units[x.Start], "end": units[x.End]})
	}
	return out
}
