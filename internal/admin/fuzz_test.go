// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/apierr"
)

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"", "ids=1,2", "ids=1&ids=2", "ids[]=1", "ids[0]=1&ids[1]=2", "keys[0].ownerId=1&keys[0].name=a", `keys=[{"ownerId":1}]`, "a=%zz", "a=%2", "a=%ff", "=&&=", "a[", "a[]b", "a[0]x", "a[-1]=1", "a[99999999999]=1", "since=2024-01-01T00:00:00%2B08:00",
	} {
		f.Add(seed)
	}
	in := newInput(huma.NewMapRegistry("#/", schemaName), reflect.TypeFor[thingQuery]())
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := ParseQuery(raw)
		if err == nil {
			for name, p := range q {
				if name == "" || !utf8.ValidString(name) {
					t.Errorf("name %q", name)
				}
				for i, o := range p.objects {
					if o.index != i {
						t.Errorf("object %d has the index %d", i, o.index)
					}
				}
			}
			_, err = in.decodeParams(q, nil, reflect.New(reflect.TypeFor[thingQuery]()).Elem())
		}
		if err != nil && apierr.From(err).Code != apierr.IllegalArgument {
			t.Errorf("%q: %v is not an illegal argument", raw, err)
		}
	})
}

// FuzzQueryRoundTrip proves that every text can be sent escaped.
func FuzzQueryRoundTrip(f *testing.F) {
	f.Add("a+b c/ä%[]=&,.#?")
	f.Fuzz(func(t *testing.T, value string) {
		if !utf8.ValidString(value) || value == "" {
			return
		}
		var escaped strings.Builder
		for i := range len(value) {
			fmt.Fprintf(&escaped, "%%%02x", value[i])
		}
		q, err := ParseQuery("k=" + escaped.String())
		if err != nil || len(q["k"].values) != 1 || q["k"].values[0] != value {
			t.Errorf("%q arrived as %+v, %v", value, q["k"], err)
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"id":1}`, `{"id":"1","set":1,"text":{"a":[1]},"date":0,"data":"AQ==","counts":{"1":2},"child":{"ownerId":1},"free":[null]}`, `{"id":1,"kind":1}`, `{"id":1e400}`, "{\"id\":1,\"text\":\"\xff\"}", `{"id":1} `, `{"a":{"a":{"a":{}}}}`,
	} {
		f.Add([]byte(seed))
	}
	s := shapeOf(huma.NewMapRegistry("#/", schemaName), reflect.TypeFor[thing](), rules{}, "thing")
	f.Fuzz(func(t *testing.T, data []byte) {
		var v thing
		err := s.decodeBody(data, reflect.ValueOf(&v).Elem())
		if err != nil {
			if apierr.From(err).Code != apierr.IllegalArgument {
				t.Errorf("%q: %v is not an illegal argument", data, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Errorf("%q was accepted", data)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%q: cannot be sent back: %v", data, err)
		}
		if s.describe(reflect.ValueOf(v), false) == nil {
			t.Errorf("%q: cannot be logged", data)
		}
	})
}
