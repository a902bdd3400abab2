// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/logs"
	"example.org/app/internal/permission"
)

const logTag = "LogController"

type logHandlers struct{ folder *logs.Folder }

func logOperations(c Common) []*admin.Operation {
	h := logHandlers{c.Logs}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryLog", Method: http.MethodGet, Path: "/logs", Tag: logTag, Permission: permission.LogQuery,
			Summary: "Download a log file", Description: "Sends one file of the log folder of this node.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
			Media:  &admin.Media{ContentType: "application/octet-stream", Description: "The file."},
		}, h.download),
		admin.Handle(admin.Operation{
			ID: "queryLogPaths", Method: http.MethodGet, Path: "/logs/paths", Tag: logTag, Permission: permission.LogQuery,
			Summary: "List the log files", Description: "Lists the names of the files in the log folder of this node.",
		}, h.paths),
		admin.Handle(admin.Operation{
			ID: "tailLog", Method: http.MethodGet, Path: "/logs/tail", Tag: logTag, Permission: permission.LogQuery,
			Summary: "Follow a log file",
			Description: "Sends the last lines of a log file as server-sent events, one event a line, and with `follow=true` every line that is written from then on. " +
				"The stream goes on over the rotation of the file and ends when the caller leaves or the server stops.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
			Media:  &admin.Media{ContentType: "text/event-stream", Description: "One event for each line.", Example: "data: {\"level\":\"INFO\",\"msg\":\"ready\"}\n\n"},
		}, h.tail),
	}
}

type logPath struct {
	Path string `query:"path" required:"true" minLength:"1" doc:"Name of the file, relative to the log folder." example:"app.log"`
}

func (h logHandlers) download(_ context.Context, in *logPath) (*admin.Download, error) {
	f, err := h.open(in.Path)
	if err != nil {
		return nil, err
	}
	return &admin.Download{Name: f.Name(), ContentType: "application/octet-stream", Size: f.Size(), Content: f}, nil
}

func (h logHandlers) open(path string) (*logs.Reader, error) {
	f, err := h.folder.Open(path)
	if errors.Is(err, logs.ErrNotFound) {
		return nil, apierr.New(apierr.ResourceNotFound, "there is no log file %q", path)
	}
	return f, err
}

func (h logHandlers) paths(context.Context, *admin.NoInput) ([]string, error) {
	return h.folder.Names()
}

type logTail struct {
	logPath
	Lines  int32 `query:"lines" default:"100" minimum:"0" maximum:"10000" doc:"How many of the last lines to begin with."`
	Follow bool  `query:"follow" default:"false" doc:"Whether to continue with new lines."`
}

// keepAliveInterval keeps proxies from closing a stream of a quiet log.
const keepAliveInterval = 15 * time.Second

func (h logHandlers) tail(_ context.Context, in *logTail) (admin.Stream, error) {
	f, err := h.open(in.Path)
	if err != nil {
		return nil, err
	}
	f.Close()
	return func(ctx context.Context, events *admin.Events) error {
		ctx, cancel := context.WithCancel(ctx)
		var mu sync.Mutex // Lines and keep-alives come from two goroutines.
		var alive sync.WaitGroup
		alive.Go(func() {
			ticker := time.NewTicker(keepAliveInterval)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				mu.Lock()
				err := events.KeepAlive()
				mu.Unlock()
				if err != nil {
					cancel()
				}
			}
		})
		defer alive.Wait()
		defer cancel()
		return h.folder.Tail(ctx, in.Path, int(in.Lines), in.Follow, func(line string) error {
			mu.Lock()
			defer mu.Unlock()
			return events.Send("", line)
		})
	}, nil
}
