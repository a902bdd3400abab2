// SPDX-License-Identifier: Apache-2.0

const empty = (v) => v === undefined || v === null || v === ''
  || (typeof v === 'object' && !(v instanceof Date) && Object.keys(v).length === 0);

const show = (v) => {
  if (v === undefined || v === null) return '-';
  if (v instanceof Date) return String(v.getTime());
  if (Array.isArray(v)) return `[${v.map(show).join(',')}]`;
  if (typeof v === 'object') {
    return `{${Object.keys(v).sort().filter((k) => !empty(v[k])).map((k) => `${k}=${show(v[k])}`).join(',')}}`;
  }
  return String(v);
};

const note = async (method, ...values) => {
  const text = values.map(show).join('|');
  await app.storage.set(method, text);
  return text;
};

const seen = async (...values) => ({ seen: await note(...values) });

const infos = (requester) => [
  { idNum: requester, idStr: '👋', name: '👋', mediaType: '', uploaderId: requester, creationDate: new Date(-1) },
  { name: 'n', mediaType: 'm', uploaderId: '0', creationDate: new Date(0) },
];

class Gate extends AppExtension {
  getExtensionPoints() {
    return ['AdminActionHandler', 'UserAuthenticator', 'im.app.gateway.infra.plugin.extension.UserOnlineStatusChangeHandler', 'NotificationHandler'];
  }

  async handleAdminAction(action) { await note('handleAdminAction', action); }

  async authenticate(info) {
    await note('authenticate', info);
    return { yes: true, no: false }[info.password];
  }

  async goOnline(sessions, session) { await note('goOnline', sessions, session); }

  async goOffline(sessions, reason) { await note('goOffline', sessions, reason); }

  async handle(notification, recipients, offline) {
    await note('handle', recipients, offline);
    if (notification.relayedRequest) await app.notify({ recipients: [...recipients, ...offline], notification: notification.relayedRequest });
  }
}

class Serve extends AppExtension {
  getExtensionPoints() {
    return ['ClientRequestHandler', 'RequestHandlerResultHandler', 'ExpiredMessageDeletionNotifier', 'StorageServiceProvider', 'ConferenceServiceProvider',
      'DomainEventHandler', 'DomainEventConsumer'];
  }

  async transform(request) {
    await note('transform');
    return request;
  }

  async handle(request) {
    await note('handle');
    return {
      code: 1000, reason: request.clientIp,
      notifications: [{ forwardToRequesterOtherOnlineSessions: true, recipients: [request.userId], notification: request.request }],
    };
  }

  async beforeNotify(result, requester, device) {
    await note('beforeNotify', requester, device);
    return result;
  }

  async afterNotify(result, requester, device, offline) {
    await note('afterNotify', requester, device, offline);
    return result;
  }

  async getMessagesToDelete(messages) {
    await note('getMessagesToDelete');
    return messages;
  }

  async deleteUserProfilePicture(requester, attributes) { await note('deleteUserProfilePicture', requester, attributes.length); }

  async queryUserProfilePictureUploadInfo(requester, name, mediaType, attributes) {
    await app.notify({ recipients: [requester], notification: { customAttributes: attributes } });
    return seen('queryUserProfilePictureUploadInfo', requester, name, mediaType, attributes.length);
  }

  queryUserProfilePictureDownloadInfo(requester, user, attributes) {
    return seen('queryUserProfilePictureDownloadInfo', requester, user, attributes.length);
  }

  async deleteGroupProfilePicture(requester, group, attributes) {
    await note('deleteGroupProfilePicture', requester, group, attributes.length);
  }

  queryGroupProfilePictureUploadInfo(requester, group, name, mediaType, attributes) {
    return seen('queryGroupProfilePictureUploadInfo', requester, group, name, mediaType, attributes.length);
  }

  queryGroupProfilePictureDownloadInfo(requester, group, attributes) {
    return seen('queryGroupProfilePictureDownloadInfo', requester, group, attributes.length);
  }

  async deleteMessageAttachment(requester, idNum, idStr, attributes) {
    await note('deleteMessageAttachment', requester, idNum, idStr, attributes.length);
  }

  async shareMessageAttachmentWithUser(...args) { await note('shareMessageAttachmentWithUser', ...args); }

  async shareMessageAttachmentWithGroup(...args) { await note('shareMessageAttachmentWithGroup', ...args); }

  async unshareMessageAttachmentWithUser(...args) { await note('unshareMessageAttachmentWithUser', ...args); }

  async unshareMessageAttachmentWithGroup(...args) { await note('unshareMessageAttachmentWithGroup', ...args); }

  queryMessageAttachmentUploadInfo(requester, name, mediaType, attributes) {
    return seen('queryMessageAttachmentUploadInfo', requester, name, mediaType, attributes.length);
  }

  queryMessageAttachmentUploadInfoInPrivateConversation(requester, user, name, mediaType, attributes) {
    return seen('queryMessageAttachmentUploadInfoInPrivateConversation', requester, user, name, mediaType, attributes.length);
  }

  queryMessageAttachmentUploadInfoInGroupConversation(requester, group, name, mediaType, attributes) {
    return seen('queryMessageAttachmentUploadInfoInGroupConversation', requester, group, name, mediaType, attributes.length);
  }

  queryMessageAttachmentDownloadInfo(requester, idNum, idStr, attributes) {
    return seen('queryMessageAttachmentDownloadInfo', requester, idNum, idStr, attributes.length);
  }

  async queryMessageAttachmentInfosUploadedByRequester(...args) {
    await note('queryMessageAttachmentInfosUploadedByRequester', ...args);
    return infos(args[0]);
  }

  async queryMessageAttachmentInfosInPrivateConversations(...args) {
    await note('queryMessageAttachmentInfosInPrivateConversations', ...args);
    return infos(args[0]);
  }

  async queryMessageAttachmentInfosInGroupConversations(...args) {
    await note('queryMessageAttachmentInfosInGroupConversations', ...args);
    return infos(args[0]);
  }

  async createMeeting(...args) { return { accessToken: await note('createMeeting', ...args) }; }

  async cancelMeeting(...args) { await note('cancelMeeting', ...args); }

  async countActiveMeetingsByUserId(user) {
    await note('countActiveMeetingsByUserId', user);
    return BigInt(user) > 0n ? 2147483647 : -2147483648;
  }

  async acceptMeetingInvitation(...args) { return { accessToken: await note('acceptMeetingInvitation', ...args) }; }

  async handleDomainEvents(events) { await note('handleDomainEvents', events); }

  async consumeDomainEvents(events) { await note('consumeDomainEvents', events); }
}

export default class extends AppPlugin {
  getDescriptor() {
    return {
      id: 'suite-echo', version: '1.2.3', provider: 'the suite', license: 'MIT', description: 'answers 👋',
      'compatible-servers': ['GATEWAY', 'SERVICE'],
    };
  }

  getExtensions() { return [Gate, Serve]; }
}
