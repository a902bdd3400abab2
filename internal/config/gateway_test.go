// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestGatewayProperties pins name, type, default and flags of the properties of
// client connections. M is mutable, G global.
func TestGatewayProperties(t *testing.T) {
	want := []string{
		"client-api.max-request-size-bytes int 16384 ",
		"client-api.return-reason-for-server-error boolean false ",
		"client-api.rate-limiting.capacity int 50 MG",
		"client-api.rate-limiting.initial-tokens int 50 MG",
		"client-api.rate-limiting.tokens-per-period int 1 MG",
		"client-api.rate-limiting.refill-interval-millis int 1000 MG",
		"client-api.logging.included-request-categories list of object [] MG",
		"client-api.logging.included-request-categories[?].category enum  MG",
		"client-api.logging.included-request-categories[?].sample-rate double 1 MG",
		"client-api.logging.included-requests list of object [] MG",
		"client-api.logging.included-requests[?].type enum  MG",
		"client-api.logging.included-requests[?].sample-rate double 1 MG",
		"client-api.logging.excluded-request-categories list of enum [] MG",
		"client-api.logging.excluded-request-types list of enum [] MG",
		"client-api.logging.included-notification-categories list of object [] MG",
		"client-api.logging.included-notification-categories[?].category enum  MG",
		"client-api.logging.included-notification-categories[?].sample-rate double 1 MG",
		"client-api.logging.included-notifications list of object [] MG",
		"client-api.logging.included-notifications[?].type enum  MG",
		"client-api.logging.included-notifications[?].sample-rate double 1 MG",
		"client-api.logging.excluded-notification-categories list of enum [] MG",
		"client-api.logging.excluded-notification-types list of enum [] MG",
		"client-api.logging.heartbeat-sample-rate double 0 MG",
		"session.close-idle-session-after-seconds int 180 MG",
		"session.switch-protocol-after-seconds int 540 MG",
		"session.min-heartbeat-interval-seconds int 18 MG",
		"session.client-heartbeat-interval-seconds int 60 MG",
		"session.notify-clients-of-session-info-after-connected boolean true MG",
		"session.device-details.expire-after-seconds int 2592000 MG",
		"session.device-details.items list of object [] MG",
		"session.device-details.items[?].field-name string  MG",
		"session.device-details.items[?].redis-field-name string  MG",
		"simultaneous-login.strategy enum ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE MG",
		"simultaneous-login.login-conflict-strategy enum DISCONNECT_LOGGED_IN_DEVICES MG",
		"simultaneous-login.allow-device-type-unknown-login boolean true MG",
		"simultaneous-login.allow-device-type-others-login boolean true MG",
		"service-discovery.identity string  M",
		"service-discovery.advertise-strategy enum PRIVATE_ADDRESS ",
		"service-discovery.advertise-host string  ",
		"service-discovery.attach-port-to-host boolean true ",
		"websocket.enabled boolean true ",
		"websocket.host string 0.0.0.0 ",
		"websocket.port int 10510 ",
		"websocket.connect-timeout-millis int 30000 ",
		"websocket.session.establish-timeout-millis int 300000 ",
		"websocket.session.close-timeout-millis int 120000 ",
		"websocket.ssl.enabled boolean false ",
		"websocket.ssl.certificate-file string  ",
		"websocket.ssl.private-key-file string  ",
		"websocket.ssl.p12.file-path string  ",
		"websocket.ssl.p12.password string  ",
		"websocket.remote-address-source.proxy-protocol-mode enum OPTIONAL ",
		"websocket.remote-address-source.trusted-proxies list of string [] ",
		"websocket.remote-address-source.http-header-mode enum OPTIONAL ",
		"tcp.enabled boolean true ",
		"tcp.host string 0.0.0.0 ",
		"tcp.port int 11510 ",
		"tcp.connect-timeout-millis int 30000 ",
		"tcp.session.establish-timeout-millis int 300000 ",
		"tcp.session.close-timeout-millis int 120000 ",
		"tcp.ssl.enabled boolean false ",
		"tcp.ssl.certificate-file string  ",
		"tcp.ssl.private-key-file string  ",
		"tcp.ssl.p12.file-path string  ",
		"tcp.ssl.p12.password string  ",
		"tcp.remote-address-source.proxy-protocol-mode enum OPTIONAL ",
		"tcp.remote-address-source.trusted-proxies list of string [] ",
		"udp.enabled boolean false ",
		"udp.host string 0.0.0.0 ",
		"udp.port int 12510 ",
	}
	var got []string
	for _, p := range Properties() {
		name, ok := strings.CutPrefix(p.Name, "app.gateway.")
		if !ok || strings.HasPrefix(name, "admin-api.") || strings.HasPrefix(name, "session.identity-access-management.") {
			continue
		}
		flags := ""
		if p.Mutable {
			flags += "M"
		}
		if p.Global {
			flags += "G"
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", name, p.Type, p.Default, flags))
	}
	if !slices.Equal(got, want) {
		t.Errorf("properties are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c := Default()
	c.Gateway.TCP.SSL.Enabled = true
	wantError(t, c.Validate(), `app.gateway.tcp.ssl.certificate-file = "": must not be empty when ssl is enabled`)
	c.Gateway.TCP.SSL.P12.FilePath = "server.p12"
	if err := c.Validate(); err != nil {
		t.Errorf("a PKCS #12 file alone: %v", err)
	}
	c.Gateway.TCP.SSL.CertificateFile = "server.pem"
	wantError(t, c.Validate(), `app.gateway.tcp.ssl.p12.file-path = "server.p12": must be empty when there are PEM files`)
}
