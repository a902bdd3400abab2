// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
)

type pluginPublishCommand struct {
	File      string        `arg:"" help:"The plugin, a file that ends in .js, .ts or .jar."`
	URL       string        `default:"http://localhost:8510" env:"APP_URL" placeholder:"URL" help:"Admin interface of any node of the cluster (default: http://localhost:8510)."`
	Token     string        `env:"APP_TOKEN" placeholder:"TOKEN" help:"Token of an administrator; others on this machine can see it, unless it is in APP_TOKEN or in a file."`
	TokenFile string        `placeholder:"FILE" xor:"token" help:"File that holds the token."`
	NoStart   bool          `help:"Leave a plugin that the cluster does not have yet in the state LOADED."`
	IfMatch   int64         `default:"-1" placeholder:"REVISION" help:"Refuse if the plugin is at another revision; 0 is one that the cluster does not have."`
	Grant     bool          `help:"Grant the plugin what its descriptor asks for, which --dry-run shows; nobody can grant permissions that they lack."`
	DryRun    bool          `help:"Only say what the plugin is and whether the cluster would take it."`
	Timeout   time.Duration `default:"2m" help:"How long to follow."`
}

// Help implements kong.HelpProvider.
func (pluginPublishCommand) Help() string {
	return `Stores the plugin in the database of the cluster: all nodes of the roles that it is made for load it. If the cluster has it, it is a new version,
which takes the place of the old one in its state without a call lost. A new plugin is started. The exit code is 0 when all nodes
have it, and 1 if it is refused, or if a node cannot load or start it or does not answer in time; the version stays active then, and
PUT /plugins/versions goes back to another one. With app.plugin.grants.mode=EXPLICIT a version that asks for more than was granted waits; --grant
grants it. The token needs the permissions PLUGIN_CREATE, PLUGIN_QUERY and PLUGIN_UPDATE.

Examples:
  APP_TOKEN=... app plugin publish word-filter.js --url https://admin.example.com
  app plugin publish target/word-filter.jar --token-file ~/.app-token --if-match 7`
}

// Run implements the command.
func (c pluginPublishCommand) Run() error {
	if err := isPlugin(c.File); err != nil {
		return err
	}
	p := publisher{url: strings.TrimSuffix(c.URL, "/"), token: c.Token, out: os.Stdout, every: followInterval}
	if u, err := url.Parse(p.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--url=%s: must be an http or https URL", c.URL)
	}
	if c.TokenFile != "" {
		text, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return fmt.Errorf("read the token: %w", err)
		}
		p.token = strings.TrimSpace(string(text))
	}
	if p.token == "" {
		return errors.New("there is no token: set APP_TOKEN or --token-file; POST /admins/tokens makes one")
	}
	file := c.File
	if isTyped(c.File) {
		remove, script, err := bundled(c.File)
		if err != nil {
			return err
		}
		defer remove()
		file = script
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the plugin: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return p.publish(ctx, c, filepath.Base(file), data)
}

// A publisher uploads a plugin by the admin interface of a node.
type publisher struct {
	url, token string
	out        io.Writer
	// every is how often it asks the node.
	every time.Duration
}

const (
	// followInterval is how often the nodes are asked.
	followInterval = time.Second
	// followFailures is how often in a row a node must have failed before that counts: it may try again.
	followFailures = 3
)

// publishedPlugin is the answer to an upload.
type publishedPlugin struct {
	ID, Version, Digest string
	Number              int64
	Replaced            bool
	Warnings            []string
	Problem             *struct{ Reason string }
}

// clusterPlugin is what a node says of a plugin of the cluster.
type clusterPlugin struct {
	Cluster *struct {
		Digest, Status string
		Nodes          []clusterNode
	}
}

type clusterNode struct{ NodeID, State, Reason, Digest string }

// publish uploads a plugin, starts it if it is new, and follows the nodes.
func (p publisher) publish(ctx context.Context, c pluginPublishCommand, name string, data []byte) error {
	uploaded, err := p.upload(ctx, c, name, data)
	if err != nil {
		return err
	}
	warn(uploaded.Warnings)
	if uploaded.Problem != nil {
		return errors.New(uploaded.Problem.Reason)
	}
	title := strings.TrimSpace(uploaded.ID + " " + uploaded.Version)
	if c.DryRun {
		fmt.Fprintf(p.out, "the cluster would take %s (SHA-256 %s)\n", title, uploaded.Digest)
		return nil
	}
	fmt.Fprintf(p.out, "%s is version %d of the cluster (SHA-256 %s)\n", title, uploaded.Number, uploaded.Digest)
	if !uploaded.Replaced && !c.NoStart {
		if err := p.call(ctx, http.MethodPut, "/plugins?ids="+url.QueryEscape(uploaded.ID), "application/json", []byte(`{"status":"STARTED"}`), -1, nil); err != nil {
			return fmt.Errorf("start plugin %q: %w", uploaded.ID, err)
		}
	}
	return p.follow(ctx, uploaded)
}

