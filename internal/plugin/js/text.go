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

// library are functions that need only the plugin's values.
type library struct {
	t *translator
	// memory is the maximum memory of matchers in bytes.
	memory int64
	// inTurn does work outside of the plugin's goroutine, when its turn comes.
	inTurn func(work) (engine.Value, error)
}

// text are the functions that convert between text and bytes.
func (l *library) text() map[string]engine.Func {
	return map[string]engine.Func{
		"encode": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			return l.t.value(l.t.Bytes([]byte(l.t.text(args[0]))))
		},
		"decode": l.decode,
		"atob": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			s := strings.Map(func(r rune) rune {
				if strings.ContainsRune(" \t\n\f\r", r) {
					return -1
				}
				return r
			}, l.t.text(args[0]))
			b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
			if err != nil {
				return engine.Undefined, errors.New("atob: the text is not base64")
			}
			latin := make([]rune, len(b))
			for i, c := range b {
				latin[i] = rune(c)
			}
			return l.t.value(l.t.String(string(latin)))
		},
		"btoa": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			var b []byte
			for _, r := range l.t.text(args[0]) {
				if r > 255 {
					return engine.Undefined, errors.New("btoa: the text has characters above U+00FF; encode it with TextEncoder first")
				}
				b = append(b, byte(r))
			}
			return l.t.value(l.t.String(base64.StdEncoding.EncodeToString(b)))
		},
	}
}

// decode decodes UTF-8: the rest of the last call, the input, whether errors throw, whether more
// follows. It returns the text and the rest.
func (l *library) decode(_ engine.Value, args []engine.Value) (engine.Value, error) {
	rest, _ := l.t.AsBytes(args[0])
	input, _ := l.t.AsBytes(args[1])
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
	arr := l.t.Array()
	s, left := l.t.String(string(b[:cut])), l.t.Bytes(b[cut:])
	if engine.IsFailed(arr) || engine.IsFailed(s) || engine.IsFailed(left) {
		l.t.free([]engine.Value{arr, s, left})
		return engine.Failed, engine.Thrown()
	}
	l.t.Append(arr, 0, s)
	l.t.Append(arr, 1, left)
	return arr, nil
}

// matchers are the functions of word matchers.
func (l *library) matchers() map[string]engine.Func {
	return map[string]engine.Func{
		"matcher": l.newMatcher,
		"matchContains": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			w, err := l.matcher(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			return engine.Bool(w.Contains(l.t.text(args[1]))), nil
		},
		"matchMask": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			w, err := l.matcher(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			return l.t.value(l.t.String(w.Mask(l.t.text(args[1]), l.t.text(args[2]))))
		},
		"matchFind": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			w, err := l.matcher(args[0])
			if err != nil {
				return engine.Undefined, err
			}
			text := l.t.text(args[1])
			return l.t.value(l.t.anyToJS(places(text, w.Find(text))))
		},
	}
}

// A wordMatcher is a matcher whose memory counts for its plugin.
type wordMatcher struct{ *words.Matcher }

func (l *library) matcher(v engine.Value) (*words.Matcher, error) {
	w, ok := l.t.Held(v).(wordMatcher)
	if !ok {
		return nil, errors.New("the matcher is not one of app.text.matcher")
	}
	return w.Matcher, nil
}

func (l *library) newMatcher(_ engine.Value, args []engine.Value) (engine.Value, error) {
	list, err := l.t.anyFromJS(args[0])
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
	if limit := l.memory; size*64 > limit {
		return engine.Undefined, fmt.Errorf("app.text.matcher: %d bytes of words need more memory than the %d bytes that the plugin may use", size, limit)
	}
	ignore, _ := engine.AsBool(args[1])
	whole, _ := engine.AsBool(args[2])
	w, err := words.New(all, words.Options{IgnoreCase: ignore, Whole: whole})
	if err != nil {
		return engine.Undefined, err
	}
	held := int64(0)
	l.t.EachHeld(func(x any) {
		if o, ok := x.(wordMatcher); ok {
			held += o.Size()
		}
	})
	if limit := l.memory; held+w.Size() > limit {
		return engine.Undefined, fmt.Errorf("app.text.matcher: the matchers of the plugin need more memory than the %d bytes that it may use", limit)
	}
	return l.t.value(l.t.Handle(wordMatcher{w}))
}

// places converts matches to JavaScript positions.
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
