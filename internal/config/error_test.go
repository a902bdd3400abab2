// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

// TestConfigErrors has the rules of the real tree.
func TestConfigErrors(t *testing.T) {
	tests := map[string]string{
		"app.service.admin-api.http.port=70000":                   `--set: app.service.admin-api.http.port = "70000": must be between 0 and 65535`,
		"app.service.adminApi.http.max-request-body-size-bytes=0": `--set: app.service.admin-api.http.max-request-body-size-bytes = "0": must be at least 1`,
		"app.store.url=":                                                   `--set: app.store.url = ***: must not be empty`,
		"app.security.password.bcrypt-cost=17":                             `--set: app.security.password.bcrypt-cost = "17": must be between 4 and 16`,
		"app.security.password.initial-root-password=":                     `--set: app.security.password.initial-root-password = ***: must be 1 to 32 characters without white space`,
		"app.security.password.initial-root-password=a b":                  `--set: app.security.password.initial-root-password = ***: must be 1 to 32 characters without white space`,
		"app.security.password.initialRootPassword=" + stringOf(33):        `--set: app.security.password.initial-root-password = ***: must be 1 to 32 characters without white space`,
		"app.metrics.open-to=10.0.0.0/8,10.0.0.0/33":                       `--set: app.metrics.open-to[1] = "10.0.0.0/33": must be an IP address or a CIDR range such as 10.0.0.0/8`,
		"app.metrics.open-to=localhost":                                    `--set: app.metrics.open-to[0] = "localhost": must be an IP address or a CIDR range such as 10.0.0.0/8`,
		"app.metrics.open-to=fe80::1%eth0":                                 `--set: app.metrics.open-to[0] = "fe80::1%eth0": must be an IP address or a CIDR range such as 10.0.0.0/8`,
		"app.shutdown.job-graceful-timeout-millis=100000":                  `--set: app.shutdown.job-graceful-timeout-millis = "100000": must not be greater than job-forced-timeout-millis, which is 90000`,
		"app.shutdown.job-forced-timeout-millis=1":                         `--set: app.shutdown.job-graceful-timeout-millis = "60000": must not be greater than job-forced-timeout-millis, which is 1`,
		"app.service.admin-api.http.ssl.enabled=true":                      `--set: app.service.admin-api.http.ssl.certificate-file = "": must not be empty when ssl is enabled`,
		"app.service.admin-api.default-available-records-per-request=1001": `--set: app.service.admin-api.default-available-records-per-request = "1001": must not be greater than max-available-records-per-request, which is 1000`,
		"app.gateway.admin-api.allow-delete-without-filter=true":           `--set: app.gateway.admin-api.allow-delete-without-filter: unknown property`,
		"app.logging.console.level=LOUD":                                   `--set: app.logging.console.level = "LOUD": must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL`,
	}
	for item, want := range tests {
		t.Run(item, func(t *testing.T) {
			_, err := Load(Options{Home: t.TempDir(), Set: []string{item}})
			wantError(t, err, want)
		})
	}
}

func stringOf(n int) string { return strings.Repeat("x", n) }
