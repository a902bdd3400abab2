// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Audit: stores the actions of administrators in a file service, one file for each operation. While
// the service is unavailable, records wait in the storage of the plugin, which survives restarts of
// the server.
//
//   admin-audit.url=https://files.example.org/audit

/** @implements {AdminActionHandler} */
class AdminAudit extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }

  async start() {
    /** @type {{url?: string, retrySeconds?: number}} */
    const { url, retrySeconds = 60 } = app.config('admin-audit');
    if (!url) throw new Error('admin-audit.url is missing');
    this.url = url.replace(/\/$/, '');
    this.timer = setInterval(() => this.sendWaiting(), retrySeconds * 1000);
    await this.sendWaiting();
  }

  stop() { clearInterval(this.timer); }

  /** @param {AdminAction} adminAction */
  async handleAdminAction(adminAction) {
    // Names sort by time, and nothing is overwritten.
    const name = `${adminAction.requestTime.toISOString()}-${crypto.randomUUID()}.json`;
    const record = JSON.stringify(adminAction);
    if (!await this.put(name, record)) await app.storage.set(`waiting/${name}`, record);
  }

  async sendWaiting() {
    for (const key of await app.storage.keys('waiting/')) {
      if (!await this.put(key.slice('waiting/'.length), String(await app.storage.get(key)))) return;
      await app.storage.delete(key);
    }
  }

  /**
   * @param {string} name
   * @param {string} record
   * @returns whether the service has stored it
   */
  async put(name, record) {
    try {
      const { ok, status } = await fetch(`${this.url}/${name}`, { method: 'PUT', body: record, headers: { 'content-type': 'application/json' }, timeout: 2000 });
      if (!ok) app.log.warn('the file service refused a record, which waits', { name, status });
      return ok;
    } catch (e) {
      app.log.warn('the file service cannot be reached, the record waits', { name }, e);
      return false;
    }
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'admin-audit', version: '1.0', description: 'Keeps what administrators do in a file service.' }; }

  getExtensions() { return [AdminAudit]; }
}
