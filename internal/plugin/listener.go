// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"example.org/app/internal/apierr"
)

// A Listener is a function of an extension that receives a function of the server for reporting
// events. A host calls it once, right after the extension was started, whatever other hooks run
// later; its errors are logged and do not affect the start.
//
// It is a convenience: every event can be reported by a method of Server as well. A host whose
// language has no function values may omit listeners.
type Listener struct {
	// Name is the name of the function, whose argument is a function that takes an event.
	Name, Doc string
	// Event is the type of the event, a struct like the arguments of methods.
	Event reflect.Type
	// Tell passes an event, a value of the type, to the server on behalf of a plugin.
	Tell func(ctx context.Context, s Server, by Descriptor, event any) error
}

// MeetingEnded allows a ConferenceServiceProvider to report the end of a meeting.
var MeetingEnded = listener("addMeetingEndedEventListener",
	"Called once, right after the extension was started, with a function that the extension calls when a meeting has ended. In JavaScript, app.meetings.ended does the same.",
	func(ctx context.Context, s Server, by Descriptor, e MeetingEndedEvent) error {
		if e.MeetingID == 0 {
			return apierr.New(apierr.IllegalArgument, "meetingId: is required to say which meeting has ended")
		}
		at := time.Now()
		if e.Timestamp != nil {
			at = *e.Timestamp
		}
		return s.MeetingEnded(ctx, by, e.MeetingID, at)
	})

// listener declares a listener of events of the type E.
func listener[E any](name, doc string, tell func(ctx context.Context, s Server, by Descriptor, event E) error) *Listener {
	return &Listener{
		Name: name, Doc: doc, Event: reflect.TypeFor[E](),
		Tell: func(ctx context.Context, s Server, by Descriptor, event any) error {
			e, ok := event.(E)
			if !ok {
				return fmt.Errorf("tell of an event by %s: %T is no event of it", name, event)
			}
			return tell(ctx, s, by, e)
		},
	}
}
