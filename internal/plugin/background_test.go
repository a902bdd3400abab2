// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestStored proves that a full storage is recorded each time, and logged once until a value could
// be stored again.
func TestStored(t *testing.T) {
	var log strings.Builder
	var f Failures
	var recorded []string
	f.Tell(func(in string, err error) { recorded = append(recorded, in+": "+err.Error()) })
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for _, err := range []error{
		nil, errors.New("the database is down"), fullError("%d bytes", 1), errors.New("the database is down"), fullError("%d bytes", 2), nil, fullError("%d bytes", 3),
	} {
		f.Stored(logger, err)
	}
	if len(recorded) != 3 || !strings.HasPrefix(recorded[2], "storage: ") || !strings.Contains(recorded[2], "3 bytes") {
		t.Errorf("recorded are %q", recorded)
	}
	if n := strings.Count(log.String(), "the storage of a plugin is full"); n != 2 || !strings.Contains(log.String(), "1 bytes") || !strings.Contains(log.String(), "3 bytes") {
		t.Errorf("the log has %d lines: %s", n, log.String())
	}
}
