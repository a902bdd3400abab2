// SPDX-License-Identifier: Apache-2.0

// Command release builds the release files: archives for Linux, macOS and Windows, packages for
// Debian and Red Hat, an SBOM and checksums, all of one version. make release runs it. Builds are
// reproducible: the output depends only on the sources and the flags.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/plugin/java/compat"
	typescompat "example.org/app/internal/plugin/typings/compat"
)

// A target is an operating system and an architecture.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program returns the name of the binary.
func (t target) program() string {
	if t.os == "windows" {
		return "app.exe"
	}
	return "app"
}

// targets are the targets of releases.
var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"}}

// A release is the output of one run.
type release struct {
	// root is the root of the source tree, out the output folder.
	root, out string
	version   string
	commit    string
	time      time.Time
}

func main() {
	log.SetFlags(0)
	r := release{}
	only := flag.String("targets", "", "targets, such as linux/amd64,darwin/arm64 (default all)")
	when := flag.String("time", "", "time of the build, RFC 3339")
	flag.StringVar(&r.root, "root", ".", "root of the source tree")
	flag.StringVar(&r.out, "out", "dist", "output folder")
	flag.StringVar(&r.version, "version", "", "version, for example v1.2.3")
	flag.StringVar(&r.commit, "commit", "unknown", "commit of the build")
	licensed := flag.String("licences", "", "print the licences of the third-party software in this binary instead")
	flag.Parse()
	if *licensed != "" {
		if err := r.printLicences(context.Background(), *licensed); err != nil {
			log.Fatalf("release: %v", err)
		}
		return
	}
	var err error
	if r.time, err = time.Parse(time.RFC3339, *when); err != nil {
		log.Fatalf("release: -time %q: %v", *when, err)
	}
	chosen, err := choose(*only)
	if err == nil {
		err = r.build(context.Background(), chosen)
	}
	if err != nil {
		log.Fatalf("release: %v", err)
	}
}

// choose returns the targets named by a flag.
func choose(names string) ([]target, error) {
	if names == "" {
		return targets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no target %q; there are %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// build builds everything for the targets.
func (r release) build(ctx context.Context, chosen []target) error {
	if r.version == "" {
		return errors.New("-version is missing")
	}
	if err := r.checkJars(); err != nil {
		return err
	}
	if err := r.checkBaseline(); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, t := range chosen {
		log.Printf("build %s", t)
		binary, err := r.compile(ctx, t)
		if err != nil {
			return err
		}
		if err := r.pack(ctx, t, binary); err != nil {
			return fmt.Errorf("pack %s: %w", t, err)
		}
		if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
			return err
		}
	}
	return r.checksums()
}

// checkJars returns an error if the binary could not run Java plugins.
func (r release) checkJars() error {
	if _, err := os.Stat(filepath.Join(r.root, jarFolder, "app-plugin-host.jar")); err != nil {
		return fmt.Errorf("the jars for Java plugins are not built: make build with a JDK and Maven builds them: %w", err)
	}
	return nil
}

// checkBaseline returns an error if the version has no API baseline, which the plugin API of the
// next version is compared with. Versions with a suffix, such as release candidates and builds
// between releases, promise no compatibility.
func (r release) checkBaseline() error {
	version := strings.TrimPrefix(r.version, "v")
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		return nil
	}
	api, err := compat.Baseline()
	if err != nil {
		return err
	}
	types, err := typescompat.Baseline()
	if err != nil {
		return err
	}
	for _, b := range [][2]string{{compat.File, api.Version}, {typescompat.File, types.Version}} {
		if b[1] != version {
			return fmt.Errorf("%s has the API of version %s; go run ./%s/renew -version %s writes that of this release", b[0], b[1], path.Dir(b[0]), version)
		}
	}
	return nil
}

const jarFolder = "internal/plugin/java/jars"

func (r release) compile(ctx context.Context, t target) (string, error) {
	out, err := filepath.Abs(filepath.Join(r.out, "build-"+t.os+"-"+t.arch, t.program()))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", r.linkerFlags(), "-o", out, "./cmd/app")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("compile for %s: %w", t, err)
	}
	return out, nil
}

// linkerFlags returns the flags that embed the version into the binary.
func (r release) linkerFlags() string {
	flags := "-s -w"
	for _, v := range [][2]string{{"version", r.version}, {"commit", r.commit}, {"buildTime", r.time.UTC().Format(time.RFC3339)}} {
		flags += fmt.Sprintf(" -X example.org/app/internal/app.%s=%s", v[0], v[1])
	}
	return flags
}

// pack writes the archive and packages of one binary.
func (r release) pack(ctx context.Context, t target, binary string) error {
	parts, err := r.parts(ctx, binary)
	if err != nil {
		return err
	}
	files, err := r.files(t, binary)
	if err != nil {
		return err
	}
	files = append(files, file{licencesFile, 0o644, r.licences(parts)})
	base := fmt.Sprintf("app_%s_%s_%s", r.number(), t.os, t.arch)
	if err := r.writeArchive(t, base, files); err != nil {
		return err
	}
	if err := r.writeSBOM(base, parts); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	contents, err := r.packageContents(binary)
	if err != nil {
		return err
	}
	contents = append(contents, file{"usr/share/doc/app/" + licencesFile, 0o644, r.licences(parts)})
	sortFiles(contents)
	return errors.Join(r.writeDeb(t, contents), r.writeRPM(t, contents))
}

// number returns the version without the v of tags.
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }

// A file is a file to pack.
type file struct {
	// name is the path in the archive, with slashes and without a leading one.
	name string
	mode fs.FileMode
	data []byte
}

// files returns the contents of an archive.
func (r release) files(t target, binary string) ([]file, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := []file{{t.program(), 0o755, data}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "docs", "examples/chat", "examples/plugins/js", "deploy/app@.service", "deploy/monitoring"} {
		more, err := r.read(name)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// read reads a file or a folder of the source tree.
func (r release) read(name string) (files []file, err error) {
	err = filepath.WalkDir(filepath.Join(r.root, name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(r.root, path)
		files = append(files, file{filepath.ToSlash(relative), 0o644, data})
		return err
	})
	return files, err
}

// checksums writes SHA256SUMS for all files in the folder.
func (r release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(list.String()), 0o644)
}
