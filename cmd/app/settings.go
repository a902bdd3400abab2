// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"example.org/app/internal/app"
	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/setting"
)

// settingsCommand works on the settings that administrators changed at run time. It needs only the
// database, so that it works even if no administrator can log in.
type settingsCommand struct {
	Show  settingsShow  `cmd:"" help:"List the settings of the cluster."`
	Set   settingsSet   `cmd:"" help:"Change settings of the cluster."`
	Reset settingsReset `cmd:"" help:"Delete all settings of the cluster: every node uses its own configuration."`
}

type settingsShow struct{ source }

type settingsSet struct {
	source
	Values []string `arg:"" name:"property=value" help:"Setting to change, such as app.service.admin-api.rate-limiting.capacity=50."`
}

type settingsReset struct{ source }

// Help implements kong.HelpProvider.
func (settingsCommand) Help() string {
	return `Running nodes apply a change within a second, others at their next start.

Examples:
  app settings show --home /srv/app
  app settings set app.service.admin-api.rate-limiting.capacity=50
  app settings reset`
}

// with calls fn with the settings in the database of the configuration. operation is the name of
// the change in the audit trail; "" means that fn changes nothing.
func (s source) with(operation string, fn func(context.Context, *setting.Settings) error) error {
	c, err := s.load()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return app.WithSettings(ctx, c, operation, fn)
}

// Run implements the command.
func (c settingsShow) Run() error {
	return c.with("", func(_ context.Context, s *setting.Settings) error {
		revision, values := s.Overrides()
		fmt.Printf("revision %d\n", revision)
		for _, p := range config.Properties() {
			value, ok := values[p.JSONPath]
			if !ok {
				continue
			}
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			fmt.Printf("%s=%s\n", p.Name, text)
		}
		return nil
	})
}

// Run implements the command.
func (c settingsSet) Run() error {
	values := map[string]any{}
	for _, pair := range c.Values {
		name, text, ok := strings.Cut(pair, "=")
		property := findProperty(name)
		if !ok || property == nil {
			return fmt.Errorf("%q is not a known property with a value, such as app.service.admin-api.rate-limiting.capacity=50; app config doc lists all properties", pair)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return fmt.Errorf("value of %s: %w", name, err)
		}
		place(values, strings.Split(property.JSONPath, "."), value)
	}
	return c.with("updateSettings", func(ctx context.Context, s *setting.Settings) error {
		if err := s.Update(ctx, setting.Request{Values: values}); err != nil {
			return err
		}
		revision, _ := s.Overrides()
		fmt.Printf("the settings of the cluster are at revision %d\n", revision)
		return nil
	})
}

// place puts a value into nested maps.
func place(m map[string]any, path []string, value any) {
	for _, segment := range path[:len(path)-1] {
		inner, ok := m[segment].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[segment] = inner
		}
		m = inner
	}
	m[path[len(path)-1]] = value
}

// findProperty finds a property by its name.
func findProperty(name string) *property.Property {
	for _, p := range config.Properties() {
		if p.Name == name {
			return &p
		}
	}
	return nil
}

// Run implements the command.
func (c settingsReset) Run() error {
	return c.with("updateSettings", func(ctx context.Context, s *setting.Settings) error {
		first := int64(0)
		if err := s.Update(ctx, setting.Request{RevertTo: &first}); err != nil {
			return err
		}
		revision, _ := s.Overrides()
		fmt.Printf("the settings of the cluster were deleted (revision %d)\n", revision)
		return nil
	})
}
