// SPDX-License-Identifier: Apache-2.0

// Package deploy tests the files in deploy/ as far as possible without a container engine and a
// cluster: against the defaults of the configuration, against a running server and with the tools
// of the system.
package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

const root = "../.."

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decode decodes every document of a YAML file.
func decode[T any](t *testing.T, name string, strict bool) (list []T) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, name)))
	decoder.KnownFields(strict)
	for {
		var one T
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, one)
	}
}

// TestCompose checks that the client ports are published and the admin ports are not, and that
// containers are read-only.
func TestCompose(t *testing.T) {
	type service struct {
		Image, Restart string
		Command        []string
		Ports          []string
		ReadOnly       bool     `yaml:"read_only"`
		CapDrop        []string `yaml:"cap_drop"`
		Environment    map[string]string
		Build          struct{ Dockerfile, Target string }
	}
	file := decode[struct{ Services map[string]service }](t, "deploy/compose.yaml", false)[0]
	published := []string{}
	for name, s := range file.Services {
		published = append(published, s.Ports...)
		if s.Image == "" && (!s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.Command) != 1) {
			t.Errorf("%s is not hardened: %+v", name, s)
		}
		if s.Image != "" {
			continue
		}
		environ := []string{}
		for key, value := range s.Environment {
			environ = append(environ, key+"="+regexp.MustCompile(`\$\{\w+:\?\}`).ReplaceAllString(value, "x"))
		}
		if _, err := config.Load(config.Options{Home: t.TempDir(), Environ: environ}); err != nil {
			t.Errorf("the environment of %s: %v", name, err)
		}
	}
	slices.Sort(published)
	if !slices.Equal(published, []string{"10510:10510", "11510:11510"}) {
		t.Errorf("published are %v, want the ports of clients", published)
	}
}

// TestDockerfile checks that the files copied into the image exist, and that both flavours run as
// an unprivileged user.
func TestDockerfile(t *testing.T) {
	text := string(read(t, "deploy/Dockerfile"))
	for _, found := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(found[1]) {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, stage := range []string{"plain", "java"} {
		_, body, found := strings.Cut(text, " AS "+stage+"\n")
		body, _, _ = strings.Cut(body, "\nFROM ")
		users := regexp.MustCompile(`(?m)^USER (\S+)$`).FindAllStringSubmatch(body, -1)
		if !found || len(users) == 0 || users[len(users)-1][1] != "10001" {
			t.Errorf("the flavour %s ends with the user %v", stage, users)
		}
	}
	for _, want := range []string{"ca-certificates", `HEALTHCHECK`, `CMD ["app", "health"]`, "COPY --from=jars", "openjdk-25-jre-headless"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %s", want)
		}
	}
	ignored := string(read(t, ".dockerignore"))
	for _, want := range []string{".git", "**/node_modules", "**/target", "data", "bin"} {
		if !slices.Contains(strings.Split(ignored, "\n"), want) {
			t.Errorf(".dockerignore lacks %s", want)
		}
	}
}

// A manifest is the checked part of Kubernetes objects.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Type     string
		Selector map[string]any
		Ports    []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
				TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
				Containers                    []container
			}
		}
	}
}

