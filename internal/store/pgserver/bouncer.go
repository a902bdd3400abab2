// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pgserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNoBouncer means that PgBouncer is not installed.
var ErrNoBouncer = errors.New("PgBouncer (package pgbouncer) is not installed")

// BouncerPort is the usual port of PgBouncer, after which its socket is named.
const BouncerPort = "6432"

// A Bouncer is a PgBouncer process. It ends with this process, like a Server.
type Bouncer struct {
	program    string
	folder     string
	attributes *syscall.SysProcAttr
	command    *exec.Cmd
	pipe       io.WriteCloser
}

// bouncerScript runs the program given by $0 in the folder $1 until standard input ends.
const bouncerScript = `"$0" "$1/pgbouncer.ini" >"$1/log" 2>&1 </dev/null &
pid=$!
read -r line
kill -KILL $pid
wait $pid
exit 0`

// NewBouncer creates the files pgbouncer.ini and userlist.txt of a PgBouncer that listens on a
// socket in their folder. write gets the folder and returns the files.
func NewBouncer(write func(folder string) (ini, users string)) (*Bouncer, error) {
	program, err := findBouncer()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(shortFolder(), "appbn")
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged(folder)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	ini, users := write(folder)
	for name, text := range map[string]string{"pgbouncer.ini": ini, "userlist.txt": users} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { //nolint:gosec // Another account reads it.
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	return &Bouncer{program: program, folder: folder, attributes: &syscall.SysProcAttr{Credential: credential, Setpgid: true}}, nil
}

// Start starts PgBouncer and waits until it listens.
func (b *Bouncer) Start() (err error) {
	// The socket of a killed one would be in the way.
	if err := os.RemoveAll(b.socket()); err != nil {
		return err
	}
	b.command = exec.Command("/bin/sh", "-c", bouncerScript, b.program, b.folder)
	b.command.Dir, b.command.SysProcAttr = b.folder, b.attributes
	if b.pipe, err = b.command.StdinPipe(); err == nil {
		err = b.command.Start()
	}
	if err != nil {
		return fmt.Errorf("start pgbouncer: %w", err)
	}
	if err := b.await(); err != nil {
		return errors.Join(err, b.Stop())
	}
	return nil
}

// Stop kills PgBouncer and waits until it is gone.
func (b *Bouncer) Stop() error {
	return errors.Join(b.pipe.Close(), b.command.Wait())
}

// Remove removes the files.
func (b *Bouncer) Remove() error { return os.RemoveAll(b.folder) }

func (b *Bouncer) socket() string { return filepath.Join(b.folder, ".s.PGSQL."+BouncerPort) }

// Folder returns where the files and the socket are.
func (b *Bouncer) Folder() string { return b.folder }

// await waits until PgBouncer listens.
func (b *Bouncer) await() error {
	deadline := time.Now().Add(startLimit)
	for {
		conn, err := net.Dial("unix", b.socket())
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(b.folder, "log"))
			return fmt.Errorf("PgBouncer did not start: %w: %s", err, log)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func findBouncer() (string, error) {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path, nil
	}
	const path = "/usr/sbin/pgbouncer" // it is not in every PATH
	if _, err := os.Stat(path); err != nil {
		return "", ErrNoBouncer
	}
	return path, nil
}
