// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

type pluginRolloutCommand struct {
	ID     int64  `arg:"" help:"Id of the rollout, as shown by app plugin list."`
	Action string `arg:"" enum:"pause,resume,next,promote,abort" help:"Action: pause, resume, next, promote or abort."`
	adminFlags
	Timeout time.Duration `default:"1m" help:"How long to wait for the response."`
}

// Help implements kong.HelpProvider.
func (pluginRolloutCommand) Help() string {
	return `Actions:
  pause    keep the version on its nodes, but stop judging it
  resume   judge the version again
  next     start the next step now
  promote  make the version the active one of all nodes
  abort    return the nodes to the active version

The token needs the permission PLUGIN_UPDATE.

Examples:
  APP_TOKEN=... app plugin rollout 4 promote --url https://admin.example.com`
}

// Run implements the command.
func (c pluginRolloutCommand) Run() error {
	client, err := c.client()
	if err != nil {
		return err
	}
	ctx, stop := commandContext(c.Timeout)
	defer stop()
	body, err := json.Marshal(map[string]string{"action": strings.ToUpper(c.Action)})
	if err != nil {
		return err
	}
	var r listedRollout
	if err := client.call(ctx, http.MethodPut, fmt.Sprintf("/plugins/rollouts?id=%d", c.ID), "application/json", body, noRevision, &r); err != nil {
		return fmt.Errorf("%s rollout %d: %w", c.Action, c.ID, err)
	}
	_, err = fmt.Fprintf(os.Stdout, "rollout %d: %s\n", r.ID, &r)
	return err
}
