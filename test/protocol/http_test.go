// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func createUser(t *testing.T, url string, id int, name string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/users", strings.NewReader(fmt.Sprintf(`{"id":%d,"name":%q,"password":"123"}`, id, name)))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("create user %d: %s", id, resp.Status)
	}
}
