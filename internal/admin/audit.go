// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"reflect"
	"time"

	"example.org/app/internal/apierr"
)

// Record describes a finished request.
type Record struct {
	Admin      *Principal // nil for a caller without valid credentials
	LoginName  string     // the refused name; "" otherwise
	Remote     netip.Addr
	RequestID  string
	Time       time.Time
	Action     string // the operation's ID; "" if none matched
	Method     string
	Path       string
	Params     map[string]any // with secrets masked; nil if not wanted
	Code       apierr.Code
	Status     int
	Processing time.Duration
	Err        error
}

// Recorder receives the record of every finished request, in the goroutine that served it and
// before the next request of the connection is read. It must not block.
type Recorder interface {
	Record(ctx context.Context, r *Record)
}

// Watcher is a Recorder that can be inactive.
type Watcher interface {
	Recorder
	// Wants reports whether it wants the record of a beginning request. It must be cheap.
	Wants() bool
}

// tell passes a record to the recorders.
func (a *API) tell(ctx context.Context, rec *Record, s *Settings, watched bool) {
	if watched {
		a.opts.Watcher.Record(ctx, rec)
	}
	if !s.Audit {
		return
	}
	if !s.AuditParams && rec.Params != nil {
		plain := *rec
		plain.Params = nil
		rec = &plain
	}
	for _, r := range a.opts.Recorders {
		r.Record(ctx, rec)
	}
}

// AuditLog returns a Recorder that writes one log record for each request.
func AuditLog(logger *slog.Logger) Recorder { return auditLog{logger.Handler()} }

type auditLog struct{ handler slog.Handler }

func (l auditLog) Record(ctx context.Context, r *Record) {
	if !l.handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	switch {
	case r.Admin == nil && r.LoginName != "":
		attrs = append(attrs, slog.String("triedLoginName", r.LoginName))
	case r.Admin == nil:
	case r.Admin.Plugin != "":
		attrs = append(attrs, slog.String("admin", r.Admin.LoginName))
	default:
		attrs = append(attrs, slog.Int64("adminId", r.Admin.ID))
		if r.Admin.Token != nil {
			attrs = append(attrs, slog.Int64("tokenId", r.Admin.Token.ID))
		}
	}
	attrs = append(
		attrs,
		slog.String("ip", r.Remote.String()),
		slog.String("requestId", r.RequestID),
		slog.Time("requestTime", r.Time),
		slog.String("action", r.Action),
	)
	if r.Action == "" {
		attrs = append(attrs, slog.String("method", r.Method), slog.String("path", clip(r.Path)))
	}
	if r.Params != nil {
		attrs = append(attrs, slog.Any("params", boundParams(r.Params)))
	}
	attrs = append(
		attrs,
		slog.Bool("success", r.Err == nil),
		slog.Int("code", int(r.Code)),
		slog.Int("status", r.Status),
		slog.Float64("millis", float64(r.Processing.Microseconds())/1000),
	)
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	// A logger would determine the source line, which is always this one.
	record := slog.NewRecord(time.Now(), slog.LevelInfo, "admin request", 0)
	record.AddAttrs(attrs...)
	_ = l.handler.Handle(ctx, record)
}

// maxParamBytes is the maximum size of a logged parameter.
const maxParamBytes = 4 << 10

// boundParams replaces parameters that are too large by their size, in the body field by field.
func boundParams(params map[string]any) map[string]any {
	bounded := make(map[string]any, len(params))
	for name, value := range params {
		if body, ok := value.(map[string]any); ok && name == "body" {
			bounded[name] = boundParams(body)
			continue
		}
		bounded[name] = value
		if size := jsonSize(value); size > maxParamBytes {
			bounded[name] = map[string]any{"bytes": size}
		}
	}
	return bounded
}

// jsonSize returns the size of a parameter in the log. Numbers and short texts, which are most, are
// not encoded.
func jsonSize(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err != nil {
			return 0
		}
		return len(text)
	}
	return 0
}

// masked replaces a secret.
const masked = "***"

// describe returns the parameters of an input for an audit record.
func (in *input) describe(v reflect.Value) map[string]any {
	params := map[string]any{}
	for _, p := range in.params {
		if f := v.FieldByIndex(p.index); !f.IsZero() {
			params[p.name] = p.describe(f, p.secret)
		}
	}
	if in.body != nil {
		if f := v.FieldByIndex(in.bodyIndex); !f.IsZero() {
			params["body"] = in.body.describe(f, false)
		}
	}
	if in.formIndex != nil {
		params["files"] = v.FieldByIndex(in.formIndex).Interface().(Form).describe()
	}
	if len(params) == 0 {
		return nil
	}
	return params
}

// describe returns a value for the log.
func (s *shape) describe(v reflect.Value, secret bool) any {
	if secret {
		return masked
	}
	if s.pointer {
		v = v.Elem()
	}
	switch s.kind {
	case kindObject:
		m := map[string]any{}
		for _, f := range s.fields {
			if fv := v.FieldByIndex(f.index); !fv.IsZero() {
				m[f.name] = f.describe(fv, f.secret)
			}
		}
		return m
	case kindList:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = s.elem.describe(v.Index(i), false)
		}
		return list
	case kindBytes:
		return map[string]any{"bytes": v.Len()}
	default:
		if d, ok := v.Interface().(Describer); ok {
			return d.Describe()
		}
		return v.Interface()
	}
}

// A Describer is a body without declared shape that may contain secrets: Describe returns what logs
// and plugins may see.
type Describer interface{ Describe() any }