// upload sends the file.
func (p publisher) upload(ctx context.Context, c pluginPublishCommand, name string, data []byte) (publishedPlugin, error) {
	query := "?scope=CLUSTER&replace=true&dryRun=" + strconv.FormatBool(c.DryRun)
	if c.Grant {
		query += "&grant=true"
	}
	var answer []publishedPlugin
	var err error
	if isJar(name) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, failure := w.CreateFormFile(name, name)
		if failure == nil {
			_, failure = part.Write(data)
		}
		if err := errors.Join(failure, w.Close()); err != nil {
			return publishedPlugin{}, err
		}
		err = p.call(ctx, http.MethodPost, "/plugins/java"+query, w.FormDataContentType(), b.Bytes(), c.IfMatch, &answer)
	} else {
		var body []byte
		if body, err = json.Marshal(map[string]any{"scripts": []any{map[string]string{"fileName": name, "code": string(data)}}}); err == nil {
			err = p.call(ctx, http.MethodPost, "/plugins/js"+query, "application/json", body, c.IfMatch, &answer)
		}
	}
	if err == nil && len(answer) != 1 {
		err = errors.New("the node took no plugin")
	}
	if err != nil {
		return publishedPlugin{}, fmt.Errorf("publish %q: %w", name, err)
	}
	return answer[0], nil
}

// call sends a request and decodes the data of the answer. A revision of -1 is none.
func (p publisher) call(ctx context.Context, method, target, contentType string, body []byte, revision int64, data any) error {
	req, err := http.NewRequestWithContext(ctx, method, p.url+target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", contentType)
	if revision >= 0 {
		req.Header.Set("If-Match", strconv.Quote(strconv.FormatInt(revision, 10)))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var envelope struct {
		Code   int
		Reason string
		Data   json.RawMessage
	}
	if err := json.Unmarshal(answer, &envelope); err != nil && len(answer) > 0 {
		return fmt.Errorf("%s does not answer as a node does: %s", p.url, resp.Status)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s (%d)", envelope.Reason, envelope.Code)
	}
	if data == nil || len(envelope.Data) == 0 {
		return nil
	}
	return json.Unmarshal(envelope.Data, data)
}

// follow waits until all nodes have a version, and prints what each does.
func (p publisher) follow(ctx context.Context, want publishedPlugin) error {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	shown, failures := map[string]string{}, 0
	var missing []string
	for {
		var list []clusterPlugin
		err := p.call(ctx, http.MethodGet, "/plugins?ids="+url.QueryEscape(want.ID), "application/json", nil, -1, &list)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			return fmt.Errorf("follow plugin %q: %w", want.ID, err)
		case len(list) == 0 || list[0].Cluster == nil:
			return fmt.Errorf("somebody removed plugin %q meanwhile", want.ID)
		case list[0].Cluster.Digest != want.Digest:
			return fmt.Errorf("somebody made another version of plugin %q active meanwhile", want.ID)
		default:
			missing = p.show(list[0].Cluster.Nodes, want, list[0].Cluster.Status, shown)
		}
		if ctx.Err() == nil && len(missing) == 0 {
			fmt.Fprintf(p.out, "all %d nodes have it\n", len(list[0].Cluster.Nodes))
			return nil
		}
		if failures++; ctx.Err() == nil && slices.ContainsFunc(list[0].Cluster.Nodes, func(n clusterNode) bool { return n.pending(want) }) {
			failures = 0
		}
		if failures >= followFailures || ctx.Err() != nil {
			return fmt.Errorf("plugin %q is not on all nodes: %s", want.ID, strings.Join(missing, ", "))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// pending reports whether the node may still load the version.
func (n clusterNode) pending(want publishedPlugin) bool {
	switch n.State {
	case catalog.Failed, catalog.Waiting, catalog.Conflict, catalog.Disabled:
		return false
	case catalog.Loading, catalog.Unknown:
		return true
	}
	return n.Digest != want.Digest
}

// show prints the nodes whose states changed and returns those that lack the version, or are not in its state.
func (p publisher) show(nodes []clusterNode, want publishedPlugin, status string, shown map[string]string) (missing []string) {
	for _, n := range nodes {
		state := n.State
		isThere := n.Digest == want.Digest && (state == status || status == string(plugin.Loaded) && !slices.Contains([]string{catalog.Failed, catalog.Waiting, catalog.Loading}, state))
		if !isThere {
			missing = append(missing, n.NodeID)
			if n.Digest != "" && n.Digest != want.Digest {
				state += ", still with another version"
			}
		}
		if n.Reason != "" {
			state += ": " + n.Reason
		}
		if shown[n.NodeID] != state {
			shown[n.NodeID] = state
			fmt.Fprintf(p.out, "  %-24s %s\n", n.NodeID, state)
		}
	}
	return missing
}
