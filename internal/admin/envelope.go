// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/klauspost/compress/gzip"

	"example.org/app/internal/apierr"
)

// gzipFrom is the size in bytes from which text is compressed for callers that
// accept it.
const gzipFrom = 1024

const jsonType = "application/json"

// envelope is the object around every response except downloads. Keys are in this order; absent
// data is omitted.
type envelope struct {
	code   apierr.Code
	reason string
	data   any
	// exception is the text of an underlying error; omitted if empty.
	exception string
}

// appendTo appends the envelope to buf.
func (e envelope) appendTo(buf *bytes.Buffer, now time.Time) error {
	b := buf.AvailableBuffer()
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, int64(e.code), 10)
	b = append(b, `,"reason":`...)
	b, err := appendString(b, e.reason)
	if err != nil {
		return err
	}
	b = append(b, `,"timestamp":"`...)
	b = Date{now}.appendText(b)
	b = append(b, '"')
	if e.exception != "" {
		b = append(b, `,"exception":`...)
		if b, err = appendString(b, e.exception); err != nil {
			return err
		}
	}
	if e.data != nil {
		b = append(b, `,"data":`...)
		if b, err = appendJSON(b, e.data); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
	}
	buf.Write(append(b, '}'))
	return nil
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooledBuffer prevents rare large responses from staying in memory.
const maxPooledBuffer = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// writeBody sends a complete body. Larger text is compressed if the caller accepts that.
func (c *call) writeBody(contentType string, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = contentTypeHeader(contentType)
	if len(body) >= gzipFrom && isText(contentType) {
		h["Vary"] = append(h["Vary"], varyByEncoding...)
		if acceptsGzip(c.r.Header.Get("Accept-Encoding")) {
			buf := buffers.Get().(*bytes.Buffer)
			defer putBuffer(buf)
			zw := gzipWriters.Get().(*gzip.Writer)
			defer gzipWriters.Put(zw)
			zw.Reset(buf)
			_, _ = zw.Write(body) // Writing to memory cannot fail.
			_ = zw.Close()
			h.Set("Content-Encoding", "gzip")
			body = buf.Bytes()
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if c.conn != nil && len(body) >= holdFrom && len(body) <= holdTo {
		c.conn.hold()
	}
	c.w.WriteHeader(c.status)
	if c.r.Method != http.MethodHead {
		c.w.Write(body)
	}
}

var (
	jsonTypeHeader = []string{jsonType}
	varyByEncoding = []string{"Accept-Encoding"}
)

// contentTypeHeader returns the values of a header, without allocation for the common type.
func contentTypeHeader(contentType string) []string {
	if contentType == jsonType {
		return jsonTypeHeader
	}
	return []string{contentType}
}

func isText(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(mime, "text/") || mime == jsonType || mime == "application/javascript"
}

// acceptsGzip reads an Accept-Encoding header.
func acceptsGzip(header string) bool {
	star := false
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		accepted := true
		if q, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			f, err := strconv.ParseFloat(q, 64)
			accepted = err == nil && f > 0
		}
		if coding == "gzip" {
			return accepted
		}
		star = accepted
	}
	return star
}

// Float is a number that may be NaN or infinite, which JSON writes as strings.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(v)
	}
}

// Schema implements huma.SchemaProvider.
func (Float) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", Examples: []any{0.25}}
}
