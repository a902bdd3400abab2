// SPDX-License-Identifier: Apache-2.0

package property

import "testing"

func TestNames(t *testing.T) {
	tests := []struct{ field, kebab, camel string }{
		{"Enabled", "enabled", "enabled"},
		{"AdminAPI", "admin-api", "adminApi"},
		{"HTTP", "http", "http"},
		{"ID", "id", "id"},
		{"IDs", "ids", "ids"},
		{"UserID", "user-id", "userId"},
		{"UserIDs", "user-ids", "userIds"},
		{"UserIDsAllowed", "user-ids-allowed", "userIdsAllowed"},
		{"HTTPServer", "http-server", "httpServer"},
		{"HTTPSsl", "http-ssl", "httpSsl"},
		{"MaxFileSizeMB", "max-file-size-mb", "maxFileSizeMb"},
		{"SHA256Sum", "sha256-sum", "sha256Sum"},
		{"MaxRequestBodySizeBytes", "max-request-body-size-bytes", "maxRequestBodySizeBytes"},
		{"IsRecalledMessageVisible", "is-recalled-message-visible", "isRecalledMessageVisible"},
		{"URL", "url", "url"},
		{"A", "a", "a"},
	}
	for _, tt := range tests {
		k := kebab(tt.field)
		if k != tt.kebab {
			t.Errorf("kebab(%q) = %q, want %q", tt.field, k, tt.kebab)
		}
		if c := camel(k); c != tt.camel {
			t.Errorf("camel(%q) = %q, want %q", k, c, tt.camel)
		}
		if canonical(k) != canonical(camel(k)) {
			t.Errorf("the spellings %q and %q are not the same name", k, camel(k))
		}
	}
}

func TestEditDistance(t *testing.T) {
	tests := []struct {
		x, y string
		want int
	}{
		{"", "", 0},
		{"port", "port", 0},
		{"prot", "port", 1},
		{"por", "port", 1},
		{"ports", "port", 1},
		{"pert", "port", 1},
		{"kitten", "sitting", 3},
		{"", "abc", 3},
	}
	for _, tt := range tests {
		if got := editDistance(tt.x, tt.y); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.x, tt.y, got, tt.want)
		}
	}
}
