// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Report: the number of registrations on each of the last days, and the registered users, for
// administrators with the permission to query users. The days are in UTC.
//
//   GET /plugins/endpoints/admin-report/days?days=30        the numbers as JSON
//   GET /plugins/endpoints/admin-report/users.csv?days=30   the users as CSV, streamed
//   GET /plugins/endpoints/admin-report/page?days=30        the numbers as a page

const dayMillis = 24 * 60 * 60 * 1000;

/** @typedef {{ days: number }} Query */

/** @param {string} text */
const html = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/**
 * @param {string} text Spreadsheets interpret text that begins with one of these characters as a
 *     formula.
 */
const csv = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? "'" : '') + text.replaceAll('"', '""')}"`;

/** The days of the report, the oldest first. @param {number} count */
function lastDays(count) {
  const today = Math.floor(Date.now() / dayMillis) * dayMillis;
  return Array.from({ length: count }, (_, i) => new Date(today - (count - 1 - i) * dayMillis));
}

class AdminReport extends AppExtension {
  getEndpoints() {
    const query = { type: 'object', properties: { days: { type: 'integer', minimum: 1, maximum: 92, default: 30, description: 'How many days, with today.' } }, additionalProperties: false };
    const day = { type: 'object', required: ['date', 'registered'], properties: { date: { type: 'string', format: 'date' }, registered: { type: 'integer' } } };
    const result = { type: 'object', required: ['total', 'days'], properties: { total: { type: 'integer' }, days: { type: 'array', items: day } } };
    return [
      { handler: 'count', method: /** @type {const} */ ('GET'), path: '/days', summary: 'Count new users by day', permission: 'USER_QUERY', query, result },
      { handler: 'list', method: /** @type {const} */ ('GET'), path: '/users.csv', summary: 'Export new users', permission: 'USER_QUERY', query, contentType: 'text/csv; charset=utf-8', timeoutMillis: 600_000 },
      { handler: 'page', method: /** @type {const} */ ('GET'), path: '/page', summary: 'Show new users by day', permission: 'USER_QUERY', query, contentType: 'text/html; charset=utf-8' },
    ];
  }

  /** @param {EndpointRequest<Query>} request */
  async count({ query }) {
    const days = [];
    let total = 0;
    for (const date of lastDays(query.days)) {
      const page = await app.api.users.queryPage({
        registrationDateStart: date.toISOString(), registrationDateEnd: new Date(date.getTime() + dayMillis).toISOString(), size: 1, exactTotal: true,
      });
      const registered = Number(page?.total ?? 0);
      days.push({ date: date.toISOString().slice(0, 10), registered });
      total += registered;
    }
    return { total, days };
  }

  /** @param {EndpointRequest<Query>} request */
  async *list({ query }) {
    yield 'id,name,registered,active\r\n';
    // New registrations would shift the pages.
    const range = { registrationDateStart: lastDays(query.days)[0].toISOString(), registrationDateEnd: new Date().toISOString() };
    for (let page = 0; ; page++) {
      const users = (await app.api.users.queryPage({ ...range, page, size: 500 }))?.records ?? [];
      if (users.length === 0) return;
      yield users.map((u) => `${u.id},${csv(u.name)},${u.registrationDate},${u.isActive}\r\n`).join('');
    }
  }

  /** @param {EndpointRequest<Query>} request */
  async page(request) {
    const { total, days } = await this.count(request);
    const most = Math.max(1, ...days.map((d) => d.registered));
    const rows = days.map((d) => `<tr><td>${html(d.date)}<td>${d.registered}<td><meter max="${most}" value="${d.registered}"></meter>`);
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>New users</title><h1>${total} new users in ${days.length} days</h1>
<p><a href="users.csv?days=${days.length}">As CSV</a><table>${rows.join('\n')}</table></html>`;
  }
}

export default class extends AppPlugin {
  getDescriptor() {
    return { id: 'admin-report', version: '1.0', description: 'Reports which users are new.', 'compatible-servers': ['SERVICE'], permissions: ['USER_QUERY'] };
  }

  getExtensions() { return [AdminReport]; }
}
