// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/test/need"
)

// A Bad is a faulty plugin. It has the id suite-bad and, if it can be loaded, an extension that
// implements ClientRequestHandler, whose transform is called.
type Bad struct {
	// Kind is what it does.
	Kind string
	// Harmless is the reason why it affects nothing, so that the server need not name it; empty if
	// it is harmful.
	Harmless string
	Data     []byte
}

// A way is the way in which a plugin is installed.
type way string

// The ways.
const (
	byUpload way = "upload"
	bySwap   way = "swap"
	byFolder way = "folder"
)

// corpusParts is the number of parts of the corpus, which can run in parallel.
const corpusParts = 3

// testCorpus installs faulty plugins, one after the other, in each way: as a new one, as a
// replacement of the one before while that is called, and from a folder as at the start of a
// server; make campaign runs all of them. Meanwhile a goroutine constantly sends requests that a
// filter refuses. In every case the filter must let nothing pass, every operation must end, and
// other plugins must work. Each part of the corpus has its own server.
func testCorpus(t *testing.T, w *world, part int) {
	need.Time(t)
	if w.Corpus == nil {
		t.Skip("this language has no bad plugins")
	}
	m := w.manager()
	guard := w.start(m, Acts)
	w.set(func(s *config.Plugin) { s.CallTimeoutMillis, s.HookTimeoutMillis, s.LoadTimeoutMillis = 300, 300, 3000 })
	stop, tries := w.sendRefused(m)
	corpus := w.Corpus(t)
	for i, way := range []way{byUpload, bySwap, byFolder} {
		for j, bad := range corpus {
			if j%corpusParts != part {
				continue
			}
			if i > 0 && j%8 != i && os.Getenv("APP_CAMPAIGN") != "long" {
				continue // All of them in all ways take minutes.
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.callFaulty(m, bad, way)
			}()
			receive(t, "the end of the test of "+bad.Kind+" by "+string(way), done)
		}
		if _, err := m.Remove(t.Context(), "suite-bad"); err != nil && apierr.From(err).Code != apierr.ResourceNotFound {
			t.Error(err)
		}
	}
	stop()
	t.Logf("part %d of %d bad plugins, %d attempts to pass the filter", part+1, len(corpus), tries.Load())
	w.set(func(s *config.Plugin) { s.CallTimeoutMillis = int32(limit.Milliseconds()) })
	if steps := m.Do(t.Context(), guard, plugin.Pause); steps[0].State != plugin.Paused {
		t.Errorf("the filter cannot be paused: %+v", steps[0])
	}
	await(t, "the filter to be active", func() bool {
		m.Do(t.Context(), guard, plugin.Resume)
		_, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("refuse", 0))
		return apierr.From(err).Code == apierr.MessageIsIllegal
	})
}

// sendRefused constantly sends requests that the filter refuses, until stop is called.
func (w *world) sendRefused(m *plugin.Manager) (stop func(), tries *atomic.Int64) {
	ctx, cancel := context.WithCancel(w.t.Context())
	tries = new(atomic.Int64)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, _, err := plugin.Ask[*plugin.RequestHandlerResult](w.t.Context(), m.Calls, plugin.HandleRequest, command("refuse", 0)); err == nil {
				w.t.Error("a request passed that the filter refuses")
			}
			tries.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}, tries
}

// callFaulty calls a faulty plugin. The results do not matter.
func (w *world) callFaulty(m *plugin.Manager, bad Bad, way way) {
	src := plugin.Source{Name: "bad" + w.Suffix, Data: bad.Data}
	ctx := context.WithoutCancel(w.t.Context())
	var p *plugin.Plugin
	var err error
	switch way {
	case byUpload:
		p, err = m.Load(ctx, w.host.Language(), src)
	case bySwap:
		p, err = m.Replace(ctx, w.host.Language(), src)
	case byFolder:
		p, err = w.find(ctx, m, src)
	}
	if err == nil && way != byFolder {
		m.Do(ctx, p, plugin.Start)
	}
	for range 2 {
		_, _ = plugin.Pass(ctx, m.Calls, plugin.TransformRequest, command("?", 0))
	}
	if way != bySwap && err == nil {
		if _, err := m.Remove(ctx, p.ID); err != nil {
			w.t.Errorf("%s cannot be removed: %v", bad.Kind, err)
		}
	}
}

// find loads and starts a plugin like a server that finds it in its folder. The error is the reason
// why it is not loaded, which the server must know.
func (w *world) find(ctx context.Context, m *plugin.Manager, src plugin.Source) (*plugin.Plugin, error) {
	dir := w.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, src.Name), src.Data, 0o600); err != nil {
		return nil, err
	}
	before := m.Plugins()
	_ = plugin.NewFolder(m, dir).Load(ctx, true)
	for _, p := range m.Plugins() {
		if !slices.Contains(before, p) {
			return p, nil
		}
	}
	for _, r := range m.Rejections.All() {
		if r.Name == src.Name {
			return nil, errors.New(r.Reason)
		}
	}
	err := errors.New("nobody says why the file was not loaded")
	w.t.Error(err)
	return nil, err
}
