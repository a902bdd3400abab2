// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"example.org/app/internal/app"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/role"
	sdk "example.org/app/sdk/js"
)

type pluginCommand struct {
	New   pluginNewCommand   `cmd:"" help:"Create a plugin: a folder with a small working example and types for the editor."`
	Check pluginCheckCommand `cmd:"" help:"Load a plugin as a server does, and print its description or its errors."`
	Dev   pluginDevCommand   `cmd:"" help:"Run a server with a plugin and reload it whenever its file is saved."`
	Test  pluginTestCommand  `cmd:"" help:"Run the tests of a plugin in JavaScript or TypeScript on temporary servers."`
	Build pluginBuildCommand `cmd:"" help:"Bundle a plugin in TypeScript, or one that imports files and packages, into one script."`

	Upgrade pluginUpgradeCommand `cmd:"" help:"Update the plugin API in the project of a plugin."`
	Publish pluginPublishCommand `cmd:"" help:"Upload a plugin to a cluster and wait until all nodes run it."`
	List    pluginListCommand    `cmd:"" help:"List the plugins of a cluster: states, grants, rollouts, schedules and events."`
	Rollout pluginRolloutCommand `cmd:"" help:"Pause, resume, promote or abort a rollout, or start its next step."`
}

//go:embed plugin.js.txt
var pluginTemplate string

//go:embed plugin.ts.txt
var typedTemplate string

//go:embed plugin.test.txt
var testTemplate string

const jsConfig = `{
  "compilerOptions": {
    "target": "ES2022",
    "module": "ES2022",
    "moduleResolution": "bundler",
    "lib": ["ES2022"],
    "types": [],
    "strict": true,
    "allowJs": true,
    "checkJs": true,
    "noEmit": true
  },
  "include": ["*.js", "types/*.d.ts"]
}
`

type pluginNewCommand struct {
	JS     string `name:"js" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in JavaScript: lower-case letters, digits and dashes."`
	TS     string `name:"ts" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in TypeScript: lower-case letters, digits and dashes."`
	Java   string `name:"java" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in Java: lower-case letters, digits and dashes."`
	Kotlin string `name:"kotlin" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in Kotlin: lower-case letters, digits and dashes."`
	Build  string `default:"maven" enum:"maven,gradle" placeholder:"maven|gradle" help:"Build tool of a plugin in Java: maven or gradle (default: maven)."`
	Dir    string `default:"." placeholder:"DIR" help:"Parent of the new folder (default: the current folder)."`
}

