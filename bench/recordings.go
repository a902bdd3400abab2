// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// recordingTemplates are the measured recording templates.
var recordingTemplates = []string{"default", "profile"}

// recordingWarmUp is how long messages are sent before each measurement.
const recordingWarmUp = 500 * time.Millisecond

// benchRecordings measures the cost of a flight recording: the same private messages on one server,
// alternately without and with one. Each measurement with a recording is compared with those right
// before and after it, so that other load on the machine affects both.
func benchRecordings(ctx context.Context, o clientOptions) error {
	fmt.Println("\n## Flight recordings")
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app, err := buildApp(ctx, dir)
	if err != nil {
		return err
	}
	if err := fillClients(ctx, "sqlite:"+filepath.Join(dir, "data", "app.db"), max(2*o.pairs, groupSize)); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	s, err := startAll(ctx, app, dir, "PASSWORD", "--set=app.service.admin-api.http.host=127.0.0.1")
	if err != nil {
		return err
	}
	defer s.stop()
	address := regexp.MustCompile(`service +admin interface +(http://\S+)`).FindStringSubmatch(strings.Join(s.said, "\n"))
	if address == nil {
		return fmt.Errorf("the server did not say where its admin interface is: %q", s.said)
	}
	recorder := recorderClient{address[1] + "/flight-recordings"}
	pairs, err := newExchange(s, o.pairs)
	if err != nil {
		return err
	}
	defer pairs.close()
	before, _, err := measureRecording(ctx, s, pairs, o, recorder, "")
	if err != nil {
		return err
	}
	var without []result
	kinds := make([]recordingCost, len(recordingTemplates))
	for round := range 2*o.rounds + 1 {
		for i, template := range recordingTemplates {
			with, size, err := measureRecording(ctx, s, pairs, o, recorder, template)
			if err != nil {
				return err
			}
			after, _, err := measureRecording(ctx, s, pairs, o, recorder, "")
			if err != nil {
				return err
			}
			if round > 0 { // The first round warms up.
				without = append(without, after)
				kinds[i].add(before, with, after, size)
			}
			before = after
		}
	}
	m := medianCPU(without)
	rows := [][]string{{"no recording", fmt.Sprintf("%.0f", m.rate), micros(m.cpu), "1.000", "", ""}}
	for i, template := range recordingTemplates {
		rows = append(rows, kinds[i].row("template "+template, recordingWarmUp+o.duration))
	}
	table("Private messages while a recording runs", []string{"server", "messages/s", "CPU per message", "ratio of CPU, median of the rounds", "95 % interval of the median", "file, MB/min"}, rows)
	return nil
}

// measureRecording sends messages while a recording with a template runs, or without one if the
// template is "", and returns the size of its file.
func measureRecording(ctx context.Context, s *server, t exchange, o clientOptions, c recorderClient, template string) (result, int64, error) {
	return c.during(ctx, template, func() (result, error) {
		// Do not measure the start of a recording, which happens only once.
		if r, err := t.run(s, o.window, 0, recordingWarmUp); err != nil {
			return r, err
		}
		return t.run(s, o.window, 0, o.duration)
	})
}

// recordingCost is the cost of recordings with one template.
type recordingCost struct {
	results []result
	// ratios are the CPU per message relative to the mean of the measurements right before and
	// after.
	ratios []float64
	bytes  int64
}

func (c *recordingCost) add(before, with, after result, size int64) {
	c.results = append(c.results, with)
	c.ratios = append(c.ratios, 2*float64(with.cpu)/float64(before.cpu+after.cpu))
	c.bytes += size
}

// row formats the cost. duration is the length of each recording.
func (c *recordingCost) row(name string, duration time.Duration) []string {
	m := medianCPU(c.results)
	ratio, interval := medianRatio(c.ratios)
	minutes := (time.Duration(len(c.ratios)) * duration).Minutes()
	return []string{name, fmt.Sprintf("%.0f", m.rate), micros(m.cpu), ratio, interval, fmt.Sprintf("%.2f", float64(c.bytes)/minutes/1e6)}
}

// recorderClient starts and stops recordings of a server.
type recorderClient struct{ url string }

// during calls run while a recording runs, and returns the size of its file.
func (c recorderClient) during(ctx context.Context, template string, run func() (result, error)) (result, int64, error) {
	if template == "" {
		r, err := run()
		return r, 0, err
	}
	body := fmt.Sprintf(`{"customSettings":{"template":%q}}`, template)
	if _, err := c.ask(ctx, http.MethodPost, "", body); err != nil {
		return result{}, 0, err
	}
	r, err := run()
	list, listErr := c.ask(ctx, http.MethodGet, "", "")
	id := regexp.MustCompile(`"id":(\d+)`).FindSubmatch(list)
	if err = errors.Join(err, listErr); err != nil || id == nil {
		return r, 0, errors.Join(err, fmt.Errorf("the recordings are %s", list))
	}
	file, err := c.ask(ctx, http.MethodGet, "/jfr?close=true&id="+string(id[1]), "")
	if err != nil {
		return r, 0, err
	}
	_, err = c.ask(ctx, http.MethodDelete, "?ids="+string(id[1]), "")
	return r, int64(len(file)), err
}

func (c recorderClient) ask(ctx context.Context, method, target, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, target, resp.Status, data)
	}
	return data, err
}
