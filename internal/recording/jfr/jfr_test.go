// SPDX-License-Identifier: Apache-2.0

package jfr_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/recording/jfr"
	"example.org/app/internal/recording/jfr/jfrtest"
)

// declared are types with every kind of field.
func declared(t testing.TB) (*jfr.Schema, *jfr.Type, *jfr.Type) {
	t.Helper()
	request := &jfr.Type{
		Name: "app.Request", Label: "Request", Description: "A request.", Category: []string{"App", "Admin"}, Duration: true,
		Fields: []jfr.Field{
			{Name: "path", Kind: jfr.KindString, Label: "Path"},
			{Name: "status", Kind: jfr.KindInt},
			{Name: "id", Kind: jfr.KindLong},
			{Name: "ok", Kind: jfr.KindBoolean},
			{Name: "ratio", Kind: jfr.KindDouble},
			{Name: "part", Kind: jfr.KindFloat},
			{Name: "load", Kind: jfr.KindPercentage},
			{Name: "size", Kind: jfr.KindBytes},
			{Name: "wait", Kind: jfr.KindSpan},
			{Name: "address", Kind: jfr.KindAddress},
			{Name: "eventThread", Kind: jfr.KindThread},
			{Name: "stackTrace", Kind: jfr.KindStack},
			{Name: "class", Kind: jfr.KindClass},
			{Name: "cause", Kind: jfr.KindGCCause},
			{Name: "space", Kind: jfr.KindSpace},
		},
	}
	sample := &jfr.Type{Name: "jdk.ExecutionSample", Label: "Method Profiling Sample", Fields: []jfr.Field{
		{Name: "sampledThread", Kind: jfr.KindThread},
		{Name: "stackTrace", Kind: jfr.KindStack},
		{Name: "state", Kind: jfr.KindThreadState},
	}}
	gc := &jfr.Type{Name: "jdk.GarbageCollection", Duration: true, Fields: []jfr.Field{
		{Name: "gcId", Kind: jfr.KindInt}, {Name: "longestPause", Kind: jfr.KindSpan},
	}}
	heap := &jfr.Type{Name: "jdk.GCHeapSummary", Fields: []jfr.Field{
		{Name: "gcId", Kind: jfr.KindInt}, {Name: "when", Kind: jfr.KindGCWhen}, {Name: "heapUsed", Kind: jfr.KindBytes},
	}}
	old := &jfr.Type{Name: "jdk.OldGarbageCollection", Label: "Old Garbage Collection", Duration: true, Fields: []jfr.Field{{Name: "gcId", Kind: jfr.KindInt}}}
	young := &jfr.Type{Name: "jdk.YoungGarbageCollection", Label: "Young Garbage Collection", Duration: true, Fields: []jfr.Field{{Name: "gcId", Kind: jfr.KindInt}}}
	schema, err := jfr.NewSchema(request, sample, gc, heap, old, young)
	if err != nil {
		t.Fatal(err)
	}
	return schema, request, sample
}

func addRequest(c *jfr.Chunk, request *jfr.Type, at time.Time, took time.Duration, text string, number int64, line int) {
	c.Add(request, at, took, jfr.String(text), jfr.Int(int32(number)), jfr.Long(number), jfr.Boolean(number%2 == 0),
		jfr.Double(float64(number)/3), jfr.Float(0.5), jfr.Percentage(0.25), jfr.Bytes(number), jfr.Span(took), jfr.Address(number),
		jfr.Thread("worker "+text), jfr.Stack([]jfr.Frame{{Class: "app/Store", Method: "write", Line: line}, {Class: "app/Main", Method: "main"}}),
		jfr.Class("app/"+text), jfr.Constant(jfr.KindGCCause, text), jfr.Space(number))
}

