// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package pgserver runs private PostgreSQL servers for tests and load generators.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing means that PostgreSQL is not installed.
var ErrMissing = errors.New("the PostgreSQL server (package postgresql) is not installed")

const startLimit = time.Minute

// A Folder contains the files of a server.
type Folder struct {
	path       string
	programs   string
	attributes *syscall.SysProcAttr
}

// New creates the files of a new server. They are cached in the folder cache unless it is "":
// servers from one cache have the same system identifier.
func New(cache string) (Folder, error) {
	return newFolder(func(f Folder) error {
		return f.fillOnce(cache, "initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--wal-segsize=1")
	})
}

// Replica creates the files of a streaming replica of the folder's server, which must be running.
func (f Folder) Replica() (Folder, error) {
	return newFolder(func(replica Folder) error {
		return replica.fill("pg_basebackup", "-U", "postgres", "-h", f.path, "-R", "-X", "stream", "-c", "fast")
	})
}

func newFolder(fill func(Folder) error) (Folder, error) {
	programs, err := findPrograms()
	if err != nil {
		return Folder{}, err
	}
	path, err := os.MkdirTemp(shortFolder(), "apppg")
	if err != nil {
		return Folder{}, err
	}
	credential, err := unprivileged(path)
	if err != nil {
		return Folder{}, errors.Join(err, os.RemoveAll(path))
	}
	f := Folder{path, programs, &syscall.SysProcAttr{Credential: credential, Setpgid: true}}
	if err := fill(f); err != nil {
		return Folder{}, errors.Join(err, os.RemoveAll(path))
	}
	return f, nil
}

// fill creates the files with a program of PostgreSQL.
func (f Folder) fill(command ...string) error {
	program := exec.Command(filepath.Join(f.programs, command[0]), append(command[1:], "-D", f.data(), "--no-sync")...)
	program.Dir, program.SysProcAttr = f.path, f.attributes
	if output, err := program.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w: %s", command[0], err, output)
	}
	return nil
}

func (f Folder) data() string { return filepath.Join(f.path, "data") }

// shortFolder returns the folder for temporary files. The path of a socket must be short, and the
// default folder's is not always.
func shortFolder() string {
	const folder = "/tmp"
	if _, err := os.Stat(folder); err != nil {
		return os.TempDir()
	}
	return folder
}

// URL returns the URL of the folder's server, with the default port.
func (f Folder) URL() *url.URL {
	return &url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/postgres", RawQuery: url.Values{"host": {f.path}}.Encode(),
	}
}

// Remove removes the files.
func (f Folder) Remove() error { return os.RemoveAll(f.path) }

// A Server is a running PostgreSQL server. A shell is its parent and waits on a pipe that this
// process holds open: when the process ends, in whatever way, the shell stops the server.
type Server struct {
	command *exec.Cmd
	pipe    io.WriteCloser
	folder  Folder
	url     *url.URL
}

// script runs the server given by $0 in the folder $1, with the parameters after the second, until
// standard input ends, and removes the folder depending on $2.
const script = `folder=$1 afterwards=$2
shift 2
"$0" -D "$folder/data" -k "$folder" "$@" >"$folder/log" 2>&1 </dev/null &
pid=$!
echo $pid >"$folder/pid"
read -r line
kill -QUIT $pid
wait $pid
cd /
[ "$afterwards" = keep ] || rm -rf "$folder"`

// A Setting is a parameter of the server and its value.
type Setting struct{ Name, Value string }

// Private makes a server listen only on its socket.
var Private = Setting{"listen_addresses", ""}

// Start starts the server and waits until it answers. With remove the folder is removed when the
// server ends.
func (f Folder) Start(remove bool, settings ...Setting) (*Server, error) {
	afterwards := "keep"
	if remove {
		afterwards = "remove"
	}
	arguments := []string{"-c", script, filepath.Join(f.programs, "postgres"), f.path, afterwards}
	at := f.URL()
	for _, s := range settings {
		arguments = append(arguments, "-c", s.Name+"="+s.Value)
		if s.Name == "port" { // The socket is named after it.
			at.RawQuery += "&port=" + s.Value
		}
	}
	command := exec.Command("/bin/sh", arguments...)
	command.Dir, command.SysProcAttr = f.path, f.attributes
	pipe, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	s := &Server{command: command, pipe: pipe, folder: f, url: at}
	if err := s.await(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Stop ends the server immediately, like a crash, and waits until it has ended.
func (s *Server) Stop() error {
	err := s.pipe.Close()
	return errors.Join(err, s.command.Wait())
}

// Kill kills all processes of the server and waits until the first one has ended.
func (s *Server) Kill() error {
	first, err := s.PID()
	if err == nil {
		err = KillAll(first)
	}
	if err != nil {
		return err
	}
	if err := s.pipe.Close(); err != nil {
		return err
	}
	_ = s.command.Wait() // The shell reports that the server was killed.
	return nil
}

// KillAll kills a server's first process and its children with SIGKILL, like the loss of its
// machine.
func KillAll(first int) error {
	// Except on Linux, the children end by themselves a little later.
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", first, first))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find the processes of the server: %w", err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		return err
	}
	for word := range strings.FieldsSeq(string(children)) {
		if pid, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended.
		}
	}
	return nil
}

// PID returns the server's first process, the parent of the others.
func (s *Server) PID() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.folder.path, "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// await waits until the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url.String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.folder.path, "log"))
			return fmt.Errorf("PostgreSQL did not start: %w: %s", err, log)
		}
	}
}

// Programs returns the folder with the programs of the newest PostgreSQL.
func Programs() (string, error) { return findPrograms() }

// findPrograms returns the folder with the newest postgres and initdb.
func findPrograms() (string, error) {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// A symbolic link to postgres does not imply one to initdb.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
		folders = append(folders, filepath.Dir(path))
	}
	if output, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(output)))
	}
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	version := func(folder string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(folder)), 64)
		return number
	}
	slices.SortFunc(installed, func(a, b string) int { return int(10 * (version(b) - version(a))) })
	for _, folder := range append(folders, installed...) {
		_, postgresErr := os.Stat(filepath.Join(folder, "postgres"))
		_, initdbErr := os.Stat(filepath.Join(folder, "initdb"))
		if postgresErr == nil && initdbErr == nil {
			return folder, nil
		}
	}
	return "", ErrMissing
}

// unprivileged returns the user to run the server as, because it refuses to run as root, and gives
// it the folder.
func unprivileged(folder string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("find an account for the server: %w", err)
	}
	uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr, os.Chown(folder, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
