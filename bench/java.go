// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/bench/process"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// javaSource is the measured plugin: it changes a request as a real plugin does, and has a method
// that returns a text, which is as close as a call comes to an echo over the pipes.
const javaSource = `
package bench;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.service.infra.plugin.extension.*;
import java.util.*;

public class Bench extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Subject.class);
    }

    public static class Subject extends AppExtension implements ClientRequestHandler, StorageServiceProvider {
        @Override
        public ClientRequest transform(ClientRequest request) {
            return request.editRequest(r -> r.getCreateMessageRequestBuilder().setText(r.getCreateMessageRequest().getText() + "!"));
        }

        @Override
        public Map<String, String> queryMessageAttachmentUploadInfo(long requesterId, String name, String type, List<im.app.proto.Value> attributes) {
            return Map.of("", name);
        }
    }
}`

// javaCostCallers is the number of callers with which the cost of a call is measured.
const javaCostCallers = 16

// benchJava measures calls of a Java plugin through the manager and the host in comparison with a
// bare echo over the same pipes, without manager and protobuf. It returns the ratio of their CPU,
// including the JVM's.
func benchJava(ctx context.Context, duration time.Duration, rounds int) (cost float64, err error) {
	before := runtime.GOMAXPROCS(runtime.NumCPU()) // The server runs in this process.
	defer runtime.GOMAXPROCS(before)
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // The server uses as high a percentage for small heaps.
	jar, err := javaJar(ctx)
	if err != nil {
		return 0, err
	}
	host, err := java.New(java.Options{})
	if err != nil {
		return 0, err
	}
	settings := config.Default().Plugin
	manager := plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Service}, Hosts: []plugin.Host{host}, Logger: slog.New(slog.DiscardHandler), Settings: func() config.Plugin { return settings },
	})
	defer func() { err = errors.Join(err, manager.Close(context.WithoutCancel(ctx))) }()
	source := plugin.Source{Name: "bench.jar", Data: jar}

	var starts []time.Duration
	for range rounds {
		begin := time.Now()
		p, err := manager.Load(ctx, plugin.Java, source)
		if err != nil {
			return 0, err
		}
		manager.Do(ctx, p, plugin.Start)
		if _, err := plugin.Pass(ctx, manager.Calls, plugin.TransformRequest, javaRequest()); err != nil {
			return 0, err
		}
		starts = append(starts, time.Since(begin))
		if _, err := manager.Remove(ctx, p.ID); err != nil {
			return 0, err
		}
	}
	slices.Sort(starts)

	p, err := manager.Load(ctx, plugin.Java, source)
	if err != nil {
		return 0, err
	}
	manager.Do(ctx, p, plugin.Start)
	idle := host.Stats().Resident
	bareModule, err := host.Load(ctx, source)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, bareModule.Close(context.WithoutCancel(ctx))) }()
	payload := strings.Repeat("message ", 30)
	bare := func() error {
		var echo map[string]string
		_, err := bareModule.Extensions()[0].Call(ctx, plugin.QueryMessageAttachmentUploadInfo, []any{int64(1), &payload, (*string)(nil), []*wire.Value(nil)}, &echo)
		if err == nil && echo[""] != payload {
			err = errors.New("the echo is another text")
		}
		return err
	}
	request := javaRequest()
	whole := func() error {
		r, err := plugin.Pass(ctx, manager.Calls, plugin.TransformRequest, request)
		if err == nil && !strings.HasSuffix(r.Request.GetCreateMessageRequest().GetText(), "!") {
			err = errors.New("the plugin was passed by")
		}
		return err
	}
	var rows [][]string
	pid := host.Stats().PID
	for _, callers := range []int{1, javaCostCallers, 256} {
		var measured, base []result
		for _, f := range []func() error{bare, whole} {
			if _, err := callAll(pid, callers, duration/2, f); err != nil { // warm up
				return 0, err
			}
		}
		for range rounds {
			b, err := callAll(pid, callers, duration, bare)
			if err != nil {
				return 0, err
			}
			w, err := callAll(pid, callers, duration, whole)
			if err != nil {
				return 0, err
			}
			base, measured = append(base, b), append(measured, w)
		}
		b, w := median(base), median(measured)
		if callers == javaCostCallers {
			cost = float64(w.cpu+w.jvm) / float64(b.cpu+b.jvm)
		}
		rows = append(rows, javaRow(callers, "bare echo over the pipes", b, b), javaRow(callers, "ClientRequestHandler.transform", w, b))
	}
	table("Java plugins", []string{"callers", "call", "calls/s", "p50", "p99", "p50 / bare", "rate / bare", "CPU/call, server", "CPU/call, JVM"}, rows)
	table("The JVM of Java plugins", []string{"what", "value"}, [][]string{
		{"start of the JVM, loading, start, first call", starts[len(starts)/2].Round(time.Millisecond).String()},
		{"resident, idle with one plugin", fmt.Sprintf("%.1f MiB", float64(idle)/(1<<20))},
		{"resident after the load", fmt.Sprintf("%.1f MiB", float64(host.Stats().Resident)/(1<<20))},
	})
	return cost, nil
}

