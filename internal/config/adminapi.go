// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// AdminAPI contains the properties of the admin interface that both roles have.
type AdminAPI struct {
	Enabled           bool         `default:"true" doc:"Whether the administrative HTTP interface is served."`
	UseAuthentication bool         `default:"true" doc:"Whether callers must log in; false allows everyone everything."`
	HTTP              AdminHTTP    `doc:"The HTTP server of the administrative interface."`
	Address           Address      `doc:"The address of the administrative interface that is advertised to other nodes and browsers."`
	RateLimiting      RateLimiting `mutable:"true" global:"true" doc:"The rate limit of requests of one address."`
	Log               AdminCallLog `mutable:"true" global:"true" doc:"The record of administrative calls."`
	OpenAPI           OpenAPI      `name:"openapi" mutable:"true" doc:"The description of the administrative interface."`
}

// ServiceAdminAPI adds the properties of the service role.
type ServiceAdminAPI struct {
	AdminAPI

	AllowDeleteWithoutFilter          bool  `default:"false" mutable:"true" global:"true" doc:"Whether a delete call without any filter may delete everything."`
	MaxAvailableRecordsPerRequest     int32 `default:"1000" min:"1" mutable:"true" global:"true" doc:"The maximum number of records that a query returns."`
	DefaultAvailableRecordsPerRequest int32 `default:"10" min:"1" mutable:"true" global:"true" doc:"The number of records that a query without a size returns."`
	TotalBudgetMillis                 int32 `default:"100" min:"0" mutable:"true" global:"true" doc:"The time limit for counting the total of a page; if it expires, total is a lower bound and totalIsExact is false."`
	MaxHourDifferencePerCountRequest  int32 `default:"24" min:"0" mutable:"true" global:"true" doc:"The maximum number of hours that one statistics query can count separately."`
	MaxDayDifferencePerCountRequest   int32 `default:"31" min:"0" mutable:"true" global:"true" doc:"The maximum number of days that one statistics query can count separately."`
	MaxMonthDifferencePerCountRequest int32 `default:"12" min:"0" mutable:"true" global:"true" doc:"The maximum number of months that one statistics query can count separately."`
}

// Validate checks that the default page size is allowed.
func (a ServiceAdminAPI) Validate() error {
	if a.DefaultAvailableRecordsPerRequest > a.MaxAvailableRecordsPerRequest {
		return property.Violation("default-available-records-per-request",
			fmt.Sprintf("must not be greater than max-available-records-per-request, which is %d", a.MaxAvailableRecordsPerRequest))
	}
	return nil
}

// slowestRefill is the longest interval for refilling a request of an address, so that a setting
// cannot lock all administrators out.
const slowestRefill = 10_000

// Validate returns an error for limits that would lock administrators out.
func (a AdminAPI) Validate() error {
	if i := a.RateLimiting.RefillIntervalMillis; i < 1 || i > slowestRefill {
		return property.Violation("rate-limiting.refill-interval-millis", fmt.Sprintf("must be from 1 to %d, so that administrators are not locked out", slowestRefill))
	}
	return nil
}

// AdminHTTP is an HTTP server of the administrative interface.
type AdminHTTP struct {
	Host                     string `default:"0.0.0.0" doc:"The address on which the server listens."`
	Port                     int32  `min:"0" max:"65535" doc:"The port on which the server listens; 0 lets the operating system choose."`
	ConnectTimeoutMillis     int32  `default:"30000" min:"0" doc:"The time limit for setting up a connection; 0 means no limit."`
	IdleTimeoutMillis        int32  `default:"180000" min:"0" doc:"The time for which a connection may be idle between two requests; 0 means no limit."`
	RequestReadTimeoutMillis int32  `default:"180000" min:"0" doc:"The time limit for reading a request; 0 means no limit."`
	MaxRequestBodySizeBytes  int32  `default:"10485760" min:"1" doc:"The maximum size of a request body."`
	SSL                      SSL    `hidden:"true" doc:"Encryption of the connections."`
}

// SSL is the encryption of a server's connections.
type SSL struct {
	Enabled         bool    `default:"false" doc:"Whether connections are encrypted."`
	CertificateFile string  `path:"true" doc:"The PEM file with the certificate chain of the server."`
	PrivateKeyFile  string  `path:"true" doc:"The PEM file with the private key of the server."`
	P12             P12File `doc:"The PKCS #12 file with both, instead of the PEM files."`
}

// P12File is a PKCS #12 file with one private key and its certificate chain.
type P12File struct {
	FilePath string          `path:"true" doc:"The PKCS #12 file."`
	Password property.Secret `doc:"The password of the file."`
}

// Validate checks that encryption has its files.
func (s SSL) Validate() error {
	switch {
	case !s.Enabled:
		return nil
	case s.P12.FilePath != "":
		if s.CertificateFile != "" || s.PrivateKeyFile != "" {
			return property.Violation("p12.file-path", "must be empty when there are PEM files")
		}
		return nil
	case s.CertificateFile == "":
		return property.Violation("certificate-file", "must not be empty when ssl is enabled")
	case s.PrivateKeyFile == "":
		return property.Violation("private-key-file", "must not be empty when ssl is enabled")
	}
	return nil
}

// RateLimiting is a token bucket for each client address.
type RateLimiting struct {
	Capacity             int32 `default:"50" min:"1" doc:"The maximum number of tokens (requests) of one address."`
	InitialTokens        int32 `default:"50" min:"0" doc:"The initial number of tokens (requests) of an address."`
	TokensPerPeriod      int32 `default:"50" min:"1" doc:"The number of tokens (requests) that an address gets in each interval."`
	RefillIntervalMillis int32 `default:"1000" min:"0" doc:"The length of the interval; 0 means that an address gets no further tokens."`
}

// AdminCallLog configures the log of administrative calls.
type AdminCallLog struct {
	Enabled          bool `default:"true" doc:"Whether administrative calls are recorded."`
	LogRequestParams bool `default:"true" doc:"Whether the record of a call includes its parameters."`
}

// OpenAPI is the machine-readable description of the administrative interface.
type OpenAPI struct {
	Enabled bool `default:"true" doc:"Whether the OpenAPI document and its page are served under /openapi."`
}
