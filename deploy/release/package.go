// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/rpmpack"
)

const (
	summary     = "instant-messaging server with an admin interface and plugins"
	description = "app runs the roles app-gateway, which holds the users' connections, and app-service, which holds the rules and the data."
	maintainer  = "The app authors <app@example.org>"
	homepage    = "https://example.org/app"
)

// postInstall creates the user of the unit. It must be idempotent.
const postInstall = `#!/bin/sh
set -e
if ! getent passwd app >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/app --shell /usr/sbin/nologin app
fi
install -d -o app -g app -m 0750 /var/lib/app
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
`

// packageContents returns the files that both kinds of packages install.
func (r release) packageContents(binary string) ([]file, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := []file{
		{"usr/bin/app", 0o755, data},
		{"etc/app", 0o750 | fs.ModeDir, nil},
	}
	for from, to := range map[string]string{
		"deploy/app@.service": "usr/lib/systemd/system/app@.service", "LICENSE": "usr/share/doc/app/copyright",
		"README.md": "usr/share/doc/app/README.md", "docs/deployment.md": "usr/share/doc/app/deployment.md",
		"docs/configuration.md": "usr/share/doc/app/configuration.md", "docs/plugins.md": "usr/share/doc/app/plugins.md",
	} {
		data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(from)))
		if err != nil {
			return nil, err
		}
		files = append(files, file{to, 0o644, data})
	}
	return files, nil
}

// afterTag matches a version that git describe prints for a commit after a tag.
var afterTag = regexp.MustCompile(`-(\d+)-g([0-9a-f]+)(-dirty)?$`)

// packageVersion returns a version that both package managers order correctly: a pre-release before
// its release, a commit after a tag after it. It contains no dash, which separates the version from
// the release.
func (r release) packageVersion() string {
	number := afterTag.ReplaceAllString(r.number(), "+$1.g$2")
	if number == "" || number[0] < '0' || number[0] > '9' {
		number = "0~" + number // A commit without a tag.
	}
	return strings.ReplaceAll(strings.Replace(number, "-", "~", 1), "-", ".")
}

// writeDeb writes a package for Debian and Ubuntu: an ar archive with two tar archives.
func (r release) writeDeb(t target, contents []file) error {
	version := r.packageVersion()
	size, sums := 0, strings.Builder{}
	for _, f := range contents {
		if !f.mode.IsDir() {
			size += len(f.data)
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name) // The format requires MD5; it is no protection.
		}
	}
	control := fmt.Sprintf(`Package: app
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Depends: ca-certificates, passwd
Suggests: default-jre-headless (>= 2:1.21), postgresql, nats-server
Section: net
Priority: optional
Homepage: %s
Description: %s
 %s
`, version, t.arch, maintainer, (size+1023)/1024, homepage, summary, description)
	controlTar, err := tarball([]file{
		{"control", 0o644, []byte(control)}, {"md5sums", 0o644, []byte(sums.String())}, {"postinst", 0o755, []byte(postInstall)},
	}, ".", r.time)
	if err != nil {
		return err
	}
	dataTar, err := tarball(contents, ".", r.time)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", controlTar}, {"data.tar.gz", dataTar}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.name, r.time.Unix(), 0, 0, "100644", len(member.data))
		b.Write(member.data)
		if len(member.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("app_%s_%s.deb", version, t.arch)), b.Bytes(), 0o644)
}

// writeRPM writes a package for Fedora, Red Hat and derivatives.
func (r release) writeRPM(t target, contents []file) error {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
	version := r.packageVersion()
	p, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: "app", Version: version, Release: "1", Arch: arch, OS: "linux", Summary: summary, Description: description,
		Licence: "Apache-2.0", URL: homepage, Packager: maintainer, Vendor: maintainer, Compressor: "gzip", BuildTime: r.time,
		Requires: rpmpack.Relations{{Name: "ca-certificates"}, {Name: "shadow-utils"}},
	})
	if err != nil {
		return err
	}
	p.AddPostin(postInstall)
	for _, f := range contents {
		mode := uint(0o100000) | uint(f.mode.Perm())
		if f.mode.IsDir() {
			mode = 0o040000 | uint(f.mode.Perm())
		}
		p.AddFile(rpmpack.RPMFile{Name: "/" + f.name, Body: f.data, Mode: mode, Owner: "root", Group: "root", MTime: uint32(r.time.Unix())})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return fmt.Errorf("write the RPM: %w", err)
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("app-%s-1.%s.rpm", version, arch)), b.Bytes(), 0o644)
}
