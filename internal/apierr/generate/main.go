// SPDX-License-Identifier: Apache-2.0

// Command generate writes codes_gen.go from codes.json. It runs in the folder
// of package apierr.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"log"
	"os"
	"strings"
)

type code struct {
	Name string `json:"name"`
	Code int    `json:"code"`
	HTTP int    `json:"http"`
	Text string `json:"text"`
}

func main() {
	data, err := os.ReadFile("codes.json")
	if err != nil {
		log.Fatal(err)
	}
	var codes []code
	if err := json.Unmarshal(data, &codes); err != nil {
		log.Fatal(err)
	}
	src, err := render(codes)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("codes_gen.go", src, 0o644); err != nil {
		log.Fatal(err)
	}
}

func render(codes []code) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// SPDX-License-Identifier: Apache-2.0\n\n// Code generated from codes.json; DO NOT EDIT.\n\npackage apierr\n\n")
	b.WriteString("// The business status codes.\nconst (\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "\t%s Code = %d\n", goName(c.Name), c.Code)
	}
	b.WriteString(")\n\nvar table = map[Code]info{\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "\t%s: {%q, %d, %q},\n", goName(c.Name), c.Name, c.HTTP, c.Text)
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

// initialisms are written in capitals, as in Go names.
var initialisms = map[string]string{"Id": "ID", "Ip": "IP", "Jfr": "JFR", "Ok": "OK", "Javascript": "JavaScript"}

func goName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		w := word[:1] + strings.ToLower(word[1:])
		if s, ok := initialisms[w]; ok {
			w = s
		}
		b.WriteString(w)
	}
	return b.String()
}
