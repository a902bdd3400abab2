// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receive parses an export.
func receive(r *http.Request) (*collector.ExportTraceServiceRequest, error) {
	unzipped, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	in := new(collector.ExportTraceServiceRequest)
	return in, proto.Unmarshal(data, in)
}

func open(t *testing.T, url string, rate float64, logger *slog.Logger) *Tracer {
	t.Helper()
	tracer, err := Open(t.Context(), Options{
		Endpoint: url + "/v1/traces", Headers: map[string]string{"X-Key": "k"}, SampleRate: rate, Timeout: time.Minute, MaxQueueSize: 100, Logger: logger,
		Resource: []attribute.KeyValue{attribute.String("service.name", "test")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func TestSpans(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		in, err := receive(r)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != "k" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range in.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					got = append(got, resource.GetResource().GetAttributes()[0].GetValue().GetStringValue()+" "+s.GetName()+" "+s.GetStatus().GetMessage())
				}
			}
		}
	}))
	defer server.Close()
	tracer := open(t, server.URL, 1, slog.New(slog.DiscardHandler))
	if !On() {
		t.Error("there is no tracer")
	}
	ctx, root := Start(t.Context(), "root", Server)
	ctx, child := Child(ctx, "child", Internal)
	child.Set(attribute.Int("n", 1))
	child.Event("happened")
	child.Fail("bad luck")
	if !Sampled(ctx) || !child.On() {
		t.Error("the child is not recorded")
	}
	header := http.Header{}
	Inject(ctx, header)
	if want := strings.Split(root.Response(), "-")[1]; !strings.Contains(header.Get("traceparent"), want) {
		t.Errorf("%s does not tell of the trace %s", header, want)
	}
	far, distant := Child(Extract(t.Context(), header), "far", Client)
	distant.End()
	if !Sampled(far) {
		t.Error("the trace was not propagated to another process")
	}
	Inject(context.Background(), header) // The existing header is kept.
	if _, lost := Child(Extract(Join(t.Context(), ctx), http.Header{}), "joined", Client); !lost.On() {
		t.Error("a context that joined the trace does not belong to it")
	} else {
		lost.End()
	}
	child.End()
	root.Rename("the root")
	root.End()
	tracer.Configure(0)
	unsampled, none := Start(t.Context(), "none", Server)
	none.End()
	if _, s := Child(unsampled, "none", Internal); s.On() || Sampled(unsampled) || none.Response() == "" {
		t.Error("what is not sampled is recorded, or has no id")
	}
	if err := tracer.Close(context.Background()); err != nil || On() {
		t.Error(err, On())
	}
	mu.Lock()
	defer mu.Unlock()
	if text := strings.Join(got, ","); text != "test far ,test joined ,test child bad luck,test the root " {
		t.Errorf("the collector got %q", text)
	}
}

// TestCollectorsThatFail proves that no request waits for a collector that refuses or hangs, and
// that the failure is logged once.
func TestCollectorsThatFail(t *testing.T) {
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refuses.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	for name, url := range map[string]string{"hangs": hangs.URL, "refuses": refuses.URL, "is dead": dead.URL} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			tracer := open(t, url, 1, slog.New(slog.NewTextHandler(&log, nil)))
			for range 10_000 { // Far more than the capacity of the queue.
				_, s := Start(t.Context(), "span", Server)
				s.End()
			}
			ctx, cancel := context.WithCancel(t.Context())
			if name != "refuses" {
				cancel() // It would not end otherwise.
			}
			if err := tracer.Close(ctx); (err == nil) != (name == "refuses") {
				t.Error(err)
			}
			cancel()
			if n := strings.Count(log.String(), "are dropped"); name == "refuses" && n != 1 {
				t.Errorf("logged was %s", log.String())
			}
		})
	}
	close(release)
}

func TestNothingCostsNothing(t *testing.T) {
	ctx, header := t.Context(), http.Header{parent: {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	if n := testing.AllocsPerRun(1000, func() {
		ctx, root := Start(Extract(ctx, header), "root", Server)
		ctx, child := Child(ctx, "child", Internal)
		Inject(ctx, header)
		if child.On() || root.Response() != "" || Sampled(ctx) {
			t.Error("there is a span")
		}
		child.End()
		root.End()
	}); n != 0 {
		t.Errorf("spans that are not recorded allocate %v times", n)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, s := Child(ctx, "x", Internal)
		s.End()
	}
}

// TestStrangersGetFewSpans sends many requests whose callers want to be traced.
func TestStrangersGetFewSpans(t *testing.T) {
	tracer := open(t, "http://127.0.0.1:1", 0, slog.New(slog.DiscardHandler))
	tracer.requested.SetLimit(0) // A slow machine gets as many as a fast one.
	header := http.Header{parent: {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	sampled := 0
	for range 3 * maxRequested {
		ctx := Accept(t.Context(), header)
		if Sampled(ctx) {
			sampled++
		}
		_, span := Start(ctx, "request", Server)
		if !strings.Contains(span.Response(), "0af7651916cd43dd8448eb211c80319c") {
			t.Fatalf("the request belongs to another trace: %s", span.Response())
		}
		span.End()
	}
	if sampled != maxRequested {
		t.Errorf("%d requests have spans", sampled)
	}
	if !Sampled(Extract(t.Context(), header)) {
		t.Error("a call of another node has no spans")
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = tracer.Close(gone) // There is no collector.
}