func javaRow(callers int, name string, r, base result) []string {
	return []string{
		fmt.Sprint(callers), name, fmt.Sprintf("%.0f", r.rate), r.p50.Round(time.Microsecond / 10).String(), r.p99.Round(time.Microsecond / 10).String(),
		fmt.Sprintf("%.2f", float64(r.p50)/float64(base.p50)), fmt.Sprintf("%.2f", r.rate/base.rate),
		r.cpu.Round(time.Microsecond / 10).String(), r.jvm.Round(time.Microsecond / 10).String(),
	}
}

// javaRequest returns a message of about 300 bytes on the wire.
func javaRequest() *plugin.ClientRequest {
	return &plugin.ClientRequest{UserID: 1, DeviceType: wire.DeviceType_ANDROID, ClientIP: "192.0.2.1", RequestID: 2, Request: &wire.AppRequest{
		RequestId: new(int64(2)), Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
			RecipientId: new(int64(3)), Text: new(strings.Repeat("message ", 30)),
		}},
	}}
}

// callAll calls from several goroutines for a duration.
func callAll(pid, n int, duration time.Duration, call func() error) (result, error) {
	var wg sync.WaitGroup
	times := make([][]time.Duration, n)
	errs := make([]error, n)
	own, _ := process.CPU(os.Getpid())
	theirs, _ := process.CPU(pid)
	begin := time.Now()
	end := begin.Add(duration)
	for i := range n {
		wg.Go(func() {
			for now := time.Now(); now.Before(end); {
				if errs[i] = call(); errs[i] != nil {
					return
				}
				after := time.Now()
				times[i] = append(times[i], after.Sub(now))
				now = after
			}
		})
	}
	wg.Wait()
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		return result{}, errors.Join(append(errs, errors.New("no call succeeded"))...)
	}
	took := time.Since(begin)
	ownAfter, _ := process.CPU(os.Getpid())
	theirsAfter, _ := process.CPU(pid)
	calls := time.Duration(len(all))
	return result{
		rate: float64(len(all)) / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
		cpu: (ownAfter - own) / calls, jvm: (theirsAfter - theirs) / calls,
	}, errors.Join(errs...)
}

// javaJar compiles the plugin.
func javaJar(ctx context.Context) ([]byte, error) {
	found, err := java.Find(ctx, "")
	if err != nil {
		return nil, err
	}
	host, err := java.Jar(java.HostJar)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "classes")
	for name, data := range map[string][]byte{"host.jar": host, "Bench.java": []byte(javaSource)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	javac := exec.CommandContext(ctx, filepath.Join(found.Home, "bin", "javac"), "--release", "21", "-d", out, "-cp", filepath.Join(dir, "host.jar"), filepath.Join(dir, "Bench.java"))
	if text, err := javac.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile a plugin: %w\n%s", err, text)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("plugin.yaml")
	if err == nil {
		_, err = w.Write([]byte("id: bench\nclass: bench.Bench\n"))
	}
	if err != nil {
		return nil, err
	}
	if err := z.AddFS(os.DirFS(out)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
