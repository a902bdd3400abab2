// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		words string
		opts  Options
		text  string
		found string
		mask  string
	}{
		{"he she his hers", Options{}, "ushers", "she@1-4", "u*****"},
		{"a ab bab bc bca c caa", Options{}, "abccab", "ab@0-2 c@2-3 c@3-4 ab@4-6", "******"},
		{"bad", Options{}, "Bad bad", "bad@4-7", "Bad ***"},
		{"bad", Options{IgnoreCase: true}, "Bad bad", "bad@0-3 bad@4-7", "*** ***"},
		{"ſtraße", Options{IgnoreCase: true}, "STRAßE", "ſtraße@0-6", "******"},
		{"kelvin", Options{IgnoreCase: true}, "\u212aELVIN", "kelvin@0-6", "******"},
		{"ass", Options{Whole: true}, "grass ass, assé", "ass@6-9", "grass ***, assé"},
		{"敏感 敏感词", Options{}, "这是敏感词。", "敏感词@2-5", "这是***。"},
		{"👋👋", Options{}, "👋👋👋", "👋👋@0-2", "***"},
		{"x", Options{}, "", "", ""},
		{"long longer longest", Options{}, "longest longer long", "longest@0-7 longer@8-14 long@15-19", "******* ****** ****"},
	} {
		m, err := New(strings.Fields(c.words), c.opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range m.Find(c.text) {
			got = append(got, fmt.Sprintf("%s@%d-%d", x.Word, x.Start, x.End))
		}
		if s := strings.Join(got, " "); s != c.found {
			t.Errorf("find %q in %q: %s, not %s", c.words, c.text, s, c.found)
		}
		if mask := m.Mask(c.text, "*"); mask != c.mask {
			t.Errorf("mask %q in %q: %s, not %s", c.words, c.text, mask, c.mask)
		}
		if m.Contains(c.text) != (c.found != "") {
			t.Errorf("contains %q in %q", c.words, c.text)
		}
	}
	if _, err := New([]string{"a", ""}, Options{}); err == nil {
		t.Error("an empty word is accepted")
	}
}

// FuzzMatcher compares with a naive search for each word at each position.
func FuzzMatcher(f *testing.F) {
	f.Add("he she his hers", "ushers and his", false)
	f.Add("a aa aaa", "aaaa", true)
	f.Add("Ω ωω", "ΩωΩ", true)
	f.Fuzz(func(t *testing.T, list, text string, ignore bool) {
		if !utf8.ValidString(list) || !utf8.ValidString(text) {
			return
		}
		words := strings.Fields(list)
		m, err := New(words, Options{IgnoreCase: ignore})
		if err != nil {
			t.Fatal(err)
		}
		fold := func(s string) string {
			return strings.Map(m.fold, s)
		}
		want := false
		for _, w := range words {
			want = want || strings.Contains(fold(text), fold(w))
		}
		if m.Contains(text) != want {
			t.Errorf("contains %q in %q is not %v", words, text, want)
		}
		masked := m.Mask(text, "*")
		if utf8.RuneCountInString(masked) != utf8.RuneCountInString(text) {
			t.Errorf("mask of %q is %q", text, masked)
		}
		if !want && masked != text {
			t.Errorf("mask changed %q to %q", text, masked)
		}
	})
}
