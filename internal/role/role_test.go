// SPDX-License-Identifier: Apache-2.0

package role

import "testing"

func TestNames(t *testing.T) {
	for r, name := range map[Role]string{Gateway: "gateway", Service: "service", AIServing: "ai-serving", Mock: "mock"} {
		if got := r.Name(); got != name {
			t.Errorf("%s is named %q, want %q", r, got, name)
		}
		if got := Of(name); got != r {
			t.Errorf("%q is the role %s, want %s", name, got, r)
		}
	}
}

func TestOfServer(t *testing.T) {
	for name, want := range map[string]Role{
		"GATEWAY": Gateway, "app-gateway": Gateway, "SERVICE": Service, "app-service": Service, "AI_SERVING": AIServing, "app-ai-serving": AIServing,
		"": "", "gateway": "", "APP-GATEWAY": "", "MOCK": "", "app-": "",
	} {
		if got, known := OfServer(name); got != want || known != (want != "") {
			t.Errorf("OfServer(%q) = %q, %v", name, got, known)
		}
	}
}
