// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// Conference holds the rules about meetings.
type Conference struct {
	Meeting Meeting `doc:"What meetings may be."`
}

// Meeting holds the rules about one meeting.
type Meeting struct {
	ID         MeetingID         `doc:"The numbers of meetings."`
	Name       MeetingName       `doc:"The names of meetings."`
	Intro      MeetingIntro      `doc:"What is said of meetings."`
	Password   MeetingPassword   `doc:"The passwords of meetings."`
	Quota      MeetingQuota      `doc:"How many meetings there may be."`
	Scheduling MeetingScheduling `doc:"When meetings may be."`

	RetentionPeriodHours       int32  `default:"720" min:"0" doc:"For how long a meeting is kept after it ended, was cancelled or expired; 0 means for ever."`
	ExpiredMeetingsCleanupCron string `default:"0 0 3 * * *" required:"true" mutable:"false" global:"false" doc:"When meetings that are kept no longer are deleted: second, minute, hour, day of month, month, day of week."`
}

// MeetingIDType says what the ids of meetings look like.
type MeetingIDType string

// The types of ids of meetings.
const (
	MeetingDigits9  MeetingIDType = "DIGIT_9"
	MeetingDigits10 MeetingIDType = "DIGIT_10"
)

// MeetingID says what the ids of meetings look like.
type MeetingID struct {
	Type MeetingIDType `default:"DIGIT_9" enum:"DIGIT_9,DIGIT_10" doc:"How many random digits the id of a new meeting has."`
}

// MeetingName holds the limits of names.
type MeetingName struct {
	MinLength int32 `default:"0" min:"0" doc:"The least number of characters of a name; one is required if it is greater than 0."`
	MaxLength int32 `default:"20" min:"0" doc:"The greatest number of characters of a name; 0 means without limit."`
}

// Validate checks that there is a length that a name may have.
func (n MeetingName) Validate() error { return validateLengths(n.MinLength, n.MaxLength) }

// MeetingIntro holds the limits of introductions.
type MeetingIntro struct {
	MinLength int32 `default:"0" min:"0" doc:"The least number of characters of an introduction; one is required if it is greater than 0."`
	MaxLength int32 `default:"200" min:"0" doc:"The greatest number of characters of an introduction; 0 means without limit."`
}

// Validate checks that there is a length that an introduction may have.
func (i MeetingIntro) Validate() error { return validateLengths(i.MinLength, i.MaxLength) }

// MeetingPasswordPolicy says where the passwords of meetings come from.
type MeetingPasswordPolicy string

// The policies.
const (
	MeetingPasswordRequired    MeetingPasswordPolicy = "USER_INPUT_REQUIRED"
	MeetingPasswordOptional    MeetingPasswordPolicy = "USER_INPUT_OPTIONAL"
	MeetingPasswordOrGenerated MeetingPasswordPolicy = "USER_INPUT_OR_SYSTEM_GENERATED"
	MeetingPasswordGenerated   MeetingPasswordPolicy = "SYSTEM_GENERATED"
	MeetingPasswordProhibited  MeetingPasswordPolicy = "PROHIBITED"
)

// MeetingPasswordType says what passwords of meetings are made of.
type MeetingPasswordType string

// The types of passwords.
const (
	MeetingPasswordNumeric      MeetingPasswordType = "NUMERIC"
	MeetingPasswordAlphabetic   MeetingPasswordType = "ALPHABETIC"
	MeetingPasswordAlphanumeric MeetingPasswordType = "ALPHANUMERIC"
)

// MeetingPassword holds the rules about passwords of meetings.
type MeetingPassword struct {
	Policy    MeetingPasswordPolicy `default:"PROHIBITED" enum:"USER_INPUT_REQUIRED,USER_INPUT_OPTIONAL,USER_INPUT_OR_SYSTEM_GENERATED,SYSTEM_GENERATED,PROHIBITED" doc:"Whether creators give their meetings a password, the server does, or there are none."`
	Type      MeetingPasswordType   `default:"NUMERIC" enum:"NUMERIC,ALPHABETIC,ALPHANUMERIC" doc:"Whether a password consists of the digits 0 to 9, the letters A to Z and a to z, or both."`
	MinLength int32                 `default:"6" min:"1" doc:"The least number of characters of a password. Those that the server makes have so many."`
	MaxLength int32                 `default:"6" min:"1" max:"256" doc:"The greatest number of characters of a password."`
}

// Validate checks that there is a length that a password may have.
func (p MeetingPassword) Validate() error { return validateLengths(p.MinLength, p.MaxLength) }

// MeetingQuota holds the limits of how many meetings there may be.
type MeetingQuota struct {
	MaxActiveMeetingCountPerUser int32 `default:"1" min:"0" doc:"How many meetings of a user may be under way at a time, as far as the plugin that holds them can count; 0 means without limit."`
}

// MeetingScheduling says when meetings may be.
type MeetingScheduling struct {
	MaxAllowedStartDateOffsetSeconds int32 `default:"0" min:"0" doc:"How far ahead a meeting may be created; 0 means that all begin at once."`
	AllowCancel                      bool  `default:"true" doc:"Whether creators may cancel their meetings."`
	ExpireAfterSeconds               int32 `default:"86400" min:"0" doc:"For how long after its beginning a meeting of which nobody said that it ended can be entered; 0 means for ever."`
}

// validateLengths checks that there is a length within the limits of a text.
func validateLengths(least, most int32) error {
	if most > 0 && least > most {
		return property.Violation("min-length", fmt.Sprintf("must not be greater than max-length, which is %d", most))
	}
	return nil
}