// Help implements kong.HelpProvider.
func (pluginNewCommand) Help() string {
	return `JavaScript: creates the folder NAME with NAME.js, its tests in NAME.test.js, jsconfig.json and types/, with which editors complete and check the plugin.

TypeScript: creates the same with NAME.ts, NAME.test.ts and tsconfig.json.

Java or Kotlin: creates the folder NAME with a Maven project; mvn package builds target/NAME.jar with JDK 21 or newer.

Java with --build gradle: creates a Gradle project; gradle build builds build/libs/NAME.jar with Gradle 4.4 or newer.

All contain debug configurations for Visual Studio Code in .vscode/ and for IntelliJ IDEA in .run/.

Examples:
  app plugin new --js word-filter
  app plugin new --ts word-filter
  app plugin new --java word-filter
  app plugin new --java word-filter --build gradle
  app plugin new --kotlin word-filter
  app plugin new --js word-filter --dir my-plugins`
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Run implements the command.
func (c pluginNewCommand) Run() error {
	name, jvm := c.JS+c.TS+c.Java+c.Kotlin, c.Java+c.Kotlin
	if !pluginName.MatchString(name) || jvm == "app" {
		return fmt.Errorf("%q cannot be the name of a plugin: it must consist of words of lower-case letters and digits, separated by dashes", name)
	}
	by := byMaven
	if c.Build == "gradle" {
		if by = byGradle; c.Java == "" {
			return errors.New("--build gradle is only for plugins in Java: Maven builds plugins in Kotlin, and scripts need no build tool")
		}
	}
	class := ""
	for word := range strings.SplitSeq(name, "-") {
		class += strings.ToUpper(word[:1]) + word[1:]
	}
	dir := filepath.Join(c.Dir, name)
	if _, err := java.Jar(java.APIJar); jvm != "" && err != nil {
		return fmt.Errorf("create a plugin for the JVM: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("create the folder of the plugin: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder of the plugin: %w", err)
	}
	switch {
	case c.Java != "":
		return newJVMPlugin(dir, name, class, inJava, by)
	case c.Kotlin != "":
		return newJVMPlugin(dir, name, class, inKotlin, by)
	}
	if c.TS != "" {
		return newScript(dir, name, name+".ts", map[string]string{
			name + ".ts":      strings.NewReplacer("NAME", name, "CLASS", class).Replace(typedTemplate),
			name + ".test.ts": strings.TrimPrefix(strings.ReplaceAll(testTemplate, "NAME", name), "//\n"),
			"tsconfig.json":   strings.ReplaceAll(jsConfig, "*.js", "*.ts"),
		})
	}
	return newScript(dir, name, name+".js", map[string]string{
		name + ".js":      strings.NewReplacer("NAME", name, "CLASS", class).Replace(pluginTemplate),
		name + ".test.js": "// @ts-check\n" + strings.ReplaceAll(testTemplate, "NAME", name),
		"jsconfig.json":   jsConfig,
	})
}

// newScript writes the files of a plugin in JavaScript or TypeScript and the types into its folder.
func newScript(dir, name, main string, files map[string]string) error {
	all, err := runConfigurations("js", name)
	if err != nil {
		return err
	}
	types, err := fs.Glob(sdk.Types, "*.d.ts")
	if err != nil {
		return err
	}
	for _, file := range types {
		data, err := sdk.Types.ReadFile(file)
		if err != nil {
			return err
		}
		all[filepath.Join("types", file)] = data
	}
	for path, text := range files {
		all[path] = []byte(text)
	}
	if err := writeFiles(dir, all); err != nil {
		return err
	}
	file := filepath.Join(dir, main)
	fmt.Printf("created %s, a plugin that works. Next:\n\n  app plugin check %[1]s\n  app plugin test %[2]s\n  app plugin dev %[1]s\n", file, dir)
	return nil
}

type pluginCheckCommand struct {
	File string   `arg:"" help:"Plugin file: .js, .ts or .jar."`
	Role string   `default:"all" enum:"all,service,gateway" help:"Roles of the server to check it for: all, service or gateway."`
	Home string   `default:"." env:"APP_HOME" placeholder:"DIR" help:"Home folder with the configuration (default: the current one)."`
	Set  []string `sep:"none" placeholder:"PROPERTY=VALUE" help:"Set a property, as for the server; may be repeated."`
}

// Help implements kong.HelpProvider.
func (pluginCheckCommand) Help() string {
	return `Loads the plugin as a server does, without calling its extensions. The exit code is 0 if a server would load it, otherwise 1.
A jar is loaded only if Java 21 or newer is installed; the classes that it refers to are always checked.

Examples:
  app plugin check word-filter.js
  app plugin check target/word-filter.jar
  app plugin check login.js --role gateway --set login.url=http://localhost:8080/check`
}

// Run implements the command.
func (c pluginCheckCommand) Run() error {
	if err := isPlugin(c.File); err != nil {
		return err
	}
	configuration, err := source{Home: c.Home, Set: c.Set}.load()
	if err != nil {
		return err
	}
	roles := role.All
	if c.Role != "all" {
		roles = []role.Role{role.Of(c.Role)}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file := c.File
	if isTyped(c.File) {
		remove, script, err := bundled(c.File)
		if err != nil {
			return err
		}
		defer remove()
		file = script
	}
	options := app.PluginCheck(roles, configuration, file, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if isJar(c.File) {
		// Hide the messages about the start and end of the Java host.
		options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		report, err := adapter.CheckJar(ctx, options)
		if err != nil {
			return err
		}
		printJar(os.Stdout, c.File, report)
		return nil
	}
	p, err := adapter.Check(ctx, options)
	if err != nil {
		return err
	}
	printPlugin(os.Stdout, c.File, p)
	return nil
}

func isJar(file string) bool { return strings.HasSuffix(file, ".jar") }

func isTyped(file string) bool { return strings.HasSuffix(file, ".ts") }

func isPlugin(file string) error {
	if !strings.HasSuffix(file, ".js") && !isTyped(file) && !isJar(file) {
		return fmt.Errorf("%q is not a plugin: its name must end in .js, .ts or .jar", file)
	}
	return nil
}

// printPlugin prints the description of a plugin.
func printPlugin(w io.Writer, file string, p *plugin.Plugin) {
	fmt.Fprintf(w, "%s is a plugin that a server loads\n\n", file)
	printDescriptor(w, p.Descriptor)
	for _, e := range p.Extensions() {
		fmt.Fprintf(w, "\n  extension %s\n", e.Class)
		for _, point := range e.Points {
			printPoint(w, point, e.Methods)
		}
		printEndpoints(w, e.Endpoints)
	}
	for _, warning := range p.Warnings() {
		fmt.Fprintf(w, "\nWARNING: %s\n", warning)
	}
}

// printEndpoints prints the operations of the admin interface that an extension serves.
func printEndpoints(w io.Writer, list []*plugin.PublishedEndpoint) {
	for _, e := range list {
		fmt.Fprintf(w, "    %s %s: %s (permission %s, handler %s)\n", e.Method, e.Path(), e.Summary, e.Permission, e.Handler)
	}
}

// printDescriptor prints the descriptor of a plugin, followed by the rows of more.
func printDescriptor(w io.Writer, d plugin.Descriptor, more ...[2]string) {
	servers := "every server"
	if len(d.Servers) > 0 {
		var names []string
		for _, r := range d.Servers {
			names = append(names, string(r))
		}
		servers = strings.Join(names, ", ")
	}
	rows := [][2]string{{"id", d.ID}, {"version", d.Version}, {"provider", d.Provider}, {"license", d.License}, {"description", d.Description}, {"made for", servers}}
	if !d.Requested.IsEmpty() {
		rows = append(rows, [2]string{"asks for", d.Requested.String()})
	}
	for _, row := range append(rows, more...) {
		if row[1] != "" {
			fmt.Fprintf(w, "  %-12s %s\n", row[0], row[1])
		}
	}
}

// printPoint prints which functions of an extension point an extension implements.
func printPoint(w io.Writer, point *plugin.Point, methods []*plugin.Method) {
	var has, lacks []string
	for _, m := range point.Methods {
		if slices.Contains(methods, m) {
			has = append(has, m.Name)
		} else {
			lacks = append(lacks, m.Name)
		}
	}
	fmt.Fprintf(w, "    %s: %s", point.Name, strings.Join(has, ", "))
	if len(lacks) > 0 {
		fmt.Fprintf(w, " (without %s)", strings.Join(lacks, ", "))
	}
	fmt.Fprintln(w)
}

type pluginDevCommand struct {
	File   string   `arg:"" help:"Plugin file: .js, .ts or .jar."`
	Home   string   `placeholder:"DIR" help:"Home folder with the data (default: a temporary one, removed at exit)."`
	Config string   `placeholder:"FILE" help:"Configuration file instead of config/application.yaml."`
	Set    []string `sep:"none" placeholder:"PROPERTY=VALUE" help:"Set a property; may be repeated."`
}

// Help implements kong.HelpProvider.
func (pluginDevCommand) Help() string {
	return `Runs both roles with only this plugin and prints the log. When the file is saved, the new version replaces the old one without losing a call.
If the new version cannot be loaded, the error is printed and the old one keeps running. A plugin in TypeScript is bundled first, and again
when a file that it imports is saved; its types are not checked.

Examples:
  app plugin dev word-filter.ts
  app plugin dev word-filter.js --set word-filter.words[0]=darn
  app plugin dev word-filter.js --home . --set app.logging.console.level=DEBUG`
}

// Run implements the command.
func (c pluginDevCommand) Run() (err error) {
	if err := isPlugin(c.File); err != nil {
		return err
	}
	path, err := filepath.Abs(c.File)
	if err != nil {
		return fmt.Errorf("plugin %q: %w", c.File, err)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("read the plugin: %w", err)
	}
	home := c.Home
	if home == "" {
		if home, err = os.MkdirTemp("", "app-plugin-dev-"); err != nil {
			return fmt.Errorf("create a home folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	}
	if isTyped(path) {
		script, stop, err := bundleOnSave(path)
		if err != nil {
			return err
		}
		defer stop()
		path = script
	}
	set := append([]string{"app.plugin.enabled=true", "app.plugin.watch-dir=true", "app.plugin.dir=" + filepath.Dir(path)}, c.Set...)
	configuration, err := source{Home: home, Config: c.Config, Set: set}.load()
	if err != nil {
		return err
	}
	return serve(app.Options{Roles: role.All, Config: configuration, OnlyPlugin: filepath.Base(path), Ready: func(a *app.App) {
		announce(a)
		fmt.Printf("Save %s to reload the plugin; press Ctrl-C to stop.\n\n", c.File)
	}})
}
