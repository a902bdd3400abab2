// SPDX-License-Identifier: Apache-2.0

package login

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"

	"example.org/app/internal/certificate/certificatetest"
	"example.org/app/test/need"
)

const (
	baseDN        = "dc=example,dc=org"
	rootDN        = "cn=admin," + baseDN
	rootPassword  = "admin-secret"
	startLimit    = time.Minute
	searcherDN    = "cn=searcher," + baseDN
	searcherProof = "searcher-secret"
)

// slapd is a directory server for a test, which may stop and restart it.
type slapd struct {
	folder     string
	attributes *syscall.SysProcAttr
	// plain and encrypted are the ports.
	plain, encrypted int32
	caFile           string

	command *exec.Cmd
	pipe    io.Closer
}

// slapdScript runs the program $0 in the folder $1 until standard input ends, so that it does not
// outlive the test.
const slapdScript = `"$0" -f "$1/slapd.conf" -h "$2" -d 0 >"$1/log" 2>&1 </dev/null &
pid=$!
read -r line
kill -KILL $pid
wait $pid`

// startSlapd starts a server with the entries of the test.
func startSlapd(t testing.TB) *slapd {
	t.Helper()
	folder, err := os.MkdirTemp("", "appldap")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	s := &slapd{folder: folder, caFile: filepath.Join(folder, "ca.pem"), attributes: &syscall.SysProcAttr{Setpgid: true}}
	s.prepare(t)
	t.Cleanup(func() { s.stop(t) })
	for attempt := 1; ; attempt++ {
		s.plain, s.encrypted = int32(need.Port(t)), int32(need.Port(t))
		err := s.run(t)
		if err == nil {
			break
		}
		// Another process may have taken a port meanwhile.
		if attempt == 10 {
			t.Fatal(err)
		}
	}
	s.fill(t)
	return s
}

// prepare writes the files of the server and, if the test runs as root, gives them to an
// unprivileged user.
func (s *slapd) prepare(t testing.TB) {
	t.Helper()
	program := firstFile(t, "slapd, see scripts/need", "/usr/sbin/slapd", "/opt/homebrew/opt/openldap/libexec/slapd", "/usr/libexec/slapd")
	schema := firstFile(t, "the core schema of slapd", "/etc/ldap/schema/core.schema", "/opt/homebrew/etc/openldap/schema/core.schema", "/etc/openldap/schema/core.schema")
	modules := ""
	for _, path := range []string{"/usr/lib/ldap", "/usr/lib64/openldap"} {
		if _, err := os.Stat(filepath.Join(path, "back_mdb.so")); err == nil {
			modules = "modulepath " + path + "\nmoduleload back_mdb\n"
		}
	}
	// A copy of the program is exempt from the security profiles that some systems have for the
	// installed one.
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key := certificatetest.PEM(certificatetest.New("127.0.0.1"))
	configuration := fmt.Sprintf(`include %s
%spidfile %[3]s/pid
TLSCACertificateFile %[3]s/ca.pem
TLSCertificateFile %[3]s/ca.pem
TLSCertificateKeyFile %[3]s/key.pem
sizelimit 500
database mdb
suffix "%[4]s"
rootdn "%[5]s"
rootpw %[6]s
directory %[3]s/data
maxsize 16777216
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="%[7]s" read by * none
`, schema, modules, s.folder, baseDN, rootDN, rootPassword, searcherDN)
	for name, content := range map[string][]byte{"slapd": data, "slapd.conf": []byte(configuration), "ca.pem": certificate, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(s.folder, name), content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(s.folder, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	for _, name := range []string{"", "slapd", "slapd.conf", "ca.pem", "key.pem", "data"} {
		if err := os.Chown(filepath.Join(s.folder, name), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	s.attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func firstFile(t testing.TB, what string, paths ...string) string {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("the test needs %s: found none of %q", what, paths)
	return ""
}

// start starts the server again after stop.
func (s *slapd) start(t testing.TB) {
	t.Helper()
	if err := s.run(t); err != nil {
		t.Fatal(err)
	}
}

// run starts the server and waits until it answers. It fails if the server cannot open its ports.
func (s *slapd) run(t testing.TB) error {
	t.Helper()
	urls := fmt.Sprintf("ldap://127.0.0.1:%d ldaps://127.0.0.1:%d", s.plain, s.encrypted)
	s.command = exec.Command("/bin/sh", "-c", slapdScript, filepath.Join(s.folder, "slapd"), s.folder, urls)
	s.command.Dir, s.command.SysProcAttr = s.folder, s.attributes
	pipe, err := s.command.StdinPipe()
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.pipe = pipe
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(startLimit); ; <-retry.C {
		c, err := ldap.DialURL(fmt.Sprintf("ldap://127.0.0.1:%d", s.plain))
		if err == nil {
			err = c.Bind(rootDN, rootPassword)
			_ = c.Close()
		}
		if err == nil {
			return nil
		}
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		if strings.Contains(string(log), "bind(") || time.Now().After(deadline) {
			s.stop(t)
			return fmt.Errorf("slapd does not answer: %w: %s", err, log)
		}
	}
}

// stop kills the server. Further calls do nothing.
func (s *slapd) stop(t testing.TB) {
	t.Helper()
	if s.command == nil {
		return
	}
	_ = s.pipe.Close()
	_ = s.command.Wait()
	s.command = nil
}

// fill adds the entries: user 1 with a password, user 2 twice, user 3 three times, user 4 without
// password.
func (s *slapd) fill(t testing.TB) {
	t.Helper()
	c, err := ldap.DialURL(fmt.Sprintf("ldap://127.0.0.1:%d", s.plain))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Bind(rootDN, rootPassword); err != nil {
		t.Fatal(err)
	}
	add := func(dn, classes string, attributes ...string) {
		t.Helper()
		r := ldap.NewAddRequest(dn, nil)
		r.Attribute("objectClass", strings.Fields(classes))
		for i := 0; i < len(attributes); i += 2 {
			r.Attribute(attributes[i], []string{attributes[i+1]})
		}
		if err := c.Add(r); err != nil {
			t.Fatalf("add %q: %v", dn, err)
		}
	}
	add(baseDN, "dcObject organization", "o", "test")
	add("ou=people,"+baseDN, "organizationalUnit")
	add("ou=others,"+baseDN, "organizationalUnit")
	add(searcherDN, "person", "sn", "searcher", "userPassword", searcherProof)
	person := func(name, unit, uid, password string) {
		attributes := []string{"sn", name, "uid", uid}
		if password != "" {
			attributes = append(attributes, "userPassword", password)
		}
		add("cn="+name+",ou="+unit+","+baseDN, "person uidObject", attributes...)
	}
	person("one", "people", "1", "right")
	person("two", "people", "2", "right")
	person("two", "others", "2", "right")
	person("three", "people", "3", "right")
	person("three", "others", "3", "right")
	person("third", "others", "3", "right")
	person("four", "people", "4", "")
}
