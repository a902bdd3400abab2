// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/metrics"
)

const metricTag = "MetricsController"

type metricHandlers struct{ registry *metrics.Registry }

func metricOperations(c Common) []*admin.Operation {
	h := metricHandlers{c.Metrics}
	op := func(id, path, summary, description string, media *admin.Media) admin.Operation {
		return admin.Operation{
			ID: id, Method: http.MethodGet, Path: path, Tag: metricTag, Access: admin.AnyAdmin, Open: c.MetricsOpenTo,
			Summary: summary, Description: description, Media: media,
		}
	}
	return []*admin.Operation{
		admin.Handle(op("queryMetrics", "/metrics", "Query metrics",
			"Returns metrics with their current values. A meter is returned if it carries all of the given tags.", nil), h.query),
		admin.Handle(op("queryMetricNames", "/metrics/names", "List the names of the metrics",
			"Lists in order the names of the metrics that `GET /metrics` returns now.", nil), h.names),
		admin.Handle(op("queryMetricsAsCsv", "/metrics/csv", "Download metrics as CSV",
			"Sends one line for each measurement.",
			&admin.Media{ContentType: "text/csv", Description: "The file `app-metrics.csv`.", Example: "Name,Tags,Type,Value,Unit\nsystem.cpu.count,,GAUGE,2,"}), h.csv),
		admin.Handle(op("queryMetricsForPrometheus", "/metrics/prometheus", "Query metrics for Prometheus",
			"Sends the metrics in the OpenMetrics text format.",
			&admin.Media{ContentType: "text/plain", Description: "OpenMetrics text.", Example: "# TYPE system_cpu_count gauge\nsystem_cpu_count 2.0\n# EOF\n"}), h.prometheus),
	}
}

type metricQuery struct {
	Names               []string `query:"names" uniqueItems:"true" doc:"Names of metrics; absent: all." example:"[\"system.cpu.usage\",\"disk.free\"]"`
	Tags                []string `query:"tags" doc:"Tags of the form key:value; they need names." example:"[\"area:heap\"]"`
	ReturnDescription   bool     `query:"returnDescription" default:"false" doc:"Whether to return descriptions."`
	ReturnAvailableTags bool     `query:"returnAvailableTags" default:"false" doc:"Whether to return all tags that occur."`
}

// Metric is a metric as the interface returns it.
type Metric struct {
	Name          string              `json:"name" doc:"Name of the metric." example:"system.cpu.usage"`
	Description   string              `json:"description,omitempty" doc:"What it measures; on request." example:"Share of the processors in use."`
	BaseUnit      string              `json:"baseUnit,omitempty" doc:"Unit of the values, if known." example:"bytes"`
	Measurements  []Measurement       `json:"measurements" doc:"One entry for each combination of tags."`
	AvailableTags map[string][]string `json:"availableTags,omitzero" doc:"Tags and their values; on request."`
}

// Measurement is what one meter of a metric measured.
type Measurement struct {
	Tags         []string               `json:"tags" doc:"Tags of the form key:value." example:"[\"area:heap\"]"`
	Measurements map[string]admin.Float `json:"measurements" doc:"Values by statistic: value, count, total, max."`
}

func (h metricHandlers) query(_ context.Context, in *metricQuery) ([]Metric, error) {
	if len(in.Tags) > 0 && len(in.Names) == 0 {
		return nil, apierr.New(apierr.IllegalArgument, "parameter \"tags\": needs the parameter \"names\"")
	}
	tags := make([]metrics.Tag, len(in.Tags))
	for i, t := range in.Tags {
		var err error
		if tags[i], err = metrics.ParseTag(t); err != nil {
			return nil, apierr.New(apierr.IllegalArgument, "parameter \"tags\": %q must have the form key:value", t)
		}
	}
	found, err := h.registry.Snapshot(in.Names)
	if err != nil {
		return nil, err
	}
	var result []Metric
	for _, m := range found {
		if m = m.Match(tags); len(m.Meters) > 0 {
			result = append(result, in.describe(m))
		}
	}
	return result, nil
}

func (in *metricQuery) describe(m metrics.Metric) Metric {
	out := Metric{Name: m.Name, BaseUnit: m.BaseUnit, Measurements: make([]Measurement, len(m.Meters))}
	if in.ReturnDescription {
		out.Description = m.Description
	}
	if in.ReturnAvailableTags {
		out.AvailableTags = m.AvailableTags()
	}
	for i, meter := range m.Meters {
		out.Measurements[i] = Measurement{Tags: make([]string, len(meter.Tags)), Measurements: map[string]admin.Float{}}
		for j, t := range meter.Tags {
			out.Measurements[i].Tags[j] = t.String()
		}
		for _, v := range meter.Values {
			out.Measurements[i].Measurements[v.Statistic] = admin.Float(v.Value)
		}
	}
	return out
}

func (h metricHandlers) names(context.Context, *admin.NoInput) ([]string, error) {
	found, err := h.registry.Snapshot(nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range found {
		if len(m.Meters) > 0 {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

type metricCSV struct {
	Names []string `query:"names" required:"true" uniqueItems:"true" doc:"Names of metrics." example:"[\"system.cpu.usage\",\"disk.free\"]"`
}

func (h metricHandlers) csv(_ context.Context, in *metricCSV) (*admin.Download, error) {
	found, err := h.registry.Snapshot(in.Names)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := metrics.WriteCSV(&b, found); err != nil {
		return nil, err
	}
	return &admin.Download{Name: "app-metrics.csv", ContentType: "text/csv; charset=UTF-8", Size: int64(b.Len()), Content: io.NopCloser(&b)}, nil
}

type metricText struct {
	Names []string `query:"names" uniqueItems:"true" doc:"Names as they stand in the text, such as system_cpu_usage; absent: all." example:"[\"system_cpu_usage\"]"`
}

func (h metricHandlers) prometheus(_ context.Context, in *metricText) (*admin.Raw, error) {
	var b bytes.Buffer
	if err := h.registry.WritePrometheus(&b, in.Names); err != nil {
		return nil, err
	}
	return &admin.Raw{ContentType: "text/plain; charset=UTF-8", Body: b.Bytes()}, nil
}
