// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// User holds the rules about users and what they know of each other.
type User struct {
	ActivateUserWhenAdded       bool          `default:"true" doc:"Whether a new user is active when its creator says nothing of it."`
	DeleteUserLogically         bool          `default:"true" doc:"Whether a deleted user is kept with a deletion date when the caller says nothing of it."`
	DeleteTwoSidedRelationships bool          `default:"false" doc:"Whether a user who ends a relationship ends the other side's as well, unless the other has blocked the user."`
	RespondOfflineIfInvisible   bool          `default:"false" doc:"Whether others are told that an invisible user is offline, instead of invisible."`
	Info                        UserInfo      `doc:"What users say of themselves."`
	FriendRequest               FriendRequest `doc:"Requests of users to become related to others."`
	Settings                    Settings      `doc:"What users keep on the server for the programs that they use."`
}

// UserInfo holds the limits of what users say of themselves.
type UserInfo struct {
	MinPasswordLength       int32 `default:"-1" min:"-1" doc:"The least number of characters of a password; -1 means that a user need not have one."`
	MaxPasswordLength       int32 `default:"16" min:"0" doc:"The greatest number of characters of a password; 0 means without limit."`
	MaxNameLength           int32 `default:"20" min:"0" doc:"The greatest number of characters of a name; 0 means without limit."`
	MaxIntroLength          int32 `default:"100" min:"0" doc:"The greatest number of characters of an introduction; 0 means without limit."`
	MaxProfilePictureLength int32 `default:"100" min:"0" doc:"The greatest number of characters of the place of a profile picture; 0 means without limit."`

	UserDefinedAttributes UserDefinedAttributes `doc:"What users say of themselves beyond that."`
}

// Validate checks that there is a length that a password may have.
func (u UserInfo) Validate() error {
	if u.MaxPasswordLength > 0 && u.MinPasswordLength > u.MaxPasswordLength {
		return property.Violation("min-password-length", fmt.Sprintf("must not be greater than max-password-length, which is %d", u.MaxPasswordLength))
	}
	return nil
}

// FriendRequest holds the rules about requests of users to become related to
// others.
type FriendRequest struct {
	MaxContentLength                                int32 `default:"200" min:"0" doc:"The greatest number of characters of a request; 0 means without limit."`
	MaxResponseReasonLength                         int32 `default:"200" min:"0" doc:"The greatest number of characters of the reason of an answer; 0 means without limit."`
	FriendRequestExpireAfterSeconds                 int32 `default:"2592000" min:"0" doc:"How long a request can be answered; 0 means for ever."`
	AllowSendRequestAfterDeclinedOrIgnoredOrExpired bool  `default:"false" doc:"Whether a user may ask again somebody who declined, ignored or did not answer."`
	AllowRecallPendingFriendRequestBySender         bool  `default:"false" doc:"Whether a user may take back a request that is not answered yet."`
	DeleteExpiredRequestsWhenCronTriggered          bool  `default:"false" doc:"Whether requests that expired are deleted at the times of the clean-up."`

	ExpiredUserFriendRequestsCleanupCron string `default:"0 0 2 * * *" required:"true" mutable:"false" global:"false" doc:"When expired requests are deleted: second, minute, hour, day of month, month, day of week."`
}
