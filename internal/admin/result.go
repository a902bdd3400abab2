// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"io"
	"reflect"
)

// Done is the result of an operation without data: 200 and an envelope.
type Done struct{}

// NoContent is the result of an operation that responds with 204.
type NoContent struct{}

// Maybe is the result of an operation without data: 200 if Done, else 204.
type Maybe struct{ Done bool }

// Optional is an optional result; nil responds with 204.
type Optional[T any] struct{ Value *T }

func (o Optional[T]) get() (any, bool) { return o.Value, o.Value != nil }

func (o Optional[T]) dataType() reflect.Type { return reflect.TypeFor[T]() }

// optional is implemented by Optional.
type optional interface {
	get() (data any, ok bool)
	dataType() reflect.Type
}

// Page is one page of a collection. An empty collection responds with 204.
type Page[T any] struct {
	Total        int64 `json:"total" doc:"How many records match the filters." example:"1"`
	Records      []T   `json:"records" doc:"The records of this page."`
	TotalIsExact *bool `json:"totalIsExact,omitempty" doc:"Only there if it is false: counting would have taken too long, and total is a lower bound. With exactTotal=true it is exact." example:"false"`
}

// NewPage returns a page; records may be nil.
func NewPage[T any](total int64, records []T) Page[T] {
	if records == nil {
		records = []T{}
	}
	return Page[T]{Total: total, Records: records}
}

func (p Page[T]) none() bool { return p.Total <= 0 }

// Versioned is a result with a version for its ETag.
type Versioned[T any] struct {
	Data    T
	Version string
}

func (v Versioned[T]) unwrap() (any, string) { return v.Data, v.Version }

func (v Versioned[T]) dataType() reflect.Type { return reflect.TypeFor[T]() }

// versioned is implemented by Versioned.
type versioned interface {
	unwrap() (data any, version string)
	dataType() reflect.Type
}

// UpdateResult contains the counts of an update.
type UpdateResult struct {
	MatchedCount  int64 `json:"matchedCount" doc:"How many records the selectors matched." example:"1"`
	ModifiedCount int64 `json:"modifiedCount" doc:"How many of them were changed." example:"1"`
}

// DeleteResult contains the count of a deletion.
type DeleteResult struct {
	DeletedCount int64 `json:"deletedCount" doc:"Number of deleted records." example:"1"`
}

// Download is the result of an operation that sends a file. The framework
// closes Content.
type Download struct {
	Name        string
	ContentType string
	Size        int64 // -1 if unknown
	Content     io.ReadCloser
}

// Raw is the result of an operation that answers without envelope.
type Raw struct {
	ContentType string
	Body        []byte
	// Gzipped is true if Body is compressed.
	Gzipped bool
	// Version is the ETag; "" means none. Callers with the same version get 304.
	Version string
}

// Content is the result of an operation that streams its response. The framework closes Body. If
// reading fails, it closes the connection, so that the caller notices the truncation.
type Content struct {
	ContentType string
	Body        io.ReadCloser
}

// Stream is the result of an operation that writes server-sent events until it
// returns or ctx ends.
type Stream func(ctx context.Context, events *Events) error

// Media describes the body of a Download, Raw or Stream result in the OpenAPI
// document.
type Media struct {
	ContentType string
	Description string
	Example     any
	// JSON is a value of the type that a Raw JSON body has.
	JSON any
	// Null is true if the body is the JSON literal null.
	Null bool
}

// none is implemented by results that may respond with 204.
type noner interface{ none() bool }
