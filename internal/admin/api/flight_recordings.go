// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/recording"
)

const recordingTag = "FlightRecordingController"

type recordingHandlers struct{ recorder *recording.Recorder }

func recordingOperations(r *recording.Recorder) []*admin.Operation {
	h := recordingHandlers{r}
	const path = "/flight-recordings"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryFlightRecordings", Method: http.MethodGet, Path: path, Tag: recordingTag, Permission: permission.FlightRecordingQuery,
			Summary: "Query flight recordings", Description: "Returns the recordings of this node.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "createFlightRecording", Method: http.MethodPost, Path: path, Tag: recordingTag, Permission: permission.FlightRecordingCreate,
			Summary: "Start a flight recording",
			Description: "Starts a recording of this process, at once or after a delay, and returns its id. " +
				"Recordings that run at the same time share what is collected: what one of them wants, all of them get. " +
				"Answers 409 when as many recordings run as may, or when their files have as many bytes as they may.",
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "updateFlightRecordings", Method: http.MethodPut, Path: path, Tag: recordingTag, Permission: permission.FlightRecordingUpdate,
			Summary: "Close flight recordings",
			Description: "Closes running recordings. `app.flight-recorder.closed-recording-retention-period` says how long they are kept: " +
				"with 0 they are removed at once.",
		}, h.close),
		admin.Handle(admin.Operation{
			ID: "deleteFlightRecordings", Method: http.MethodDelete, Path: path, Tag: recordingTag, Permission: permission.FlightRecordingDelete,
			Summary: "Delete flight recordings", Description: "Closes recordings and removes them with their files.",
		}, h.delete),
		admin.Handle(admin.Operation{
			ID: "queryFlightRecordingFile", Method: http.MethodGet, Path: path + "/jfr", Tag: recordingTag, Permission: permission.FlightRecordingQuery,
			Summary: "Download a flight recording",
			Description: "Sends a recording in the format of the JDK Flight Recorder, which `jfr` and JDK Mission Control read. " +
				"That of a running recording ends now; with `close=true` it is closed first, and its file is kept until it is deleted.",
			Errors: []apierr.Code{apierr.ResourceNotFound, apierr.DumpJFRInIllegalStatus},
			Media:  &admin.Media{ContentType: "application/octet-stream", Description: "The file `<id>.jfr`."},
		}, h.download),
		admin.Handle(admin.Operation{
			ID: "queryFlightRecordingProfile", Method: http.MethodGet, Path: path + "/pprof", Tag: recordingTag, Permission: permission.FlightRecordingQuery,
			Summary: "Download a profile of a flight recording",
			Description: "Sends a profile in the format of pprof, which `go tool pprof` reads. " +
				"`cpu`, `mutex` and `block` hold what happened during the recording; `heap` and `goroutine` are how things were at its end, or are now.",
			Errors: []apierr.Code{apierr.ResourceNotFound, apierr.DumpJFRInIllegalStatus},
			Media:  &admin.Media{ContentType: "application/octet-stream", Description: "The file `<id>.<kind>.pprof`."},
		}, h.profile),
		admin.Handle(admin.Operation{
			ID: "queryFlightRecordingTrace", Method: http.MethodGet, Path: path + "/trace", Tag: recordingTag, Permission: permission.FlightRecordingQuery,
			Summary: "Download the execution trace of a flight recording",
			Description: "Sends the execution trace of the Go runtime, which `go tool trace` reads: the last seconds of the recording, or those up to now. " +
				"A recording has one if its `customSettings` have `go.ExecutionTrace#enabled`.",
			Errors: []apierr.Code{apierr.ResourceNotFound, apierr.DumpJFRInIllegalStatus},
			Media:  &admin.Media{ContentType: "application/octet-stream", Description: "The file `<id>.trace`."},
		}, h.trace),
	}
}

// FlightRecording is a recording as the interface returns it.
type FlightRecording struct {
	ID          int64       `json:"id" doc:"ID of the recording on its node." example:"1"`
	State       string      `json:"state" enum:"NEW,DELAYED,RUNNING,STOPPED,CLOSED" doc:"State." example:"RUNNING"`
	StartDate   *admin.Date `json:"startDate,omitempty" doc:"When it started; absent before."`
	CloseDate   *admin.Date `json:"closeDate,omitempty" doc:"When it stopped or was closed; absent while it runs."`
	Description string      `json:"description,omitempty" doc:"Description given by its creator." example:"slow logins"`
}

func newFlightRecording(i recording.Info) FlightRecording {
	date := func(t time.Time) *admin.Date {
		if t.IsZero() {
			return nil
		}
		return new(admin.NewDate(t))
	}
	return FlightRecording{ID: i.ID, State: string(i.State), StartDate: date(i.Start), CloseDate: date(i.Close), Description: i.Description}
}

