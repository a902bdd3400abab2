// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/logs"
	"example.org/app/internal/permission"
)

// discardWriter discards a response.
type discardWriter struct{ header http.Header }

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *discardWriter) WriteHeader(int)             {}

// BenchmarkServeHTTP measures the overhead of the framework for a response of 6 KB from memory:
// limit, credentials, permission, input, JSON, audit log.
func BenchmarkServeHTTP(b *testing.B) {
	l, err := logs.Open(logs.Options{AuditPath: filepath.Join(b.TempDir(), "audit.log")})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	type record struct {
		ID     int64    `json:"id"`
		Name   string   `json:"name"`
		Values []string `json:"values"`
		Date   Date     `json:"date"`
	}
	records := make([]record, 4)
	for i := range records {
		records[i] = record{int64(i), "NAME", strings.Fields(strings.Repeat("SOME_PERMISSION_QUERY ", 60)), NewDate(time.Now())}
	}
	settings := &Settings{
		UseAuthentication: true, Audit: true, AuditParams: true, MaxBodyBytes: 1000, DefaultRecords: 10, MaxRecords: 100,
		RateLimit: RateLimit{Capacity: 2e9, InitialTokens: 2e9},
	}
	api := New(
		Options{
			Title: "Benchmark", Version: "1", Settings: func() *Settings { return settings }, Authenticator: administrators,
			Recorders: []Recorder{AuditLog(l.Audit().With("role", "service"))}, Tags: []Tag{{"Things", "Things."}}, Logger: slog.New(slog.DiscardHandler),
		},
		Handle(
			Operation{ID: "query", Method: "GET", Path: "/things", Tag: "Things", Summary: "Query", Permission: permission.UserQuery},
			func(context.Context, *thingQuery) ([]record, error) { return records, nil },
		),
	)
	defer api.StopStreams()
	r := request("GET", "/things", "")
	r.RemoteAddr = "127.0.0.1:4711"
	as("root")(r)
	w := &discardWriter{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		api.ServeHTTP(w, r)
	}
	if w.header.Get("Content-Length") < "6" {
		b.Fatalf("the answer has the header %v", w.header)
	}
}
