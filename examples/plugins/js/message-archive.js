// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Message archive: sends expired messages to an archive before the server deletes them. Messages
// that the archive did not accept are kept, and sent again at the next deletion of expired
// messages.
//
//   message-archive.url=https://archive.example.org/messages

/** @implements {ExpiredMessageDeletionNotifier} */
class MessageArchive extends AppExtension {
  getExtensionPoints() { return ['ExpiredMessageDeletionNotifier']; }

  start() {
    /** @type {{url?: string}} */
    const { url } = app.config('message-archive');
    if (!url) throw new Error('message-archive.url is missing');
    this.url = url;
  }

  /** @param {StoredMessage[]} messages */
  async getMessagesToDelete(messages) {
    if (!this.url) return [];
    // One JSON object per line. The archive may get a message twice, so it should deduplicate by
    // id.
    const body = messages.map((m) => `${JSON.stringify(m)}\n`).join('');
    const response = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body, timeout: 4000 });
    if (!response.ok) throw new Error(`the archive answered ${response.status}`); // On failure, all are kept.
    app.log.info('messages archived', { count: messages.length });
    return messages;
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'message-archive', version: '1.0', description: 'Archives messages before they are deleted.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [MessageArchive]; }
}
