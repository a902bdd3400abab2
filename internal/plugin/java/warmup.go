// SPDX-License-Identifier: Apache-2.0

package java

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
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
	// warmupCalls is the number of calls of each method, and warmupTime the total time limit.
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

// runWarmup runs the warm-up plugin, whose jar keep writes for the JVM. It stops calling once hurry
// reports true.
func runWarmup(ctx context.Context, s *session, keep func(jar []byte) (path string, err error), hurry func() bool) error {
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
	failed := callWarmup(ctx, s, extension, hurry)
	a, err = s.request(ctx, kindUnload, nil, func(b []byte) ([]byte, error) { return appendUint(b, module), nil })
	a.free()
	s.remove(module)
	if failed != nil {
		return failed
	}
	return err
}

// callWarmup starts the extension of the warm-up plugin and calls its methods.
func callWarmup(ctx context.Context, s *session, extension uint64, hurry func() bool) error {
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
			p := s.host.plans[method]
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
