// SPDX-License-Identifier: Apache-2.0

// Command deploy checks the files in deploy/ with the code of those who read
// them: Kustomize, the types of Kubernetes and of the Prometheus operator, and
// the parser of Prometheus. It is a module of its own, so that the server does
// not depend on them. test/deploy runs it with the root of the source tree.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: deploy ROOT")
		os.Exit(2)
	}
	root := os.Args[1]
	objects, err1 := manifests(filepath.Join(root, "deploy", "kubernetes"))
	rules, err2 := alerts(filepath.Join(root, "deploy", "monitoring", "alerts.yaml"))
	panels, err3 := dashboard(filepath.Join(root, "deploy", "monitoring", "dashboard.json"))
	if err := errors.Join(err1, err2, err3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d objects, %d rules, %d expressions\n", objects, rules, panels)
}

// manifests builds a folder as kubectl apply -k does and decodes each object
// into its type, which refuses fields that it does not have.
func manifests(folder string) (int, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err == nil {
			err = decode(resource.GetApiVersion()+"/"+resource.GetKind(), text)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err))
		}
	}
	return built.Size(), errors.Join(problems...)
}

func decode(kind string, text []byte) error {
	var object any
	switch kind {
	case "apps/v1/Deployment":
		object = &apps.Deployment{}
	case "v1/Service":
		object = &core.Service{}
	case "v1/ConfigMap":
		object = &core.ConfigMap{}
	case "v1/PersistentVolumeClaim":
		object = &core.PersistentVolumeClaim{}
	case "policy/v1/PodDisruptionBudget":
		object = &policy.PodDisruptionBudget{}
	case "monitoring.coreos.com/v1/ServiceMonitor":
		object = &monitoring.ServiceMonitor{}
	default:
		return fmt.Errorf("the type %s is not known here", kind)
	}
	return yaml.UnmarshalStrict(text, object)
}

// alerts reads a file of rules as Prometheus does.
func alerts(name string) (int, error) {
	groups, problems := rulefmt.ParseFile(name, false)
	if len(problems) > 0 {
		return 0, errors.Join(problems...)
	}
	count := 0
	for _, g := range groups.Groups {
		count += len(g.Rules)
	}
	return count, nil
}

// dashboard parses every expression of a dashboard. Grafana replaces its
// variables before Prometheus sees an expression.
func dashboard(name string) (int, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	var problems []error
	count := 0
	each(document, func(expression string) {
		count++
		text := strings.NewReplacer("$__rate_interval", "1m", "$__interval", "1m", "$__range", "1h").Replace(expression)
		if _, err := parser.ParseExpr(text); err != nil {
			problems = append(problems, fmt.Errorf("%s: %q: %w", name, expression, err))
		}
	})
	return count, errors.Join(problems...)
}

// each calls f for the value of every field expr.
func each(value any, f func(string)) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			each(v, f)
		}
	case map[string]any:
		for name, v := range value {
			if text, ok := v.(string); ok && name == "expr" {
				f(text)
			} else {
				each(v, f)
			}
		}
	}
}
