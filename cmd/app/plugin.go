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
	New   pluginNewCommand   `cmd:"" help:"Begin a plugin: a folder with a small one that works, and types for the editor."`
	Check pluginCheckCommand `cmd:"" help:"Load a plugin as a server does, and say what it is or what is wrong with it."`
	Dev   pluginDevCommand   `cmd:"" help:"Run a server with a plugin that is swapped whenever its file is saved."`
	Test  pluginTestCommand  `cmd:"" help:"Run the tests of a plugin in JavaScript or TypeScript, on servers of their own."`
	Build pluginBuildCommand `cmd:"" help:"Make one script of a plugin in TypeScript, or of one that uses other files and packages."`

	Upgrade pluginUpgradeCommand `cmd:"" help:"Renew the API of plugins in the folder of a plugin."`
	Publish pluginPublishCommand `cmd:"" help:"Upload a plugin to a cluster and follow until all nodes have it."`
	List    pluginListCommand    `cmd:"" help:"Say which plugins a cluster has, in which states, with grants, rollouts, schedules and events."`
	Rollout pluginRolloutCommand `cmd:"" help:"Pause, resume, promote or abort a rollout, or begin its next step."`
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
	JS     string `name:"js" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in JavaScript: small letters, digits and dashes."`
	TS     string `name:"ts" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in TypeScript: small letters, digits and dashes."`
	Java   string `name:"java" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in Java: small letters, digits and dashes."`
	Kotlin string `name:"kotlin" xor:"language" required:"" placeholder:"NAME" help:"Name of a plugin in Kotlin: small letters, digits and dashes."`
	Build  string `default:"maven" enum:"maven,gradle" placeholder:"maven|gradle" help:"What builds a plugin in Java: maven or gradle (default: maven)."`
	Dir    string `default:"." placeholder:"DIR" help:"Folder in which the folder of the plugin is made (default: the current one)."`
}

// Help implements kong.HelpProvider.
func (pluginNewCommand) Help() string {
	return `In JavaScript, makes the folder NAME with NAME.js, its tests in NAME.test.js, jsconfig.json and types/. Editors that know TypeScript then complete and check the plugin.
In TypeScript, makes the same with NAME.ts, NAME.test.ts and tsconfig.json.
In Java or Kotlin, makes the folder NAME with a Maven project: mvn package makes target/NAME.jar of it, with a JDK of version 21 or newer.
With --build gradle, a plugin in Java is a Gradle project: gradle build makes build/libs/NAME.jar of it, with Gradle 4.4 or newer.
.vscode/ and .run/ have what Visual Studio Code and IntelliJ IDEA need to attach their debugger to a server that runs the plugin.

Examples:
  app plugin new --js word-filter
  app plugin new --ts word-filter
  app plugin new --java word-filter
  app plugin new --java word-filter --build gradle
  app plugin new --kotlin word-filter
  app plugin new --js word-filter --dir plugins-of-mine`
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Run implements the command.
func (c pluginNewCommand) Run() error {
	name, jvm := c.JS+c.TS+c.Java+c.Kotlin, c.Java+c.Kotlin
	if !pluginName.MatchString(name) || jvm == "app" {
		return fmt.Errorf("%q cannot be the name of a plugin: it must be words of small letters and digits, with dashes between them", name)
	}
	by := byMaven
	if c.Build == "gradle" {
		if by = byGradle; c.Java == "" {
			return errors.New("--build gradle is for plugins in Java: those in Kotlin are built by Maven, and scripts need no build")
		}
	}
	class := ""
	for word := range strings.SplitSeq(name, "-") {
		class += strings.ToUpper(word[:1]) + word[1:]
	}
	dir := filepath.Join(c.Dir, name)
	if _, err := java.Jar(java.APIJar); jvm != "" && err != nil {
		return fmt.Errorf("make a plugin for the JVM: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the plugin: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the plugin: %w", err)
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

// newScript fills the folder of a plugin in JavaScript or TypeScript with its files and the types.
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
	fmt.Printf("%s is a plugin that works. Next:\n\n  app plugin check %[1]s\n  app plugin test %[2]s\n  app plugin dev %[1]s\n", file, dir)
	return nil
}

type pluginCheckCommand struct {
	File string   `arg:"" help:"The plugin, a file that ends in .js, .ts or .jar."`
	Role string   `default:"all" enum:"all,service,gateway" help:"The server that it is for: all, service or gateway."`
	Home string   `default:"." env:"APP_HOME" placeholder:"DIR" help:"Home folder, for the configuration (default: the current one)."`
	Set  []string `sep:"none" placeholder:"PROPERTY=VALUE" help:"Set a property as the server would; may be repeated."`
}

// Help implements kong.HelpProvider.
func (pluginCheckCommand) Help() string {
	return `Runs what the plugin does when it is loaded, and none of its functions. The exit code is 0 if a server would load it, else 1.
A jar is loaded if there is a Java of version 21 or newer; what it refers to is looked up in any case.

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
		// That a host comes and goes is of no interest here.
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

// printPlugin prints what a plugin is.
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

// printDescriptor prints what a plugin says of itself.
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

// printPoint prints which functions of an extension point an extension has.
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
	File   string   `arg:"" help:"The plugin, a file that ends in .js, .ts or .jar."`
	Home   string   `placeholder:"DIR" help:"Home folder, which keeps the data (default: a new one that is removed at the end)."`
	Config string   `placeholder:"FILE" help:"Configuration file instead of config/application.yaml."`
	Set    []string `sep:"none" placeholder:"PROPERTY=VALUE" help:"Set a property; may be repeated."`
}

// Help implements kong.HelpProvider.
func (pluginDevCommand) Help() string {
	return `Runs both roles with this plugin alone, and its log here. When the file is saved, the new version takes the place of the old one without a
call lost; one that cannot be loaded is reported, and the old one goes on. A plugin in TypeScript is bundled first, and again when a file
that it imports is saved; its types are not checked.

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
			return fmt.Errorf("make a home folder: %w", err)
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
		fmt.Printf("Save %s to swap the plugin; Ctrl-C stops.\n\n", c.File)
	}})
}
