// SPDX-License-Identifier: Apache-2.0

// Package requestlog logs client requests, and notifications to clients, as selected by the
// settings. It does not know the destination of the log. For notifications, which relay requests,
// there are lists of the same kinds.
//
// A kind in ExcludedRequestTypes is never logged. Otherwise a kind in IncludedRequests is logged at
// the rate given there. Otherwise a kind in one of ExcludedRequestCategories is not logged.
// Otherwise the first of IncludedRequestCategories that contains it gives the rate, and a kind in
// none of them is not logged.
package requestlog

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

// Rates are the shares of requests that are logged, from 0 to 1.
type Rates struct {
	kinds, notifications map[wire.Kind]float64
	heartbeat            float64
}

// RatesOf converts the settings of a service.
func RatesOf(c config.RequestLogging) *Rates {
	return &Rates{kinds: ratesOf(lists{c.IncludedRequestCategories, c.IncludedRequests, c.ExcludedRequestCategories, c.ExcludedRequestTypes})}
}

// GatewayRatesOf converts the settings of a gateway.
func GatewayRatesOf(c config.GatewayRequestLogging) *Rates {
	r := RatesOf(c.RequestLogging)
	r.heartbeat = c.HeartbeatSampleRate
	n := c.NotificationLogging
	r.notifications = ratesOf(lists{n.IncludedNotificationCategories, n.IncludedNotifications, n.ExcludedNotificationCategories, n.ExcludedNotificationTypes})
	return r
}

// lists are the lists of a setting that select kinds.
type lists struct {
	includedCategories []config.LoggedCategory
	included           []config.LoggedRequest
	excludedCategories []config.RequestCategory
	excluded           []config.RequestType
}

// ratesOf returns the selected kinds with their rates.
func ratesOf(c lists) map[wire.Kind]float64 {
	rates := map[wire.Kind]float64{}
	for _, k := range wire.Kinds() {
		if rate := c.rateOf(k); rate > 0 {
			rates[k] = rate
		}
	}
	return rates
}

func (c lists) rateOf(k wire.Kind) float64 {
	if slices.Contains(c.excluded, config.RequestType(k.String())) {
		return 0
	}
	for _, r := range c.included {
		if r.Type == config.RequestType(k.String()) {
			return r.SampleRate
		}
	}
	in := func(category config.RequestCategory) bool { return k.In(wire.Category(category)) }
	if slices.ContainsFunc(c.excludedCategories, in) {
		return 0
	}
	for _, r := range c.includedCategories {
		if in(r.Category) {
			return r.SampleRate
		}
	}
	return 0
}

// An Entry is the log entry of a request.
type Entry struct {
	// Kind is 0 for a heartbeat.
	Kind      wire.Kind
	RequestID int64
	// UserID, SessionID and Device are those of the session; they are zero before the login.
	UserID    int64
	SessionID int32
	Device    wire.DeviceType
	IP        netip.Addr
	// Size is the size of the request in bytes, ResponseSize that of the data in the response.
	Size, ResponseSize int
	Code               int32
	Begin              time.Time
}

// A Log writes log entries of requests. A nil Log writes none.
type Log struct {
	logger *slog.Logger
	rates  func() *Rates
}

// New returns a log that calls rates for each request.
func New(logger *slog.Logger, rates func() *Rates) *Log { return &Log{logger, rates} }

// Wants decides whether to log a request of the kind; 0 is a heartbeat. If it returns true, the
// caller logs the request.
func (l *Log) Wants(k wire.Kind) bool {
	if l == nil {
		return false
	}
	r := l.rates()
	rate := r.heartbeat
	if k != 0 {
		rate = r.kinds[k]
	}
	return drawn(rate)
}

// drawn samples at a rate.
func drawn(rate float64) bool { return rate > 0 && (rate >= 1 || rand.Float64() < rate) }

// A Notification is the log entry of a notification.
type Notification struct {
	// Payload is the encoded AppNotification.
	Payload []byte
	// Recipients is the number of users whom the gateway was to reach, Missed the number of those
	// whom it did not, Sessions the number of sessions that got it.
	Recipients, Missed, Sessions int
}

// WriteNotification logs a notification that was passed to its recipients, if it relays a request
// that the settings select.
func (l *Log) WriteNotification(n Notification) {
	if l == nil {
		return
	}
	rates := l.rates().notifications
	if len(rates) == 0 {
		return // The usual case, without decoding.
	}
	var decoded wire.AppNotification
	if proto.Unmarshal(n.Payload, &decoded) != nil || decoded.RelayedRequest == nil {
		return
	}
	kind := wire.KindOf(decoded.RelayedRequest)
	if !drawn(rates[kind]) {
		return
	}
	l.logger.LogAttrs(context.Background(), slog.LevelInfo, "client notification",
		slog.String("type", kind.String()), slog.Int64("requesterId", decoded.GetRequesterId()), slog.Int("size", len(n.Payload)),
		slog.Int("recipients", n.Recipients), slog.Int("missed", n.Missed), slog.Int("sessions", n.Sessions),
	)
}

// Write logs a request after its response.
func (l *Log) Write(e Entry) {
	kind := "HEARTBEAT"
	if e.Kind != 0 {
		kind = e.Kind.String()
	}
	l.logger.LogAttrs(context.Background(), slog.LevelInfo, "client request",
		slog.String("type", kind), slog.Int64("requestId", e.RequestID), slog.Int64("userId", e.UserID), slog.Int64("sessionId", int64(e.SessionID)),
		slog.String("deviceType", e.Device.String()), slog.String("ip", e.IP.String()), slog.Time("begin", e.Begin),
		slog.Int("size", e.Size), slog.Int64("code", int64(e.Code)), slog.Int("responseSize", e.ResponseSize),
		slog.Float64("millis", float64(time.Since(e.Begin).Microseconds())/1000),
	)
}