func TestToolsReadWhatIsWritten(t *testing.T) {
	schema, request, sample := declared(t)
	start := time.Now().Add(-time.Minute)
	var file bytes.Buffer
	for chunk := range 3 {
		begin := start.Add(time.Duration(chunk) * 10 * time.Second)
		c := schema.NewChunk(begin)
		for i := range 200 {
			at := begin.Add(time.Duration(i) * 10 * time.Millisecond)
			addRequest(c, request, at, time.Duration(i)*time.Millisecond, fmt.Sprintf("/päth/%d", i%3), int64(i), i)
			c.Add(sample, at, 0, jfr.Thread("goroutines"),
				jfr.Stack([]jfr.Frame{{Class: "example_org/app/burn", Method: "Hot", Line: 7}, {Class: "main", Method: "main", Line: 1}}),
				jfr.Constant(jfr.KindThreadState, "STATE_RUNNABLE"))
		}
		file.Write(c.Finish(begin.Add(10 * time.Second)))
	}
	// The constants of this chunk have the keys that others had before.
	c := schema.NewChunk(start.Add(30 * time.Second))
	for range 1000 {
		c.Add(sample, start.Add(31*time.Second), 0, jfr.Thread("other"), jfr.Stack([]jfr.Frame{{Class: "last", Method: "Hottest"}}),
			jfr.Constant(jfr.KindThreadState, "STATE_RUNNABLE"))
	}
	file.Write(c.Finish(start.Add(40 * time.Second)))
	path := filepath.Join(t.TempDir(), "test.jfr")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	events := jfrtest.Check(t, path)
	if len(events) != 2200 {
		t.Errorf("%d events, want 2200", len(events))
	}
	if got := events[2*7].Text("path"); got != "/päth/1" {
		t.Errorf("path %q", got)
	}
	if got := events[2*7].Duration(); got != 7*time.Millisecond {
		t.Errorf("duration %v", got)
	}
	// A method is one row, whatever the number of chunks that have it.
	out := jfrtest.Tool(t, "view", "hot-methods", path)
	for _, row := range []string{`burn\.Hot\(\) +600 `, `last\.Hottest\(\) +1,000 `} {
		if !regexp.MustCompile(row).MatchString(out) {
			t.Errorf("hot-methods does not show %s:\n%s", row, out)
		}
	}
	out = jfrtest.Tool(t, "print", "--events", "app.Request", path)
	for _, part := range []string{`"/päth/2"`, "Store.write()", "load = 25.00%", "size = 199 bytes", "wait = 199 ms", "duration = 199 ms"} {
		if !strings.Contains(out, part) {
			t.Errorf("print does not show %s:\n%.2000s", part, out)
		}
	}
}

func TestAnEmptyChunkIsRead(t *testing.T) {
	schema, _, _ := declared(t)
	path := filepath.Join(t.TempDir(), "empty.jfr")
	now := time.Now()
	if err := os.WriteFile(path, schema.NewChunk(now).Finish(now), 0o600); err != nil {
		t.Fatal(err)
	}
	if events := jfrtest.Check(t, path); len(events) != 0 {
		t.Errorf("%d events", len(events))
	}
}

