// SPDX-License-Identifier: Apache-2.0

package config

import "example.org/app/internal/config/property"

// Telemetry says what the server tells other systems of what it does.
type Telemetry struct {
	Tracing Tracing `doc:"OpenTelemetry spans, which show where individual requests spend their time."`
}

// Tracing says which spans are sent, and where.
type Tracing struct {
	Enabled       bool                       `default:"false" doc:"Whether spans are sent to a collector."`
	Endpoint      property.URL               `default:"http://localhost:4318/v1/traces" required:"true" doc:"The URL at which the collector accepts traces by OTLP over HTTP."`
	Headers       map[string]property.Secret `doc:"Header fields for requests to the collector, such as an API key."`
	SampleRate    float64                    `default:"0.01" min:"0" max:"1" mutable:"true" doc:"The share of requests that are traced, from 0 to 1. An administrator request that belongs to a trace (traceparent) follows the sampling decision of its caller."`
	TimeoutMillis int32                      `default:"10000" min:"1" doc:"The time limit for sending spans, including retries. Requests do not wait for it."`
	MaxQueueSize  int32                      `default:"2048" min:"1" max:"1000000" doc:"The maximum number of spans that wait for the collector. Further spans are dropped."`
}
