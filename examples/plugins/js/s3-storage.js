// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// S3 storage: stores pictures and attachments in buckets of a service with the Amazon S3 protocol.
// Files never pass through the server: clients get a signed form for uploads and a presigned URL
// for downloads.
//
// It uses three buckets, because clients expect files there: user-profile-picture,
// group-profile-picture and message-attachment. Create them first; bucket-prefix precedes their
// names. The id of an upload is the key of the object, because clients copy the id to the field
// `key` of the form, and it is a number, because clients parse an id that begins with a digit as
// one.
//
//   s3-storage.endpoint=https://s3.example.org
//   s3-storage.bucket-prefix=
//   s3-storage.region=us-east-1
//   s3-storage.access-key=...
//   s3-storage.secret-key=...
//   s3-storage.max-size=10485760
//
// The access rights of attachments are in the storage of the plugin, which is limited to 10,000
// values, two for each attachment. A bigger service should use its own database.

const validSeconds = 300;

/** Signs requests for one bucket with AWS Signature Version 4. */
class Bucket {
  /**
   * @param {string} name
   * @param {{endpoint?: string, bucketPrefix?: string, region?: string, accessKey?: string,
   * secretKey?: string, maxSize?: number}} config
   */
  constructor(name, { endpoint, bucketPrefix = '', region = 'us-east-1', accessKey, secretKey, maxSize = 10 << 20 }) {
    if (!endpoint || !accessKey || !secretKey) throw new Error('s3-storage needs endpoint, access-key and secret-key');
    this.bucket = bucketPrefix + name;
    this.url = new URL(`${endpoint.replace(/\/$/, '')}/${this.bucket}`);
    this.region = region;
    this.accessKey = String(accessKey);
    this.secretKey = String(secretKey);
    this.maxSize = maxSize;
  }

  now() {
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, ''); // 20300102T030405Z
    return { time, scope: `${time.slice(0, 8)}/${this.region}/s3/aws4_request` };
  }

  /**
   * @param {string} scope
   * @param {string} text
   */
  sign(scope, text) {
    /** @type {string | Uint8Array} */
    let key = `AWS4${this.secretKey}`;
    for (const part of scope.split('/')) key = crypto.hmac('SHA-256', key, part);
    return crypto.hmac('SHA-256', key, text, 'hex');
  }

  /**
   * Returns what a client needs to upload one file: the fields of the form, including the id, and
   * the URL.
   *
   * @param {string} key
   * @param {string} mediaType
   * @returns {Record<string, string>}
   */
  uploadForm(key, mediaType) {
    const { time, scope } = this.now();
    const fields = {
      id: key, key, 'Content-Type': mediaType, 'x-amz-algorithm': 'AWS4-HMAC-SHA256', 'x-amz-credential': `${this.accessKey}/${scope}`, 'x-amz-date': time,
    };
    const policy = btoa(JSON.stringify({
      expiration: new Date(Date.now() + validSeconds * 1000).toISOString(),
      conditions: [{ bucket: this.bucket }, ...Object.entries(fields).map(([k, v]) => ({ [k]: v })), ['content-length-range', 1, this.maxSize]],
    }).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`));
    return { ...fields, url: this.url.href, policy, 'x-amz-signature': this.sign(scope, policy) };
  }

  /**
   * Returns a presigned URL for one request without a body.
   *
   * @param {string} method
   * @param {string} key
   */
  address(method, key) {
    const { time, scope } = this.now();
    const path = `${this.url.pathname}/${key.split('/').map(encodeURIComponent).join('/')}`;
    const query = [
      ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'], ['X-Amz-Credential', `${this.accessKey}/${scope}`], ['X-Amz-Date', time],
      ['X-Amz-Expires', String(validSeconds)], ['X-Amz-SignedHeaders', 'host'],
    ].map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&');
    const request = [method, path, query, `host:${this.url.host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
    const text = ['AWS4-HMAC-SHA256', time, scope, crypto.hash('SHA-256', request, 'hex')].join('\n');
    return `${this.url.origin}${path}?${query}&X-Amz-Signature=${this.sign(scope, text)}`;
  }

  /** @param {string} key */
  async delete(key) {
    const { ok, status } = await fetch(this.address('DELETE', key), { method: 'DELETE', timeout: 3000 });
    if (!ok) throw new Error(`the storage service answered ${status} to the deletion of ${key}`);
  }
}

/**
 * The metadata of an attachment, in the storage of the plugin.
 *
 * @typedef {{uploader: string, name: string, mediaType: string, created: string, users: string[],
 *     groups: string[]}} Attachment
 */

/** Returns a random number of 52 bits, which every client can represent. */
function newId() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return String((high & 0xfffff) * 2 ** 32 + low);
}