type recordingQuery struct {
	IDs []int64 `query:"ids" uniqueItems:"true" doc:"IDs of recordings; absent: all." example:"[1]"`
}

func (h recordingHandlers) query(_ context.Context, in *recordingQuery) ([]FlightRecording, error) {
	return resource.Convert(h.recorder.List(in.IDs), newFlightRecording), nil
}

// flightRecordingCreation is the body of POST /flight-recordings.
type flightRecordingCreation struct {
	DurationSeconds int32             `json:"durationSeconds,omitempty" minimum:"0" doc:"Number of seconds after which it stops automatically; 0 or absent: never." example:"60"`
	MaxAgeSeconds   int32             `json:"maxAgeSeconds,omitempty" minimum:"0" doc:"Number of seconds that it covers; 0 or absent: since its start." example:"3600"`
	MaxSizeBytes    int32             `json:"maxSizeBytes,omitempty" minimum:"0" doc:"Maximum size in bytes; beyond it the oldest chunks are dropped; 0 or absent: the limit of all recordings." example:"100000000"`
	DelaySeconds    int32             `json:"delaySeconds,omitempty" minimum:"0" doc:"Number of seconds after which it starts; 0 or absent: immediately." example:"0"`
	CustomSettings  map[string]string `json:"customSettings,omitempty" doc:"Settings of events, such as app.SqlTransaction#threshold, and template, which is default or profile."`
	Description     string            `json:"description,omitempty" maxLength:"1000" doc:"Free text." example:"slow logins"`
}

type flightRecordingCreationInput struct {
	Body *flightRecordingCreation
}

func (h recordingHandlers) create(_ context.Context, in *flightRecordingCreationInput) (int64, error) {
	var b flightRecordingCreation
	if in.Body != nil {
		b = *in.Body
	}
	seconds := func(n int32) time.Duration { return time.Duration(n) * time.Second }
	return h.recorder.Create(recording.Spec{
		Description: b.Description, Delay: seconds(b.DelaySeconds), Duration: seconds(b.DurationSeconds),
		MaxAge: seconds(b.MaxAgeSeconds), MaxSize: int64(b.MaxSizeBytes), Settings: b.CustomSettings,
	})
}

type recordingClosing struct {
	IDs []int64 `query:"ids" uniqueItems:"true" selector:"all" doc:"IDs of recordings; absent: all." example:"[1]"`
}

func (h recordingHandlers) close(_ context.Context, in *recordingClosing) (admin.UpdateResult, error) {
	matched, closed := h.recorder.Close(in.IDs)
	return admin.UpdateResult{MatchedCount: int64(matched), ModifiedCount: int64(closed)}, nil
}

type recordingDeletion struct {
	IDs []int64 `query:"ids" uniqueItems:"true" selector:"all" doc:"IDs of recordings; absent: all, which must be allowed." example:"[1]"`
}

func (h recordingHandlers) delete(_ context.Context, in *recordingDeletion) (admin.DeleteResult, error) {
	return admin.DeleteResult{DeletedCount: int64(h.recorder.Delete(in.IDs))}, nil
}

type recordingDownload struct {
	ID    int64 `query:"id" required:"true" doc:"ID of the recording." example:"1"`
	Close bool  `query:"close" default:"false" doc:"Whether to close the recording first."`
}

func (h recordingHandlers) download(_ context.Context, in *recordingDownload) (*admin.Download, error) {
	content, err := h.recorder.Open(in.ID, in.Close)
	return newRecordingDownload(fmt.Sprintf("%d.jfr", in.ID), content, err)
}

type recordingProfile struct {
	ID   int64  `query:"id" required:"true" doc:"ID of the recording." example:"1"`
	Kind string `query:"kind" required:"true" enum:"cpu,heap,mutex,block,goroutine" doc:"Which profile." example:"cpu"`
}

func (h recordingHandlers) profile(_ context.Context, in *recordingProfile) (*admin.Download, error) {
	content, err := h.recorder.Profile(in.ID, recording.ProfileKind(in.Kind))
	return newRecordingDownload(fmt.Sprintf("%d.%s.pprof", in.ID, in.Kind), content, err)
}

type recordingTrace struct {
	ID int64 `query:"id" required:"true" doc:"ID of the recording." example:"1"`
}

func (h recordingHandlers) trace(_ context.Context, in *recordingTrace) (*admin.Download, error) {
	content, err := h.recorder.Trace(in.ID)
	return newRecordingDownload(fmt.Sprintf("%d.trace", in.ID), content, err)
}

func newRecordingDownload(name string, content *recording.Content, err error) (*admin.Download, error) {
	if err != nil {
		return nil, err
	}
	return &admin.Download{Name: name, ContentType: "application/octet-stream", Size: content.Size, Content: content}, nil
}