type container struct {
	Args  []string
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	ReadinessProbe, LivenessProbe, StartupProbe probe
	SecurityContext                             struct {
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
	} `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// UnmarshalYAML reads the probes, whose names are in camel case.
func (c *container) UnmarshalYAML(node *yaml.Node) error {
	type plain container
	var names struct {
		Readiness probe `yaml:"readinessProbe"`
		Liveness  probe `yaml:"livenessProbe"`
		Startup   probe `yaml:"startupProbe"`
	}
	if err := errors.Join(node.Decode((*plain)(c)), node.Decode(&names)); err != nil {
		return err
	}
	c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = names.Readiness, names.Liveness, names.Startup
	return nil
}

// TestKubernetes compares the manifests with the defaults of the configuration and sends the
// requests of the probes to a server.
func TestKubernetes(t *testing.T) {
	server := apptest.Start(t, role.All)
	listed := decode[struct{ Resources []string }](t, "deploy/kubernetes/kustomization.yaml", false)[0].Resources
	defaults := config.Default()
	wantPorts := map[string]map[string]int{
		"service": {"admin": int(defaults.Service.AdminAPI.HTTP.Port)},
		"gateway": {
			"admin": int(defaults.Gateway.AdminAPI.HTTP.Port), "websocket": int(defaults.Gateway.WebSocket.Port), "tcp": int(defaults.Gateway.TCP.Port),
		},
	}
	for name, ports := range wantPorts {
		file := name + ".yaml"
		if !slices.Contains(listed, file) {
			t.Errorf("kustomization.yaml does not list %s", file)
		}
		kinds := map[string]int{}
		for _, m := range decode[manifest](t, "deploy/kubernetes/"+file, false) {
			kinds[m.Kind]++
			switch m.Kind {
			case "Deployment":
				checkDeployment(t, m, name, ports, server.URL(role.Of(name)), defaults)
			case "Service":
				for _, p := range m.Spec.Ports {
					if ports[p.TargetPort] != p.Port || (m.Spec.Type == "LoadBalancer") == (p.Name == "admin") {
						t.Errorf("%s %s of type %s has the port %+v", m.Kind, m.Metadata.Name, m.Spec.Type, p)
					}
				}
			}
		}
		if kinds["Deployment"] != 1 || kinds["PodDisruptionBudget"] != 1 || kinds["Service"] < 1 {
			t.Errorf("%s has %v", file, kinds)
		}
	}
}

func checkDeployment(t *testing.T, m manifest, name string, ports map[string]int, url string, defaults *config.Config) {
	t.Helper()
	pod := m.Spec.Template.Spec
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks || len(pod.Containers) != 1 {
		t.Fatalf("the pod of %s is %+v", name, pod)
	}
	if forced := int(defaults.Shutdown.JobForcedTimeoutMillis / 1000); pod.TerminationGracePeriodSeconds <= forced {
		t.Errorf("%s has %d seconds to end, but drains for up to %d", name, pod.TerminationGracePeriodSeconds, forced)
	}
	c := pod.Containers[0]
	if !slices.Equal(c.Args, []string{name}) || !c.SecurityContext.ReadOnlyRootFilesystem || c.SecurityContext.AllowPrivilegeEscalation == nil || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("the container of %s is %+v", name, c)
	}
	have := map[string]int{}
	for _, p := range c.Ports {
		have[p.Name] = p.ContainerPort
	}
	for port, number := range ports {
		if have[port] != number {
			t.Errorf("%s has the ports %v, want %v", name, have, ports)
		}
	}
	for _, p := range []probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		resp, err := http.Get(url + p.HTTPGet.Path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if p.HTTPGet.Path == "" || p.HTTPGet.Port != "admin" || resp.StatusCode != http.StatusOK {
			t.Errorf("the probe %+v of %s is answered with %s", p, name, resp.Status)
		}
	}
}

// TestUnit verifies the unit with systemd, and checks that it is hardened.
func TestUnit(t *testing.T) {
	unit := read(t, "deploy/app@.service")
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		need.Skip(t, "systemd", err)
	}
	// systemd-analyze requires that the program exists.
	path := filepath.Join(t.TempDir(), "app@all.service")
	if err := os.WriteFile(path, bytes.Replace(unit, []byte("/usr/bin/app "), []byte("/bin/true "), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || bytes.Contains(out, []byte("app@all.service:")) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=25", path).CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("nrecognized option")) {
		t.Skip("this systemd-analyze cannot look at files")
	}
	if err != nil {
		t.Errorf("the exposure is too high: %v\n%s", err, out)
	}
}

// TestVersionsAgree checks that everything published to Maven and npm has the same version.
func TestVersionsAgree(t *testing.T) {
	var npm struct{ Version string }
	if err := json.Unmarshal(read(t, "sdk/js/package.json"), &npm); err != nil {
		t.Fatal(err)
	}
	poms, err := filepath.Glob(filepath.Join(root, "sdk", "java", "*", "pom.xml"))
	if err != nil || len(poms) < 3 {
		t.Fatal(poms, err)
	}
	for _, pom := range append(poms, filepath.Join(root, "sdk", "java", "pom.xml")) {
		text, err := os.ReadFile(pom)
		if err != nil {
			t.Fatal(err)
		}
		if first := regexp.MustCompile(`<version>(.*?)</version>`).FindSubmatch(text); first == nil || string(first[1]) != npm.Version {
			t.Errorf("%s has the version %s, sdk/js has %s", pom, first[1], npm.Version)
		}
	}
}