/** @implements {StorageServiceProvider} */
class Storage extends AppExtension {
  /** @type {{users: Bucket, groups: Bucket, attachments: Bucket} | undefined} */
  #buckets;

  getExtensionPoints() { return ['StorageServiceProvider']; }

  start() {
    const config = app.config('s3-storage');
    this.#buckets = {
      users: new Bucket('user-profile-picture', config),
      groups: new Bucket('group-profile-picture', config),
      attachments: new Bucket('message-attachment', config),
    };
  }

  get buckets() {
    if (!this.#buckets) throw new AppError('SERVER_UNAVAILABLE', 'the storage is not started');
    return this.#buckets;
  }

  // Pictures of users: everybody can see them, users can change their own.

  /** @param {string} requesterId */
  async deleteUserProfilePicture(requesterId) { await this.buckets.users.delete(requesterId); }

  /** @param {string} requesterId @param {string} [_name] @param {string} [mediaType] */
  queryUserProfilePictureUploadInfo(requesterId, _name, mediaType) { return this.buckets.users.uploadForm(requesterId, mediaType ?? 'image/png'); }

  /** @param {string} _requesterId @param {string} userId */
  queryUserProfilePictureDownloadInfo(_requesterId, userId) { return { url: this.buckets.users.address('GET', userId) }; }

  // Pictures of groups: owner and managers can change them.

  /** @param {string} requesterId @param {string} groupId */
  async deleteGroupProfilePicture(requesterId, groupId) {
    await this.mustBeIn(groupId, requesterId, ['OWNER', 'MANAGER']);
    await this.buckets.groups.delete(groupId);
  }

  /**
   * @param {string} requesterId
   * @param {string} groupId
   * @param {string} [_name]
   * @param {string} [mediaType]
   */
  async queryGroupProfilePictureUploadInfo(requesterId, groupId, _name, mediaType) {
    await this.mustBeIn(groupId, requesterId, ['OWNER', 'MANAGER']);
    return this.buckets.groups.uploadForm(groupId, mediaType ?? 'image/png');
  }

  /** @param {string} _requesterId @param {string} groupId */
  queryGroupProfilePictureDownloadInfo(_requesterId, groupId) { return { url: this.buckets.groups.address('GET', groupId) }; }

  // Attachments: for their uploaders and those with whom they are shared.

  /** @param {string} requesterId @param {string} [name] @param {string} [mediaType] */
  queryMessageAttachmentUploadInfo(requesterId, name, mediaType) { return this.upload(requesterId, name, mediaType, [], []); }

  /**
   * @param {string} requesterId
   * @param {string} userId
   * @param {string} [name]
   * @param {string} [mediaType]
   */
  queryMessageAttachmentUploadInfoInPrivateConversation(requesterId, userId, name, mediaType) { return this.upload(requesterId, name, mediaType, [userId], []); }

  /**
   * @param {string} requesterId
   * @param {string} groupId
   * @param {string} [name]
   * @param {string} [mediaType]
   */
  async queryMessageAttachmentUploadInfoInGroupConversation(requesterId, groupId, name, mediaType) {
    await this.mustBeIn(groupId, requesterId);
    return this.upload(requesterId, name, mediaType, [], [groupId]);
  }

  /** @param {string} requesterId @param {string} [idNum] @param {string} [idStr] */
  async queryMessageAttachmentDownloadInfo(requesterId, idNum, idStr) {
    const { id, attachment } = await this.find(idNum ?? idStr);
    const direct = attachment.uploader === requesterId || attachment.users.includes(requesterId);
    if (!direct && !await this.isIn(attachment.groups, requesterId)) throw new AppError('UNAUTHORIZED', 'the attachment is not shared with you');
    return { url: this.buckets.attachments.address('GET', id) };
  }

  /** @param {string} requesterId @param {string} [idNum] @param {string} [idStr] */
  async deleteMessageAttachment(requesterId, idNum, idStr) {
    const { id } = await this.find(idNum ?? idStr, requesterId);
    await this.buckets.attachments.delete(id);
    await app.storage.delete(`attachment/${id}`);
    await app.storage.delete(`uploaded/${requesterId}/${id}`);
  }

  /**
   * @param {string} requesterId
   * @param {string | undefined} idNum
   * @param {string | undefined} idStr
   * @param {string} userId
   */
  shareMessageAttachmentWithUser(requesterId, idNum, idStr, userId) { return this.share(requesterId, idNum ?? idStr, 'users', userId, true); }

  /**
   * @param {string} requesterId
   * @param {string | undefined} idNum
   * @param {string | undefined} idStr
   * @param {string} groupId
   */
  async shareMessageAttachmentWithGroup(requesterId, idNum, idStr, groupId) {
    await this.mustBeIn(groupId, requesterId);
    await this.share(requesterId, idNum ?? idStr, 'groups', groupId, true);
  }

  /**
   * @param {string} requesterId
   * @param {string | undefined} idNum
   * @param {string | undefined} idStr
   * @param {string} userId
   */
  unshareMessageAttachmentWithUser(requesterId, idNum, idStr, userId) { return this.share(requesterId, idNum ?? idStr, 'users', userId, false); }

  /**
   * @param {string} requesterId
   * @param {string | undefined} idNum
   * @param {string | undefined} idStr
   * @param {string} groupId
   */
  unshareMessageAttachmentWithGroup(requesterId, idNum, idStr, groupId) { return this.share(requesterId, idNum ?? idStr, 'groups', groupId, false); }

  /** @param {string} requesterId @param {DateRange} [range] */
  async queryMessageAttachmentInfosUploadedByRequester(requesterId, range) {
    const list = [];
    for (const id of await app.storage.keys(`uploaded/${requesterId}/`)) {
      const key = id.slice(id.lastIndexOf('/') + 1);
      const attachment = /** @type {Attachment | undefined} */ (await app.storage.get(`attachment/${key}`));
      if (!attachment) continue; // It was deleted.
      const creationDate = new Date(attachment.created);
      if ((range?.start && creationDate < range.start) || (range?.end && creationDate >= range.end)) continue;
      list.push({ idNum: key, name: attachment.name, mediaType: attachment.mediaType, uploaderId: requesterId, creationDate });
    }
    return list;
  }

  /**
   * @param {string} requesterId
   * @param {string | undefined} name
   * @param {string | undefined} mediaType
   * @param {string[]} users
   * @param {string[]} groups
   */
  async upload(requesterId, name = 'file', mediaType = 'application/octet-stream', users, groups) {
    const id = newId();
    await app.storage.set(`attachment/${id}`, { uploader: requesterId, name, mediaType, created: new Date().toISOString(), users, groups });
    await app.storage.set(`uploaded/${requesterId}/${id}`, true);
    return this.buckets.attachments.uploadForm(id, mediaType);
  }

  /**
   * @param {string | undefined} id
   * @param {string} [owner] who must have uploaded it
   */
  async find(id, owner) {
    const attachment = /** @type {Attachment | undefined} */ (id && await app.storage.get(`attachment/${id}`));
    if (!id || !attachment) throw new AppError('RESOURCE_NOT_FOUND', 'there is no such attachment');
    if (owner && attachment.uploader !== owner) throw new AppError('UNAUTHORIZED', 'only who uploaded an attachment may change it');
    return { id, attachment };
  }

  /**
   * @param {string} requesterId
   * @param {string | undefined} attachmentId
   * @param {'users' | 'groups'} kind
   * @param {string} other
   * @param {boolean} on
   */
  async share(requesterId, attachmentId, kind, other, on) {
    const { id, attachment } = await this.find(attachmentId, requesterId);
    const others = attachment[kind].filter((x) => x !== other);
    await app.storage.set(`attachment/${id}`, { ...attachment, [kind]: on ? [...others, other] : others });
  }

  /** @param {string[]} groupIds @param {string} userId @param {string[]} [roles] */
  async isIn(groupIds, userId, roles) {
    if (groupIds.length === 0) return false;
    const members = (await app.api.groupsMembers.query({ groupIds, userIds: [userId] })) ?? [];
    return members.some((m) => !roles || roles.includes(String(m.role)));
  }

  /** @param {string} groupId @param {string} userId @param {string[]} [roles] */
  async mustBeIn(groupId, userId, roles) {
    if (!await this.isIn([groupId], userId, roles)) throw new AppError('UNAUTHORIZED', `you must be ${roles?.join(' or ') ?? 'a member'} of the group`);
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 's3-storage', version: '1.0', description: 'Keeps pictures and attachments in a bucket.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [Storage]; }
}
