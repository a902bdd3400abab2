// SPDX-License-Identifier: Apache-2.0

package config

// Console configures the web console of services.
type Console struct {
	Enabled bool   `default:"true" doc:"Whether the web console is served, on its own port and as /console/ of the administrative interface."`
	Host    string `default:"0.0.0.0" doc:"The address on which the console listens."`
	Port    int32  `default:"6510" min:"0" max:"65535" doc:"The port on which the console listens; 0 lets the operating system choose. If another program uses the port, a warning is logged and the console is served by the administrative interface only."`
	SSL     SSL    `hidden:"true" doc:"Encryption of the connections."`
}
