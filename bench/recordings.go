// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// recordingKinds are what the rounds differ in: the template of the recording that runs, "" is none.
var recordingKinds = []struct{ name, template string }{{"no recording", ""}, {"template default", "default"}, {"template profile", "profile"}}

// recordingWarmUp is how long messages are sent before each measurement.
const recordingWarmUp = 500 * time.Millisecond

// benchRecordings measures what a flight recording costs: the same private messages on one server, in turns without and
// with one. Each is compared with what ran without one in the same round.
func benchRecordings(ctx context.Context, o clientOptions) error {
	fmt.Println("\n## Flight recordings")
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app := filepath.Join(dir, "app")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", app, "./cmd/app").CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
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
	talk, err := newTalk(s, o.pairs)
	if err != nil {
		return err
	}
	defer talk.close()
	results := make([][]result, len(recordingKinds))
	bytes := make([]int64, len(recordingKinds))
	ratios := make([][]float64, len(recordingKinds))
	for round := range 2*o.rounds + 1 {
		row := make([]result, len(recordingKinds))
		for turn := range recordingKinds {
			// Each round begins with another one, so that what the machine does besides does not always meet the same.
			i := (round + turn) % len(recordingKinds)
			k := recordingKinds[i]
			r, size, err := recorder.during(ctx, k.template, func() (result, error) {
				// What happens once, at the start of a recording, is not what it costs to leave it on.
				if r, err := talk.run(s, o.window, 0, recordingWarmUp); err != nil {
					return r, err
				}
				return talk.run(s, o.window, 0, o.duration)
			})
			if err != nil {
				return err
			}
			if row[i] = r; round > 0 { // The first one warms up.
				results[i] = append(results[i], r)
				bytes[i] += size
			}
		}
		for i := range row {
			if round > 0 {
				ratios[i] = append(ratios[i], float64(row[i].cpu)/float64(row[0].cpu))
			}
		}
	}
	var rows [][]string
	for i, k := range recordingKinds {
		m := medianCPU(results[i])
		slices.Sort(ratios[i])
		quarter := len(ratios[i]) / 4
		minutes := (time.Duration(len(results[i])) * (recordingWarmUp + o.duration)).Minutes()
		rows = append(rows, []string{
			k.name, fmt.Sprintf("%.0f", m.rate), micros(m.cpu), fmt.Sprintf("%.3f", ratios[i][len(ratios[i])/2]),
			fmt.Sprintf("%.3f to %.3f", ratios[i][quarter], ratios[i][len(ratios[i])-1-quarter]),
			fmt.Sprintf("%.2f", float64(bytes[i])/minutes/1e6),
		})
	}
	table("Private messages while a recording runs", []string{"server", "messages/s", "CPU per message", "ratio of CPU, median of the rounds", "half of the rounds", "file, MB/min"}, rows)
	return nil
}

// recorderClient starts and ends recordings of a server.
type recorderClient struct{ url string }

// during runs something while a recording runs, and returns the size of its file.
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
