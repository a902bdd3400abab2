// SPDX-License-Identifier: Apache-2.0

package plugin

import "example.org/app/internal/wire"

// Parameters that several methods of StorageServiceProvider have.
var (
	storageRequester  = param[int64]("requesterId", "Who asks.")
	storageGroup      = param[int64]("groupId", "The group.")
	storageUser       = param[int64]("userId", "The user.")
	storageName       = optional[*string]("resourceName", "The name of the file.")
	storageMediaType  = optional[*string]("resourceMediaType", "The media type of the file.")
	storageIDNum      = optional[*int64]("idNum", "The id of the attachment, if it is a number.")
	storageIDStr      = optional[*string]("idStr", "The id of the attachment, if it is a text.")
	storageAttributes = param[[]*wire.Value]("customAttributes", "The custom attributes of the request.")
	storageDates      = optional[*DateRange]("creationDateRange", "When it was stored.")
	storageUserIDs    = param[[]int64]("userIds", "The users; none are all.")
	storageGroupIDs   = param[[]int64]("groupIds", "The groups; none are all.")
)

// The methods of StorageServiceProvider. Those that answer with a map say where and how to upload
// or download: url is the address, id the id of what is uploaded, and everything else a field of
// the upload's form.
var (
	DeleteUserProfilePicture = method[Void](Only, Refuse, "deleteUserProfilePicture", "Deletes the picture of the requester.",
		storageRequester, storageAttributes)
	QueryUserProfilePictureUploadInfo = method[map[string]string](Only, Refuse, "queryUserProfilePictureUploadInfo", "Says how to upload a picture of the requester.",
		storageRequester, storageName, storageMediaType, storageAttributes)
	QueryUserProfilePictureDownloadInfo = method[map[string]string](Only, Refuse, "queryUserProfilePictureDownloadInfo", "Says how to download the picture of a user.",
		storageRequester, storageUser, storageAttributes)
	DeleteGroupProfilePicture = method[Void](Only, Refuse, "deleteGroupProfilePicture", "Deletes the picture of a group.",
		storageRequester, storageGroup, storageAttributes)
	QueryGroupProfilePictureUploadInfo = method[map[string]string](Only, Refuse, "queryGroupProfilePictureUploadInfo", "Says how to upload a picture of a group.",
		storageRequester, storageGroup, storageName, storageMediaType, storageAttributes)
	QueryGroupProfilePictureDownloadInfo = method[map[string]string](Only, Refuse, "queryGroupProfilePictureDownloadInfo", "Says how to download the picture of a group.",
		storageRequester, storageGroup, storageAttributes)
	DeleteMessageAttachment = method[Void](Only, Refuse, "deleteMessageAttachment", "Deletes an attachment.",
		storageRequester, storageIDNum, storageIDStr, storageAttributes)
	ShareMessageAttachmentWithUser = method[Void](Only, Refuse, "shareMessageAttachmentWithUser", "Lets a user download an attachment.",
		storageRequester, storageIDNum, storageIDStr, storageUser)
	ShareMessageAttachmentWithGroup = method[Void](Only, Refuse, "shareMessageAttachmentWithGroup", "Lets the members of a group download an attachment.",
		storageRequester, storageIDNum, storageIDStr, storageGroup)
	UnshareMessageAttachmentWithUser = method[Void](Only, Refuse, "unshareMessageAttachmentWithUser", "Lets a user no longer download an attachment.",
		storageRequester, storageIDNum, storageIDStr, storageUser)
	UnshareMessageAttachmentWithGroup = method[Void](Only, Refuse, "unshareMessageAttachmentWithGroup", "Lets the members of a group no longer download an attachment.",
		storageRequester, storageIDNum, storageIDStr, storageGroup)
	QueryMessageAttachmentUploadInfo = method[map[string]string](Only, Refuse, "queryMessageAttachmentUploadInfo", "Says how to upload an attachment that is for no conversation yet.",
		storageRequester, storageName, storageMediaType, storageAttributes)
	QueryMessageAttachmentUploadInfoInPrivateConversation = method[map[string]string](Only, Refuse, "queryMessageAttachmentUploadInfoInPrivateConversation", "Says how to upload an attachment for a user.",
		storageRequester, storageUser, storageName, storageMediaType, storageAttributes)
	QueryMessageAttachmentUploadInfoInGroupConversation = method[map[string]string](Only, Refuse, "queryMessageAttachmentUploadInfoInGroupConversation", "Says how to upload an attachment for a group.",
		storageRequester, storageGroup, storageName, storageMediaType, storageAttributes)
	QueryMessageAttachmentDownloadInfo = method[map[string]string](Only, Refuse, "queryMessageAttachmentDownloadInfo", "Says how to download an attachment.",
		storageRequester, storageIDNum, storageIDStr, storageAttributes)
	QueryMessageAttachmentInfosUploadedByRequester = method[[]StorageResourceInfo](Only, Refuse, "queryMessageAttachmentInfosUploadedByRequester", "Lists what the requester uploaded.",
		storageRequester, storageDates)
	QueryMessageAttachmentInfosInPrivateConversations = method[[]StorageResourceInfo](Only, Refuse, "queryMessageAttachmentInfosInPrivateConversations", "Lists the attachments in private conversations.",
		storageRequester, storageUserIDs, storageDates, optional[*bool]("areSharedByRequester", "Whether the requester shared them; nothing is either."))
	QueryMessageAttachmentInfosInGroupConversations = method[[]StorageResourceInfo](Only, Refuse, "queryMessageAttachmentInfosInGroupConversations", "Lists the attachments in group conversations.",
		storageRequester, storageGroupIDs, storageUserIDs, storageDates)
)

var storageMethods = []*Method{
	DeleteUserProfilePicture, QueryUserProfilePictureUploadInfo, QueryUserProfilePictureDownloadInfo,
	DeleteGroupProfilePicture, QueryGroupProfilePictureUploadInfo, QueryGroupProfilePictureDownloadInfo,
	DeleteMessageAttachment, ShareMessageAttachmentWithUser, ShareMessageAttachmentWithGroup,
	UnshareMessageAttachmentWithUser, UnshareMessageAttachmentWithGroup,
	QueryMessageAttachmentUploadInfo, QueryMessageAttachmentUploadInfoInPrivateConversation, QueryMessageAttachmentUploadInfoInGroupConversation,
	QueryMessageAttachmentDownloadInfo, QueryMessageAttachmentInfosUploadedByRequester,
	QueryMessageAttachmentInfosInPrivateConversations, QueryMessageAttachmentInfosInGroupConversations,
}
