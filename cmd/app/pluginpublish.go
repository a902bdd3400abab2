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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
)

type pluginPublishCommand struct {
	File string `arg:"" help:"Plugin file: .js, .ts or .jar."`
	adminFlags
	NoStart bool          `help:"Leave a plugin that is new to the cluster in the state LOADED."`
	IfMatch int64         `default:"-1" placeholder:"REVISION" help:"Fail if the plugin is at another revision; 0 means that the cluster does not have it."`
	Grant   bool          `help:"Grant the plugin what its descriptor requests. You can only grant permissions that you have."`
	Shadow  bool          `help:"Do not activate the version: run it on all nodes with copies of the active version's calls, and count the differences."`
	DryRun  bool          `help:"Only check whether the cluster would accept the plugin."`
	Timeout time.Duration `default:"2m" help:"How long to wait for the nodes."`
}

// Help implements kong.HelpProvider.
func (pluginPublishCommand) Help() string {
	return `Stores the plugin in the database of the cluster, from where all nodes of its roles load it. A plugin that is new to the cluster is started. If the
cluster already has the plugin, the file becomes its new version and replaces the old one, in the same state, without losing a call.

The exit code is 0 when all nodes run the version. It is 1 if the upload is refused, or if a node cannot load or start the version or does not answer
in time; the version then stays active, and PUT /plugins/versions activates another one. With app.plugin.grants.mode=EXPLICIT, a version that
requests more than was granted waits for a grant; --grant grants it. The token needs the permissions PLUGIN_CREATE, PLUGIN_QUERY and PLUGIN_UPDATE.

With --shadow, the active version keeps answering all calls, and the new one receives copies of them. GET /plugins/rollouts counts the differences,
GET /plugins/rollouts/samples shows them, and PUT /plugins/rollouts promotes or aborts the version.

Examples:
  APP_TOKEN=... app plugin publish word-filter.js --url https://admin.example.com
  app plugin publish target/word-filter.jar --token-file ~/.app-token --if-match 7`
}

// Run implements the command.
func (c pluginPublishCommand) Run() error {
	if err := isPlugin(c.File); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	p := publisher{adminClient: client, out: os.Stdout, every: followInterval}
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
	ctx, stop := commandContext(c.Timeout)
	defer stop()
	return p.publish(ctx, c, filepath.Base(file), data)
}

// A publisher uploads a plugin through the admin interface of a node.
type publisher struct {
	adminClient
	out io.Writer
	// every is the polling interval.
	every time.Duration
}

const (
	// followInterval is how often the state of the nodes is queried.
	followInterval = time.Second
	// followFailures is how often in a row a node must report a failure before publish fails: nodes
	// retry.
	followFailures = 3
)

// publishedPlugin is the response to an upload.
type publishedPlugin struct {
	ID, Version, Digest string
	Number              int64
	Replaced            bool
	Warnings            []string
	Problem             *struct{ Reason string }
}

// clusterPlugin is a plugin of the cluster in the response of a node.
type clusterPlugin struct {
	Cluster *struct {
		Digest, Status string
		Nodes          []clusterNode
	}
}

type clusterNode struct{ NodeID, State, Reason, Digest string }

// publish uploads a plugin, starts it if it is new, and waits for the nodes.
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
	if c.Shadow {
		return p.shadow(ctx, uploaded)
	}
	if !uploaded.Replaced && !c.NoStart {
		if err := p.call(ctx, http.MethodPut, "/plugins?ids="+url.QueryEscape(uploaded.ID), "application/json", []byte(`{"status":"STARTED"}`), -1, nil); err != nil {
			return fmt.Errorf("start plugin %q: %w", uploaded.ID, err)
		}
	}
	return p.follow(ctx, uploaded)
}

// shadow starts a rollout that runs a version on all nodes with copies of the active version's
// calls.
func (p publisher) shadow(ctx context.Context, version publishedPlugin) error {
	body, err := json.Marshal(map[string]any{"pluginId": version.ID, "number": version.Number, "shadow": true})
	if err != nil {
		return err
	}
	var rollout struct{ ID int64 }
	if err := p.call(ctx, http.MethodPost, "/plugins/rollouts", "application/json", body, -1, &rollout); err != nil {
		return fmt.Errorf("start a rollout of version %d of plugin %q: %w", version.Number, version.ID, err)
	}
	fmt.Fprintf(p.out, "rollout %d runs it as a shadow\n", rollout.ID)
	return nil
}

// upload sends the file.
func (p publisher) upload(ctx context.Context, c pluginPublishCommand, name string, data []byte) (publishedPlugin, error) {
	query := "?scope=CLUSTER&replace=true&dryRun=" + strconv.FormatBool(c.DryRun)
	if c.Shadow {
		query += "&activate=false"
	}
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
		err = errors.New("the node did not accept the plugin")
	}
	if err != nil {
		return publishedPlugin{}, fmt.Errorf("publish %q: %w", name, err)
	}
	return answer[0], nil
}

// follow waits until all nodes run a version, and prints their states as they change.
func (p publisher) follow(ctx context.Context, want publishedPlugin) error {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	shown, failures := map[string]string{}, 0
	var missing []string
	for {
		var list []clusterPlugin
		err := p.call(ctx, http.MethodGet, "/plugins?ids="+url.QueryEscape(want.ID), "application/json", nil, noRevision, &list)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			return fmt.Errorf("follow plugin %q: %w", want.ID, err)
		case len(list) == 0 || list[0].Cluster == nil:
			return fmt.Errorf("plugin %q was removed meanwhile", want.ID)
		case list[0].Cluster.Digest != want.Digest:
			return fmt.Errorf("another version of plugin %q was activated meanwhile", want.ID)
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

// show prints the nodes whose states changed and returns those that lack the version, or are not in
// its state.
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
