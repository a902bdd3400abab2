// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// encoded has a field of every kind that the encoder writes itself, and of many
// that it leaves to encoding/json.
type encoded struct {
	Bool     bool               `json:"bool"`
	Int      int64              `json:"int"`
	Small    int8               `json:"small,omitempty"`
	Uint     uint64             `json:"uint"`
	Float    float64            `json:"float"`
	Special  Float              `json:"special"`
	Text     string             `json:"text"`
	Named    encodedName        `json:"named,omitempty"`
	Texts    []string           `json:"texts"`
	Names    []encodedName      `json:"names,omitzero"`
	Date     Date               `json:"date"`
	Maybe    *Date              `json:"maybe,omitempty"`
	Bytes    []byte             `json:"bytes"`
	Pointer  *string            `json:"pointer"`
	Any      any                `json:"any"`
	Map      map[string]int     `json:"map,omitempty"`
	Array    [2]int             `json:"array"`
	Nested   []encodedInner     `json:"nested"`
	Tree     *encodedTree       `json:"tree,omitempty"`
	Number   json.Number        `json:"number"`
	Raw      json.RawMessage    `json:"raw,omitempty"`
	Embedded encodedEmbedding   `json:"embedded"`
	Odd      encodedOdd         `json:"odd"`
	Zero     encodedZero        `json:"zero"`
	ByAddr   []encodedByAddress `json:"byAddress"`
	Untagged int
	Ignored  int `json:"-"`
	hidden   int
}

type (
	encodedName  string
	encodedInner struct {
		A int    `json:"a"`
		B string `json:"b,omitempty,omitzero"`
	}
	encodedTree struct {
		Children []*encodedTree `json:"children"`
	}
	encodedEmbedding struct{ encodedInner }
	encodedOdd       struct {
		Quoted int `json:"quoted,string"`
		Accent int `json:"é"`
	}
	encodedZero struct {
		At   time.Time `json:"at,omitzero"`
		Date Date      `json:"date,omitzero"`
	}
	encodedByAddress struct{ n int }
)

func (e *encodedByAddress) MarshalJSON() ([]byte, error) { return json.Marshal(e.n) }

// standardJSON is what encoding/json writes.
func standardJSON(t testing.TB, v any) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

func TestEncoderWritesWhatTheStandardLibraryWrites(t *testing.T) {
	text := "a <b> & \"c\" \\ \u2028 \n ä 世界 \x7f \xff"
	date := NewDate(time.Date(2024, 3, 28, 11, 43, 23, 291e6, time.UTC))
	full := encoded{
		Bool: true, Int: math.MinInt64, Small: -1, Uint: math.MaxUint64, Float: 1e21, Special: Float(math.NaN()), Text: text,
		Named: "n", Texts: []string{"", text, "plain text of some length"}, Names: []encodedName{"x"}, Date: date, Maybe: &date,
		Bytes: []byte{0, 1}, Pointer: &text, Any: map[string]any{"k": []any{1, nil, date}}, Map: map[string]int{"b": 1, "a": 2},
		Array: [2]int{1, 2}, Nested: []encodedInner{{1, "x"}, {}}, Tree: &encodedTree{Children: []*encodedTree{nil, {}}},
		Number: "1.50", Raw: json.RawMessage(`{ "a": 1 }`), Embedded: encodedEmbedding{encodedInner{1, "e"}},
		Odd: encodedOdd{1, 2}, Zero: encodedZero{At: date.Time, Date: date}, ByAddr: []encodedByAddress{{1}}, Untagged: 1, Ignored: 2, hidden: full(),
	}
	for _, v := range []any{
		nil, true, 1, "x", text, []string(nil),
		[]string{},
		date, &date, (*Date)(nil),
		struct{}{},
		[]int{1, 2},
		[][]string{{"a"}, nil},
		encoded{},
		&encoded{}, full, &full,
		[]encoded{full, {}},
		NewPage(2, []encoded{full}), NewPage[encoded](0, nil),
		map[string]encoded{"a": {}},
		encodedTree{},
		[]any{1, "a", nil},
		Optional[encoded]{},
		encodedByAddress{1},
		uintptr(1),
	} {
		got, err := appendJSON([]byte("before "), v)
		if want := "before " + standardJSON(t, v); err != nil || string(got) != want {
			t.Errorf("%T: %v\n got %s\nwant %s", v, err, got, want)
		}
	}
}

// full makes the field that is never written look used.
func full() int { return encoded{hidden: 1}.hidden }

func TestEncoderRefusesWhatJSONCannotHold(t *testing.T) {
	for _, v := range []any{
		math.Inf(1), []float64{math.NaN()}, struct{ F float64 }{math.NaN()}, []any{make(chan int)}, &struct{ F *float64 }{new(math.Inf(-1))},
	} {
		_, err := appendJSON(nil, v)
		_, value := errors.AsType[*json.UnsupportedValueError](err)
		_, kind := errors.AsType[*json.UnsupportedTypeError](err)
		if !value && !kind {
			t.Errorf("%T: error %v", v, err)
		}
	}
}

func FuzzEncodeString(f *testing.F) {
	for _, seed := range []string{"", "plain", "exactly8", "more than eight", `quote"`, "12345678\\", "\u2028", "世界", "\xff", "1234567\x1f", "\x7f<&>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := appendJSON(nil, []string{s})
		if want := standardJSON(t, []string{s}); err != nil || string(got) != want {
			t.Errorf("%q: %v\n got %s\nwant %s", s, err, got, want)
		}
	})
}

func BenchmarkEncodeRecords(b *testing.B) {
	type record struct {
		ID     int64    `json:"id"`
		Name   string   `json:"name"`
		Values []string `json:"values"`
		Date   Date     `json:"date"`
	}
	list := make([]record, 4)
	for i := range list {
		list[i] = record{int64(i), "NAME", strings.Fields(strings.Repeat("SOME_PERMISSION_QUERY ", 65)), NewDate(time.Now())}
	}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = appendJSON(buf[:0], list); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}
