// SPDX-License-Identifier: Apache-2.0

package java

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// The warm-up plugin is part of the host's jar.
const (
	warmupClass  = "warmup.WarmupPlugin"
	warmupFolder = "warmup/"
	// warmupCalls is how often each of its methods is called, and warmupTime how long all of it may take.
	warmupCalls = 3
	warmupTime  = 30 * time.Second
)

// warmupJar packs the warm-up plugin.
var warmupJar = sync.OnceValues(func() ([]byte, error) {
	data, err := Jar(HostJar)
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range r.File {
		if !strings.HasPrefix(f.Name, warmupFolder) || strings.HasSuffix(f.Name, "/") {
			continue
		}
		from, err := f.Open()
		if err != nil {
			return nil, err
		}
		to, err := w.Create(f.Name)
		if err == nil {
			_, err = io.Copy(to, from)
		}
		if err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
})

// warmUp lets a JVM without plugins load the warm-up plugin, start it, call it and forget it. The first plugin and the first
// call of a JVM take a few hundred milliseconds, because that loads most classes of the host and of the client protocol; the next
// ones take a few. If somebody waits for the JVM, it does not go on.
func (h *Host) warmUp(s *session) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(h.ctx, warmupTime)
	defer cancel()
	if err := h.runWarmup(ctx, s, h.keep, h.isSpareAwaited); err != nil {
		if s.ctx.Err() == nil && h.ctx.Err() == nil {
			h.opts.Log.Warn("a spare JVM could not be warmed up", slog.Any("error", err))
		}
		return
	}
	h.opts.Log.Debug("a spare JVM is warm", slog.Int("pid", s.cmd.Process.Pid), slog.Duration("took", time.Since(begin)))
}

// runWarmup runs the warm-up plugin, whose jar keep writes to where the JVM reads it. It makes no more calls once hurry reports true.
func (h *Host) runWarmup(ctx context.Context, s *session, keep func(jar []byte) (path string, err error), hurry func() bool) error {
	jar, err := warmupJar()
	if err != nil {
		return err
	}
	path, err := keep(jar)
	if err != nil {
		return err
	}
	a, err := s.request(ctx, kindLoad, nil, func(b []byte) ([]byte, error) {
		b = appendString(appendString(appendString(appendString(b, "warm-up"), "1"), warmupClass), path)
		return appendString(appendBool(b, false), "warm-up.jar"), nil
	})
	_ = os.Remove(path)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	r := &in{b: *a.body}
	module, _, extension := r.uint(), r.count(), r.uint()
	err = r.err
	a.free()
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	failed := h.callWarmup(ctx, s, extension, hurry)
	a, err = s.request(ctx, kindUnload, nil, func(b []byte) ([]byte, error) { return appendUint(b, module), nil })
	a.free()
	s.remove(module)
	if failed != nil {
		return failed
	}
	return err
}

// callWarmup starts the extension of the warm-up plugin and calls its methods.
func (h *Host) callWarmup(ctx context.Context, s *session, extension uint64, hurry func() bool) error {
	hook := func(b []byte) ([]byte, error) {
		return append(appendUint(b, extension), hookNumbers[plugin.Start]), nil
	}
	if hurry() {
		return nil
	}
	a, err := s.request(ctx, kindHook, nil, hook)
	a.free()
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	text := "warm"
	for range warmupCalls {
		for method, arg := range map[*plugin.Method]any{
			plugin.Authenticate: &plugin.UserLoginInfo{Version: 1, Password: &text, IP: "127.0.0.1"},
			plugin.TransformRequest: &plugin.ClientRequest{ClientIP: "127.0.0.1", Request: &wire.AppRequest{
				Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: &text}},
			}},
		} {
			if hurry() {
				return nil
			}
			p := h.plans[method]
			a, err := s.request(ctx, kindCall, nil, func(b []byte) ([]byte, error) {
				return p.write(appendUint(appendUint(b, extension), uint64(p.index)), []any{arg})
			})
			a.free()
			if err != nil {
				return fmt.Errorf("call %s: %w", method.Name, err)
			}
		}
	}
	return nil
}

// isSpareAwaited reports whether a slot waits for the spare JVM that is being started.
func (h *Host) isSpareAwaited() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spare.awaited
}