func TestSchemaRefusesWhatReadersCannotTellApart(t *testing.T) {
	used := &jfr.Type{Name: "a"}
	if _, err := jfr.NewSchema(used); err != nil {
		t.Fatal(err)
	}
	for name, types := range map[string][]*jfr.Type{
		"no name":        {{}},
		"twice":          {{Name: "a"}, {Name: "a"}},
		"other schema":   {used},
		"field twice":    {{Name: "a", Fields: []jfr.Field{{Name: "x"}, {Name: "x"}}}},
		"reserved field": {{Name: "a", Fields: []jfr.Field{{Name: "startTime"}}}},
		"bad kind":       {{Name: "a", Fields: []jfr.Field{{Name: "x", Kind: 200}}}},
	} {
		if _, err := jfr.NewSchema(types...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAddPanicsForValuesThatDoNotFit(t *testing.T) {
	schema, _, sample := declared(t)
	for name, values := range map[string][]jfr.Value{
		"few":   {jfr.Thread("t")},
		"wrong": {jfr.Thread("t"), jfr.Long(1), jfr.Constant(jfr.KindThreadState, "x")},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			schema.NewChunk(time.Now()).Add(sample, time.Now(), 0, values...)
		}()
	}
}

func TestScanStopsAtWhatACrashCutOff(t *testing.T) {
	schema, request, _ := declared(t)
	start := time.Unix(1000, 0)
	var file []byte
	for i := range 3 {
		c := schema.NewChunk(start.Add(time.Duration(i) * time.Second))
		addRequest(c, request, start, time.Second, "x", 1, 1)
		file = append(file, c.Finish(start.Add(time.Duration(i+1)*time.Second))...)
	}
	size := len(file) / 3
	for _, test := range []struct{ bytes, want int }{{0, 0}, {10, 0}, {size - 1, 0}, {size, 1}, {size + 50, 1}, {3*size - 1, 2}, {3 * size, 3}} {
		got, err := jfr.Scan(bytes.NewReader(file[:test.bytes]), int64(test.bytes))
		if err != nil || len(got) != test.want {
			t.Errorf("%d bytes: %d chunks, error %v, want %d", test.bytes, len(got), err, test.want)
		}
	}
	got, _ := jfr.Scan(bytes.NewReader(file), int64(len(file)))
	if last := got[2]; !last.Start.Equal(start.Add(2*time.Second)) || !last.End.Equal(start.Add(3*time.Second)) || last.Offset != int64(2*size) {
		t.Errorf("the last chunk is %+v", last)
	}
}

// FuzzChunk lets the reader read whatever a caller can give to the writer.
func FuzzChunk(f *testing.F) {
	f.Add("path", int64(1), int64(5), 3, uint16(2))
	f.Add("", int64(-1), int64(-5), -3, uint16(300))
	f.Add("a\x00\xff"+strings.Repeat("x", 300), int64(1)<<62, int64(0), 1<<30, uint16(1))
	f.Fuzz(func(t *testing.T, text string, number, took int64, line int, count uint16) {
		schema, request, sample := declared(t)
		c := schema.NewChunk(time.Unix(0, number))
		n := int(count % 500)
		frames := make([]jfr.Frame, n)
		for i := range frames {
			frames[i] = jfr.Frame{Class: text, Method: fmt.Sprint(text, i), Line: line}
		}
		for i := range n {
			addRequest(c, request, time.Unix(0, number), time.Duration(took), fmt.Sprint(text, i%7), number+int64(i), line)
			c.Add(sample, time.Unix(0, number), 0, jfr.Thread(text), jfr.Stack(frames[:i]), jfr.Constant(jfr.KindThreadState, text))
		}
		data := c.Finish(time.Unix(0, number).Add(time.Duration(took)))
		if size := binary.BigEndian.Uint64(data[8:]); size != uint64(len(data)) {
			t.Fatalf("the header says %d bytes of %d", size, len(data))
		}
		events, err := jfrtest.Parse(append(bytes.Clone(data), data...))
		if err != nil {
			t.Fatal(err)
		}
		if len(events) != 4*n {
			t.Fatalf("%d events, want %d", len(events), 4*n)
		}
		if n > 0 && (events[0].Text("path") != fmt.Sprint(text, 0) || events[0].Number("id") != number) {
			t.Fatalf("the first event is %v", events[0].Fields)
		}
		if chunks, err := jfr.Scan(bytes.NewReader(data), int64(len(data))); err != nil || len(chunks) != 1 {
			t.Fatalf("scan found %d chunks, error %v", len(chunks), err)
		}
	})
}

// FuzzParse lets the reader meet anything: it must neither panic nor loop.
func FuzzParse(f *testing.F) {
	schema, request, _ := declared(f)
	c := schema.NewChunk(time.Unix(1, 0))
	addRequest(c, request, time.Unix(1, 0), 1, "x", 1, 1)
	f.Add(c.Finish(time.Unix(2, 0)))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = jfrtest.Parse(data)
		_, _ = jfr.Scan(bytes.NewReader(data), int64(len(data)))
	})
}
