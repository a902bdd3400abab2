// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"reflect"
	"testing"

	"example.org/app/internal/config/property"
)

// nested makes {"a": {"b": value}} of a path.
func nested(value any, path ...string) map[string]any {
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	return value.(map[string]any)
}

func TestMerge(t *testing.T) {
	capacity := func(c *Config) any { return c.Service.AdminAPI.RateLimiting.Capacity }
	openTo := func(c *Config) any { return c.Metrics.OpenTo }
	logged := func(c *Config) any { return c.Service.AdminAPI.Log.Enabled }
	tests := map[string]struct {
		values map[string]any
		get    func(*Config) any
		want   any
	}{
		"camel":             {nested(7, "service", "adminApi", "rateLimiting", "capacity"), capacity, int32(7)},
		"kebab":             {nested(7, "service", "admin-api", "rate-limiting", "capacity"), capacity, int32(7)},
		"dotted":            {nested(7, "service.adminApi.rateLimiting.capacity"), capacity, int32(7)},
		"decoded float":     {nested(float64(7), "service", "adminApi", "rateLimiting", "capacity"), capacity, int32(7)},
		"json number":       {nested(json.Number("7"), "service", "adminApi", "rateLimiting", "capacity"), capacity, int32(7)},
		"string":            {nested("7", "service", "adminApi", "rateLimiting", "capacity"), capacity, int32(7)},
		"unsigned":          {nested(uint8(7), "service", "adminApi", "rateLimiting", "capacity"), capacity, int32(7)},
		"null":              {nested(nil, "service", "adminApi", "rateLimiting", "capacity"), capacity, int32(50)},
		"null group":        {nested(nil, "service"), capacity, int32(50)},
		"nothing":           {nil, capacity, int32(50)},
		"bool":              {nested(false, "service", "adminApi", "log", "enabled"), logged, false},
		"bool as string":    {nested("False", "service", "adminApi", "log", "enabled"), logged, false},
		"list":              {nested([]any{"10.0.0.1"}, "metrics", "openTo"), openTo, []string{"10.0.0.1"}},
		"list of strings":   {nested([]string{"10.0.0.1"}, "metrics", "openTo"), openTo, []string{"10.0.0.1"}},
		"one element":       {nested("10.0.0.1", "metrics", "openTo"), openTo, []string{"10.0.0.1"}},
		"element by number": {nested("10.0.0.1", "metrics", "openTo[0]"), openTo, []string{"10.0.0.1"}},
		"emptied":           {nested([]any{}, "metrics", "openTo"), openTo, []string(nil)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, onlyMutable := range []bool{false, true} {
				c := Default()
				c.Metrics.OpenTo = []string{"::1"}
				if err := c.Merge(tt.values, MergeOptions{OnlyMutable: onlyMutable}); err != nil {
					t.Fatal(err)
				}
				if got := tt.get(c); !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestMergeErrors(t *testing.T) {
	var deep any = "x"
	for range 100 {
		deep = []any{deep}
	}
	const port = "app.service.admin-api.http.port"
	tests := map[string]struct {
		values      map[string]any
		onlyMutable bool
		want        string
	}{
		"unknown":          {nested(1, "service", "adminApi", "http", "prot"), false, "app.service.admin-api.http.prot: unknown property, did you mean " + port + "?"},
		"unknown null":     {nested(nil, "servcie"), false, "app.servcie: unknown property, did you mean app.service?"},
		"root is included": {nested(1, "app", "service"), false, "app.app: unknown property"},
		"empty name":       {nested(1, ""), false, "app.: unknown property, did you mean app?"},
		"immutable":        {nested(1, "service", "adminApi", "http", "port"), true, port + ` = "1": must not be changed while the server runs`},
		"immutable secret": {nested("hunter2", "security", "password", "initialRootPassword"), true, "app.security.password.initial-root-password = ***: must not be changed while the server runs"},
		"twice":            {map[string]any{"store.maxConnections": 1, "store": map[string]any{"max-connections": 1}}, false, "app.store.max-connections: must not be given twice, as app.store.max-connections and as app.store.maxConnections"},
		"fraction":         {nested(1.5, "service", "adminApi", "http", "port"), false, port + ` = "1.5": must be an integer`},
		"rule":             {nested(-1, "service", "adminApi", "http", "port"), false, port + ` = "-1": must be between 0 and 65535`},
		"gap":              {nested("::1", "metrics", "openTo[1]"), false, "app.metrics.open-to: must not have a gap: position 1 is given, but 0 is missing"},
		"null element":     {nested([]any{nil}, "metrics", "openTo"), false, "app.metrics.open-to[0]: must have a value"},
		"struct rule":      {nested(2000, "service", "adminApi", "defaultAvailableRecordsPerRequest"), true, `app.service.admin-api.default-available-records-per-request = "2000": must not be greater than max-available-records-per-request, which is 1000`},
		"too deep":         {nested(deep, "metrics", "openTo"), false, "app: must not be nested deeper than 64 levels"},
		"odd type":         {nested(struct{}{}, "metrics", "openTo"), false, "app: must not be a Go struct {}"},
		"odd map":          {nested(map[int]int{}, "metrics", "openTo"), false, "app: must not be a Go map[int]int"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, before := Default(), Default()
			// A good value beside the bad one must not be kept.
			tt.values["shutdown.jobGracefulTimeoutMillis"] = nil
			if !tt.onlyMutable {
				tt.values["logging.console.level"] = "debug"
			}
			wantError(t, c.Merge(tt.values, MergeOptions{OnlyMutable: tt.onlyMutable}), tt.want)
			if !reflect.DeepEqual(c, before) {
				t.Error("the configuration has changed")
			}
		})
	}
}

func TestMergeResolvesPaths(t *testing.T) {
	c, err := Load(Options{Home: "/srv/app"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Home() != "/srv/app" {
		t.Errorf("got the home %q", c.Home())
	}
	if err := c.Merge(nested("log/x", "logging", "file", "filePath"), MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	if c.Logging.File.FilePath != "/srv/app/log/x" || c.Logging.Audit.FilePath != "/srv/app/log/@ROLE-admin-api.log" {
		t.Errorf("got %q and %q", c.Logging.File.FilePath, c.Logging.Audit.FilePath)
	}
	// What was not loaded has no home yet.
	c = Default()
	if err := c.Merge(nested(1, "store", "maxConnections"), MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	if c.Logging.File.FilePath != "@HOME/log/@ROLE.log" {
		t.Errorf("got %q", c.Logging.File.FilePath)
	}
}

// TestMergeOfRedacted proves that what is shown can be sent back.
func TestMergeOfRedacted(t *testing.T) {
	c := Default()
	c.Metrics.OpenTo = []string{"10.0.0.0/8"}
	data, err := json.Marshal(c.Select(func(p property.Property) bool { return !p.Sensitive }))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	merged := Default()
	if err := merged.Merge(values, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(merged, c) {
		t.Errorf("got %+v, want %+v", merged, c)
	}
}
