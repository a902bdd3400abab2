// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
)

const systemTag = "SystemController"

// Build identifies the running program.
type Build struct {
	Version   string `json:"version" doc:"Version of the program." example:"1.0.0"`
	CommitID  string `json:"commitId" doc:"Commit from which it was built." example:"3f2b9c1"`
	BuildTime string `json:"buildTime" doc:"When it was built." example:"2024-03-28T11:43:23Z"`
}

// Infos is the answer of GET /infos.
type Infos struct {
	Build Build `json:"build" doc:"Which program runs."`
}

type systemHandlers struct {
	Common
	heapDump sync.Mutex
}

func systemOperations(c Common) []*admin.Operation {
	h := &systemHandlers{Common: c}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryHealth", Method: http.MethodGet, Path: "/health", Tag: systemTag, Access: admin.Public,
			Summary: "Query the health of this node",
			Description: "`liveness` means that the process works, `readiness` that all its parts can serve. " +
				"A node that is not ready answers 503 with the same data, unless `probe=LIVENESS` asks for liveness only.",
			Errors: []apierr.Code{apierr.ServerUnavailable},
		}, h.health),
		admin.Handle(admin.Operation{
			ID: "queryInfos", Method: http.MethodGet, Path: "/infos", Tag: systemTag, Permission: permission.NodeInfoQuery,
			Summary: "Query the build of this node", Description: "Returns version, commit and build time, without envelope.",
			Media: &admin.Media{ContentType: "application/json", Description: "The build.", JSON: Infos{}},
		}, h.infos),
		admin.Handle(admin.Operation{
			ID: "queryThreadDump", Method: http.MethodGet, Path: "/threaddump", Tag: systemTag, Permission: permission.NodeThreadDumpQuery,
			Summary: "Dump all goroutines", Description: "Returns the stacks of all goroutines as text.",
			Media: &admin.Media{ContentType: "text/plain", Description: "The stacks.", Example: "goroutine 1 [running]:\nmain.main()\n"},
		}, h.threads),
		admin.Handle(admin.Operation{
			ID: "queryHeapDump", Method: http.MethodGet, Path: "/heapdump", Tag: systemTag, Permission: permission.NodeHeapDumpQuery,
			Summary: "Download a heap profile", Description: "Sends a heap profile for `go tool pprof`. One is made at a time.",
			Media: &admin.Media{ContentType: "application/octet-stream", Description: "The profile."},
		}, h.heap),
		admin.Handle(admin.Operation{
			ID: "shutdown", Method: http.MethodPut, Path: "/shutdown", Tag: systemTag, Permission: permission.Shutdown,
			Summary: "Stop the process", Description: "Shuts the process down gracefully. The response is sent first; its body is `null`.",
			Media: &admin.Media{ContentType: "application/json", Description: "The literal `null`.", Null: true},
		}, h.shutdown),
	}
}

type healthQuery struct {
	Probe string `query:"probe" enum:"LIVENESS,READINESS" doc:"What decides about the HTTP status; absent: READINESS."`
}

func (h *systemHandlers) health(ctx context.Context, in *healthQuery) (HealthReport, error) {
	r := h.Health.Report(ctx)
	if admin.Requester(ctx) == nil {
		r = r.public()
	}
	r.livenessOnly = in.Probe == "LIVENESS"
	return r, nil
}

func (h *systemHandlers) infos(context.Context, *admin.NoInput) (*admin.Raw, error) {
	body, err := json.Marshal(Infos{Build: h.Build})
	return &admin.Raw{ContentType: "application/json", Body: body}, err
}

func (h *systemHandlers) threads(context.Context, *admin.NoInput) (*admin.Raw, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nGoroutine dump of app %s (%s), %d goroutines\n\n",
		time.Now().UTC().Format("2006-01-02 15:04:05"), h.Build.Version, runtime.Version(), runtime.NumGoroutine())
	const withStacks = 2
	if err := pprof.Lookup("goroutine").WriteTo(&b, withStacks); err != nil {
		return nil, fmt.Errorf("dump goroutines: %w", err)
	}
	return &admin.Raw{ContentType: "text/plain; charset=UTF-8", Body: b.Bytes()}, nil
}

type heapQuery struct {
	Live bool `query:"live" default:"true" doc:"Whether to collect garbage first, so that only reachable objects count."`
}

func (h *systemHandlers) heap(_ context.Context, in *heapQuery) (*admin.Download, error) {
	if !h.heapDump.TryLock() {
		return nil, apierr.New(apierr.ClientRequestsTooFrequent, "another heap profile is being sent")
	}
	if in.Live {
		runtime.GC()
	}
	var b bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
		h.heapDump.Unlock()
		return nil, fmt.Errorf("write heap profile: %w", err)
	}
	return &admin.Download{
		Name: fmt.Sprintf("%d.heap.pb.gz", time.Now().UnixMilli()), ContentType: "application/octet-stream",
		Size: int64(b.Len()), Content: closeFunc{&b, h.heapDump.Unlock},
	}, nil
}

type closeFunc struct {
	io.Reader
	close func()
}

func (c closeFunc) Close() error {
	c.close()
	return nil
}

func (h *systemHandlers) shutdown(context.Context, *admin.NoInput) (*admin.Raw, error) {
	h.Shutdown()
	return &admin.Raw{ContentType: "application/json", Body: []byte("null")}, nil
}
