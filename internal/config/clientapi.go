// SPDX-License-Identifier: Apache-2.0

package config

import "example.org/app/internal/wire"

// ServiceClientAPI contains the rules about clients' requests to a service.
type ServiceClientAPI struct {
	Logging           RequestLogging `mutable:"true" global:"true" doc:"The client requests that the service that answers them logs; none by default."`
	DisabledEndpoints []string       `mutable:"true" global:"true" enum:"QUERY_CONVERSATIONS,UPDATE_CONVERSATION,UPDATE_TYPING_STATUS,CREATE_MESSAGE,QUERY_MESSAGES,UPDATE_MESSAGE,CREATE_GROUP_MEMBERS,DELETE_GROUP_MEMBERS,QUERY_GROUP_MEMBERS,UPDATE_GROUP_MEMBER,QUERY_USER_PROFILES,QUERY_NEARBY_USERS,QUERY_USER_ONLINE_STATUSES,UPDATE_USER_LOCATION,UPDATE_USER_ONLINE_STATUS,UPDATE_USER,UPDATE_USER_SETTINGS,DELETE_USER_SETTINGS,QUERY_USER_SETTINGS,CREATE_FRIEND_REQUEST,CREATE_RELATIONSHIP_GROUP,CREATE_RELATIONSHIP,DELETE_FRIEND_REQUEST,DELETE_RELATIONSHIP_GROUP,DELETE_RELATIONSHIP,QUERY_FRIEND_REQUESTS,QUERY_RELATED_USER_IDS,QUERY_RELATIONSHIP_GROUPS,QUERY_RELATIONSHIPS,UPDATE_FRIEND_REQUEST,UPDATE_RELATIONSHIP_GROUP,UPDATE_RELATIONSHIP,CREATE_GROUP,DELETE_GROUP,QUERY_GROUPS,QUERY_JOINED_GROUP_IDS,QUERY_JOINED_GROUP_INFOS,UPDATE_GROUP,CREATE_GROUP_BLOCKED_USER,DELETE_GROUP_BLOCKED_USER,QUERY_GROUP_BLOCKED_USER_IDS,QUERY_GROUP_BLOCKED_USER_INFOS,CHECK_GROUP_JOIN_QUESTIONS_ANSWERS,CREATE_GROUP_INVITATION,CREATE_GROUP_JOIN_REQUEST,CREATE_GROUP_JOIN_QUESTIONS,DELETE_GROUP_INVITATION,DELETE_GROUP_JOIN_REQUEST,DELETE_GROUP_JOIN_QUESTIONS,QUERY_GROUP_INVITATIONS,QUERY_GROUP_JOIN_REQUESTS,QUERY_GROUP_JOIN_QUESTIONS,UPDATE_GROUP_INVITATION,UPDATE_GROUP_JOIN_QUESTION,UPDATE_GROUP_JOIN_REQUEST,CREATE_MEETING,DELETE_MEETING,QUERY_MEETINGS,UPDATE_MEETING,UPDATE_MEETING_INVITATION,DELETE_RESOURCE,QUERY_RESOURCE_DOWNLOAD_INFO,QUERY_RESOURCE_UPLOAD_INFO,QUERY_MESSAGE_ATTACHMENT_INFOS,UPDATE_MESSAGE_ATTACHMENT_INFO,DELETE_CONVERSATION_SETTINGS,QUERY_CONVERSATION_SETTINGS,UPDATE_CONVERSATION_SETTINGS,CREATE_MESSAGE_REACTIONS,DELETE_MESSAGE_REACTIONS" doc:"The kinds of requests that are refused, such as CREATE_MEETING."`
}

// GatewayRequestLogging selects which requests and notifications of clients a gateway logs.
type GatewayRequestLogging struct {
	RequestLogging
	NotificationLogging

	HeartbeatSampleRate float64 `default:"0" min:"0" max:"1" doc:"The share of heartbeats that are logged, from 0 to 1."`
}

// NotificationLogging selects which notifications are logged: those that relay requests of the
// chosen categories and kinds. The lists combine like those of RequestLogging.
type NotificationLogging struct {
	IncludedNotificationCategories []LoggedCategory  `default:"[]" doc:"The categories of relayed requests whose notifications are logged. The first matching entry determines the logged share."`
	IncludedNotifications          []LoggedRequest   `default:"[]" doc:"The kinds of relayed requests whose notifications are logged, regardless of their categories."`
	ExcludedNotificationCategories []RequestCategory `doc:"The categories of relayed requests whose notifications are not logged, unless included-notifications names their kind."`
	ExcludedNotificationTypes      []RequestType     `doc:"The kinds of relayed requests whose notifications are never logged."`
}

// RequestLogging selects which requests of clients are logged. See package requestlog for how the
// lists combine.
type RequestLogging struct {
	IncludedRequestCategories []LoggedCategory  `default:"[]" doc:"The categories of requests that are logged. The first matching entry determines the logged share."`
	IncludedRequests          []LoggedRequest   `default:"[]" doc:"The kinds of requests that are logged, regardless of their categories."`
	ExcludedRequestCategories []RequestCategory `doc:"The categories of requests that are not logged, unless included-requests names their kind."`
	ExcludedRequestTypes      []RequestType     `doc:"The kinds of requests that are never logged."`
}

// LoggedCategory is a category of requests that are logged.
type LoggedCategory struct {
	Category   RequestCategory `required:"true" doc:"The category; ALL contains every request."`
	SampleRate float64         `default:"1" min:"0" max:"1" doc:"The share of the requests that are logged, from 0 to 1."`
}

// LoggedRequest is a kind of requests that are logged.
type LoggedRequest struct {
	Type       RequestType `required:"true" doc:"The kind, such as CREATE_MESSAGE."`
	SampleRate float64     `default:"1" min:"0" max:"1" doc:"The share of the requests that are logged, from 0 to 1."`
}

// RequestCategory is a category of requests of clients.
type RequestCategory string

// Options returns the categories.
func (RequestCategory) Options() []string {
	options := make([]string, 0, len(wire.Categories))
	for _, c := range wire.Categories {
		options = append(options, string(c))
	}
	return options
}

// RequestType is a kind of requests of clients.
type RequestType string

// Options returns the kinds.
func (RequestType) Options() []string {
	kinds := wire.Kinds()
	options := make([]string, 0, len(kinds))
	for _, k := range kinds {
		options = append(options, k.String())
	}
	return options
}
