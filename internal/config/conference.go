// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// Conference contains the rules about meetings.
type Conference struct {
	Meeting Meeting `doc:"What meetings may be."`
}

// Meeting contains the rules about one meeting.
type Meeting struct {
	ID         MeetingID         `doc:"The numbers of meetings."`
	Name       MeetingName       `doc:"The names of meetings."`
	Intro      MeetingIntro      `doc:"What is said of meetings."`
	Password   MeetingPassword   `doc:"The passwords of meetings."`
	Quota      MeetingQuota      `doc:"Limits on the number of meetings."`
	Scheduling MeetingScheduling `doc:"When meetings may be."`

	RetentionPeriodHours       int32  `default:"720" min:"0" doc:"The time for which a meeting is kept after it ended, was cancelled or expired; 0 means forever."`
	ExpiredMeetingsCleanupCron string `default:"0 0 3 * * *" required:"true" mutable:"false" global:"false" doc:"The times at which meetings past their retention are deleted: second, minute, hour, day of month, month, day of week."`
}

// MeetingIDType is the format of meeting ids.
type MeetingIDType string

// The types of ids of meetings.
const (
	MeetingDigits9  MeetingIDType = "DIGIT_9"
	MeetingDigits10 MeetingIDType = "DIGIT_10"
)

// MeetingID configures the ids of meetings.
type MeetingID struct {
	Type MeetingIDType `default:"DIGIT_9" enum:"DIGIT_9,DIGIT_10" doc:"The number of random digits in the id of a new meeting."`
}

// MeetingName holds the limits of names.
type MeetingName struct {
	MinLength int32 `default:"0" min:"0" doc:"The minimum number of characters of a name; a value is required if it is greater than 0."`
	MaxLength int32 `default:"20" min:"0" doc:"The maximum number of characters of a name; 0 means no limit."`
}

// Validate checks that the limits allow a length.
func (n MeetingName) Validate() error { return validateLengths(n.MinLength, n.MaxLength) }

// MeetingIntro holds the limits of introductions.
type MeetingIntro struct {
	MinLength int32 `default:"0" min:"0" doc:"The minimum number of characters of an introduction; a value is required if it is greater than 0."`
	MaxLength int32 `default:"200" min:"0" doc:"The maximum number of characters of an introduction; 0 means no limit."`
}

// Validate checks that the limits allow a length.
func (i MeetingIntro) Validate() error { return validateLengths(i.MinLength, i.MaxLength) }

// MeetingPasswordPolicy defines the origin of meeting passwords.
type MeetingPasswordPolicy string

// The policies.
const (
	MeetingPasswordRequired    MeetingPasswordPolicy = "USER_INPUT_REQUIRED"
	MeetingPasswordOptional    MeetingPasswordPolicy = "USER_INPUT_OPTIONAL"
	MeetingPasswordOrGenerated MeetingPasswordPolicy = "USER_INPUT_OR_SYSTEM_GENERATED"
	MeetingPasswordGenerated   MeetingPasswordPolicy = "SYSTEM_GENERATED"
	MeetingPasswordProhibited  MeetingPasswordPolicy = "PROHIBITED"
)

// MeetingPasswordType is the character set of meeting passwords.
type MeetingPasswordType string

// The types of passwords.
const (
	MeetingPasswordNumeric      MeetingPasswordType = "NUMERIC"
	MeetingPasswordAlphabetic   MeetingPasswordType = "ALPHABETIC"
	MeetingPasswordAlphanumeric MeetingPasswordType = "ALPHANUMERIC"
)

// MeetingPassword holds the rules about passwords of meetings.
type MeetingPassword struct {
	Policy    MeetingPasswordPolicy `default:"PROHIBITED" enum:"USER_INPUT_REQUIRED,USER_INPUT_OPTIONAL,USER_INPUT_OR_SYSTEM_GENERATED,SYSTEM_GENERATED,PROHIBITED" doc:"Whether creators set the password of a meeting, the server generates it, or meetings have no password."`
	Type      MeetingPasswordType   `default:"NUMERIC" enum:"NUMERIC,ALPHABETIC,ALPHANUMERIC" doc:"Whether a password consists of the digits 0 to 9, the letters A to Z and a to z, or both."`
	MinLength int32                 `default:"6" min:"1" doc:"The minimum number of characters of a password. Generated passwords have this length."`
	MaxLength int32                 `default:"6" min:"1" max:"256" doc:"The maximum number of characters of a password."`
}

// Validate checks that the limits allow a length.
func (p MeetingPassword) Validate() error { return validateLengths(p.MinLength, p.MaxLength) }

// MeetingQuota limits the number of meetings.
type MeetingQuota struct {
	MaxActiveMeetingCountPerUser int32 `default:"1" min:"0" doc:"The maximum number of active meetings of a user, if the plugin that provides them can count them; 0 means no limit."`
}

// MeetingScheduling limits the dates of meetings.
type MeetingScheduling struct {
	MaxAllowedStartDateOffsetSeconds int32 `default:"0" min:"0" doc:"How far in the future a meeting may begin; 0 means that all begin immediately."`
	AllowCancel                      bool  `default:"true" doc:"Whether creators may cancel their meetings."`
	ExpireAfterSeconds               int32 `default:"86400" min:"0" doc:"The time after its beginning for which a meeting can be joined if its end was not reported; 0 means forever."`
}

// validateLengths checks that the limits allow a length.
func validateLengths(least, most int32) error {
	if most > 0 && least > most {
		return property.Violation("min-length", fmt.Sprintf("must not be greater than max-length, which is %d", most))
	}
	return nil
}
