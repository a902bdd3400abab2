// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/bundle"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/plugin/js/inspector"
)

// benchDebugging compares plugins that contain an npm package with the same plugins in debug mode:
// the load time, the memory, and the exports of the package. folder contains the packages in
// node_modules.
func benchDebugging(ctx context.Context, folder string, rounds int) (err error) {
	if folder == "" {
		fmt.Println("\nDebug mode is not measured: -packages names no folder with node_modules.")
		return nil
	}
	quiet := slog.New(slog.DiscardHandler)
	server, err := inspector.Listen(ctx, inspector.Options{Host: "127.0.0.1", Log: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	normal, err := js.New(js.Options{Points: plugin.Points, Log: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, normal.Close(ctx)) }()
	// Plugins do not wait for a debugger, and the address is opened for each plugin that asks.
	debugged, err := js.New(js.Options{Points: plugin.Points, Log: quiet, Inspect: func(context.Context) (*inspector.Server, error) { return server, nil }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, debugged.Close(ctx)) }()
	entries, err := os.ReadDir(filepath.Join(folder, "node_modules"))
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "@") {
			continue
		}
		src, err := packagePlugin(folder, e.Name())
		if err != nil {
			fmt.Printf("%s is left out: %v\n", e.Name(), err)
			continue
		}
		a, err := measureLoad(ctx, normal, src, rounds)
		if err != nil {
			fmt.Printf("%s is left out: %v\n", e.Name(), err)
			continue
		}
		src.Debug = true
		b, err := measureLoad(ctx, debugged, src, rounds)
		if err != nil {
			return fmt.Errorf("%s in debug mode: %w", e.Name(), err)
		}
		same := "yes"
		if a.exports != b.exports {
			same = "NO"
		}
		rows = append(rows, []string{
			e.Name(), fmt.Sprintf("%d KB", len(src.Data)/1000), fmt.Sprintf("%.1f / %.1f ms", millis(a.time), millis(b.time)), fmt.Sprintf("%.1f", float64(b.time)/float64(a.time)),
			fmt.Sprintf("%.1f / %.1f MB", float64(a.memory)/1e6, float64(b.memory)/1e6), fmt.Sprintf("%.1f", float64(b.memory)/float64(a.memory)), same,
		})
	}
	table("Plugins in debug mode", []string{"package", "bundle", "CPU of loading normal / debug", "ratio", "memory normal / debug", "ratio", "same exports"}, rows)
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// packagePlugin returns a plugin that imports all of a package. Its version lists the exports of
// the package.
func packagePlugin(folder, name string) (src plugin.Source, err error) {
	entry := filepath.Join(folder, "bench-"+name+".js")
	code := fmt.Sprintf(`import * as all from %q;
const describe = (v, depth) => (typeof v === 'function' || (typeof v === 'object' && v !== null)) && depth < 2
  ? Object.getOwnPropertyNames(v).sort().map((k) => { try { return k + ':' + describe(v[k], depth + 1); } catch (e) { return k + '!' + e.name; } }).join() : typeof v;
class Extension extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } handleAdminAction() { return all; } }
export default class extends AppPlugin {
  getDescriptor() { return { id: 'package', description: describe(all, 0) }; }
  getExtensions() { return [Extension]; }
}
`, name)
	if err := os.WriteFile(entry, []byte(code), 0o600); err != nil {
		return src, err
	}
	defer func() { err = errors.Join(err, os.Remove(entry)) }()
	r, err := bundle.Build(bundle.Options{Entry: entry, Output: filepath.Join(folder, name+".bundle.js")})
	if err != nil {
		return src, err
	}
	// Do not measure the source map.
	script, _, _ := strings.Cut(string(r.Script), "\n//# sourceMappingURL=")
	return plugin.Source{Name: name + ".js", Data: []byte(script)}, nil
}

// A loadCost is the cost of a loaded plugin.
type loadCost struct {
	time    time.Duration
	memory  int64
	exports string
}

// ownTime returns the processor time of this process.
func ownTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// measureLoad loads a plugin several times and takes the shortest time.
func measureLoad(ctx context.Context, h *js.Host, src plugin.Source, rounds int) (c loadCost, err error) {
	var times []time.Duration
	for range rounds {
		began, err := ownTime()
		if err != nil {
			return c, err
		}
		m, err := h.Load(ctx, src)
		if err != nil {
			return c, err
		}
		ended, err := ownTime()
		if err != nil {
			return c, err
		}
		times = append(times, ended-began)
		c.memory, c.exports = m.Memory(), m.Descriptor().Description
		if err := m.Close(ctx); err != nil {
			return c, err
		}
	}
	c.time = slices.Min(times)
	return c, nil
}
