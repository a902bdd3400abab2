// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"os"
	"strings"
	"testing"
)

// fileEcho is what the operation of the tests answers for each file.
type fileEcho struct {
	Field    string `json:"field"`
	FileName string `json:"fileName"`
	Size     int64  `json:"size"`
	Text     string `json:"text"`
}

type thingForm struct {
	Save bool `query:"save" default:"false" doc:"A flag."`
	Form Form
}

// formOperation answers with the files that it was given.
func formOperation() *Operation {
	return Handle(Operation{ID: "upload", Method: "POST", Path: "/form", Tag: "Things", Summary: "Upload", Access: AnyAdmin},
		func(_ context.Context, in *thingForm) ([]fileEcho, error) {
			var list []fileEcho
			for _, f := range in.Form.Files {
				data, err := f.ReadAll()
				if err != nil {
					return nil, err
				}
				list = append(list, fileEcho{f.Field, f.FileName, f.Size, string(data)})
			}
			return list, nil
		})
}

// form makes a form of parts: field, file name, content.
func form(t *testing.T, parts ...[3]string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		disposition := fmt.Sprintf("form-data; name=%q", p[0])
		if p[1] != "" {
			disposition += fmt.Sprintf("; filename=%q", p[1])
		}
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {"application/java-archive"}})
		if err != nil {
			t.Fatal(err)
		}
		part.Write([]byte(p[2]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func TestForm(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ta := newTestAPI(t)
	two, twoType := form(t, [3]string{"a.jar", "", "first"}, [3]string{"file", "b.jar", ""})
	empty, emptyType := form(t)
	large, largeType := form(t, [3]string{"a.jar", "", strings.Repeat("x", 2000)})
	long, longType := form(t, [3]string{strings.Repeat("n", 256), "", "x"})
	var parts [][3]string
	for range 101 {
		parts = append(parts, [3]string{"a", "", ""})
	}
	many, manyType := form(t, parts...)
	for _, tt := range []struct {
		name, body, contentType string
		status                  int
		want                    string
	}{
		{"two files", two, twoType, 200, `[{"field":"a.jar","fileName":"","size":5,"text":"first"},{"field":"file","fileName":"b.jar","size":0,"text":""}]`},
		{"no file", empty, emptyType, 400, `the form has no file`},
		{"nothing", "", twoType, 400, `the form has no file`},
		{"no form", `{}`, "application/json", 400, `its Content-Type must be multipart/form-data with a boundary`},
		{"no type", two, "", 400, `its Content-Type must be multipart/form-data with a boundary`},
		{"no boundary", two, "multipart/form-data", 400, `its Content-Type must be multipart/form-data with a boundary`},
		{"cut off", two[:len(two)-40], twoType, 400, `the form could not be read to its end`},
		{"large", large, largeType, 413, `the body is larger than 1000 bytes`},
		{"long name", long, longType, 400, `its name must have at most 255 bytes`},
		{"many", many, manyType, 400, `the form has more than 100 files`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ta.settings.MaxBodyBytes = 1000
			if tt.name == "many" {
				ta.settings.MaxBodyBytes = 1 << 20
			}
			r := request("POST", "/form", tt.body, "Content-Type", tt.contentType)
			if tt.name == "large" {
				r.ContentLength = -1 // The limit holds for chunks as well.
			}
			as("root")(r)
			w := ta.do(r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
			left, err := os.ReadDir(os.TempDir())
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
	if got := ta.recorder.records[0].Params; fmt.Sprint(got) != "map[files:[map[bytes:5 field:a.jar fileName:] map[bytes:0 field:file fileName:b.jar]]]" {
		t.Errorf("recorded were %v", got)
	}
	if doc := string(ta.Document()); !strings.Contains(doc, `"multipart/form-data"`) {
		t.Error("the document does not describe the form")
	}
}
