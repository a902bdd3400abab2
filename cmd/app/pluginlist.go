// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

type pluginListCommand struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Only the plugins with these ids."`
	adminFlags
	JSON    bool          `name:"json" help:"Print the response of the node as JSON."`
	Timeout time.Duration `default:"30s" help:"How long to wait for the response."`
}

// Help implements kong.HelpProvider.
func (pluginListCommand) Help() string {
	return `Lists each plugin of the node with its state on each node of the cluster, the version that is being rolled out, its grants, and the calls,
schedules, events and endpoints of its extensions. The figures of extensions are those of the queried node.
The token needs the permission PLUGIN_QUERY.

Examples:
  APP_TOKEN=... app plugin list --url https://admin.example.com
  app plugin list word-filter --token-file ~/.app-token --json`
}

// Run implements the command.
func (c pluginListCommand) Run() error {
	client, err := c.client()
	if err != nil {
		return err
	}
	ctx, stop := commandContext(c.Timeout)
	defer stop()
	query := url.Values{"ids": c.IDs}
	var data json.RawMessage
	if err := client.call(ctx, http.MethodGet, "/plugins?"+query.Encode(), "application/json", nil, noRevision, &data); err != nil {
		return fmt.Errorf("list plugins: %w", err)
	}
	if c.JSON {
		_, err := fmt.Fprintf(os.Stdout, "%s\n", data)
		return err
	}
	var list []listedPlugin
	if len(data) > 0 {
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("list plugins: %w", err)
		}
	}
	for _, p := range list {
		p.print(os.Stdout)
	}
	return nil
}

// listedPlugin is a plugin in the response of a node.
type listedPlugin struct {
	ID, Version, Excess string
	Extensions          []listedExtension
	Granted             *listedGrants
	MissingGrants       *listedGrants
	WaitingVersion      *struct {
		Version       string
		MissingGrants *listedGrants
	}
	Rejected *struct{ Reason string }
	Cluster  *struct {
		Number          int64
		Version, Status string
		Nodes           []struct {
			NodeID, State, Reason, Version string
			Candidate                      *struct{ Version, State, Reason string }
		}
		Rollout *listedRollout
	}
}

type listedExtension struct {
	ExtensionClass, State, Quarantine string
	Calls, Errors                     int64
	ExtensionPointClasses             []string
	Endpoints                         []struct{ Method, Path, Permission string }
	Schedules                         []struct {
		Name, When, NextDate, LastError string
		LeaderOnly                      bool
		Runs, Failures                  int64
	}
	Delivery *struct {
		NodeID, LastError                 string
		Position, Waiting, Lost, Failures int64
	}
}

type listedGrants struct {
	Permissions, Hosts []string
	Java               bool
}

type listedRollout struct {
	ID, Number           int64
	Mode, Status, Reason string
	Percentage           int32
	NodeIDs              []string
	UserIDs              []int64
	StartDate            string
	Steps                []struct {
		Percentage int32
		StartDate  string
	}
}

func (p listedPlugin) print(w io.Writer) {
	fmt.Fprintln(w, strings.TrimSpace(p.ID+" "+p.Version))
	line := func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
	if p.Rejected != nil {
		line("rejected: %s", p.Rejected.Reason)
	}
	if p.Excess != "" {
		line("over its limits: %s", p.Excess)
	}
	if c := p.Cluster; c != nil {
		line("cluster: version number %d, %s", c.Number, c.Status)
		for _, n := range c.Nodes {
			line("  %-24s %s", n.NodeID, because(strings.TrimSpace(n.State+" "+n.Version), n.Reason))
			if n.Candidate != nil {
				line("  %-24s %s", "", because("beside it "+strings.TrimSpace(n.Candidate.State+" "+n.Candidate.Version), n.Candidate.Reason))
			}
		}
		if c.Rollout != nil {
			line("rollout %d: %s", c.Rollout.ID, c.Rollout)
		}
	}
	if p.Granted != nil {
		line("may: %s", p.Granted)
	}
	if p.MissingGrants != nil {
		line("waits for a grant of: %s", p.MissingGrants)
	}
	if w := p.WaitingVersion; w != nil && w.MissingGrants != nil {
		line("version %s waits for a grant of: %s", w.Version, w.MissingGrants)
	}
	for _, e := range p.Extensions {
		var points []string
		for _, class := range e.ExtensionPointClasses {
			points = append(points, class[strings.LastIndexByte(class, '.')+1:])
		}
		line("%s: %s, %d calls, %d failed, %s", e.ExtensionClass, because(e.State, e.Quarantine), e.Calls, e.Errors, strings.Join(points, ", "))
		for _, s := range e.Schedules {
			where := ""
			if s.LeaderOnly {
				where = " on one node"
			}
			line("  schedule %s: %s%s, %d runs, %d failed%s", s.Name, s.When, where, s.Runs, s.Failures, because(after(", next ", s.NextDate), s.LastError))
		}
		if d := e.Delivery; d != nil {
			line("  events: got up to %d, %d wait, %d lost%s", d.Position, d.Waiting, d.Lost, because(after(", by node ", d.NodeID), d.LastError))
		}
		for _, o := range e.Endpoints {
			line("  endpoint: %s %s (%s)", o.Method, o.Path, o.Permission)
		}
	}
}

// String describes the rollout: version, status, scope, step and reason.
func (r *listedRollout) String() string {
	var to []string
	if len(r.NodeIDs) > 0 {
		to = append(to, "nodes "+strings.Join(r.NodeIDs, ", "))
	}
	if r.Mode != "NODES" {
		to = append(to, fmt.Sprintf("%d %% of the users", r.Percentage))
	}
	if len(r.UserIDs) > 0 {
		to = append(to, "users "+strings.Trim(fmt.Sprint(r.UserIDs), "[]"))
	}
	if r.Mode == "SHADOW" {
		to = append(to, "on copies of calls")
	}
	for i, s := range r.Steps {
		if s.StartDate != "" && (i+1 == len(r.Steps) || r.Steps[i+1].StartDate == "") {
			to = append(to, fmt.Sprintf("step %d of %d", i+1, len(r.Steps)))
		}
	}
	return because(fmt.Sprintf("version number %d, %s, %s, since %s", r.Number, r.Status, strings.Join(to, ", "), r.StartDate), r.Reason)
}

// String lists the grants.
func (g *listedGrants) String() string {
	var parts []string
	if len(g.Permissions) > 0 {
		parts = append(parts, "permissions "+strings.Join(g.Permissions, ", "))
	}
	if len(g.Hosts) > 0 {
		parts = append(parts, "hosts "+strings.Join(g.Hosts, ", "))
	}
	if g.Java {
		parts = append(parts, "Java")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// because appends a reason, unless it is empty.
func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// after returns first followed by text, or "" if text is empty.
func after(first, text string) string {
	if text == "" {
		return ""
	}
	return first + text
}
