// SPDX-License-Identifier: Apache-2.0

const codeOf = (f) => {
  try { f(); return 'none'; } catch (e) { return e.code; }
};

class Timer extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }

  async start() {
    app.schedule('1s', { name: 'tick' }, async (slot) => {
      if (slot instanceof Date && slot.getTime() % 1000 === 0) await app.storage.set('tick', 'yes');
    });
    app.schedule(1000, { name: 'fail' }, () => { throw new Error('told to fail'); });
    const gone = app.schedule('1s', { name: 'gone' }, () => {});
    await app.storage.set('gone', `${gone.cancel()} ${gone.cancel()}`);
    app.schedule('0 3 * * *', { leaderOnly: true }, () => {});
    const times = [['1s', 'tick'], ['x', 'a'], ['999ms', 'b'], ['0 0 30 2 *', 'c']];
    await app.storage.set('refused', times.map(([when, name]) => codeOf(() => app.schedule(when, { name }, () => {}))).join(' '));
    if (await app.storage.get('again') === undefined) {
      await app.storage.set('again', 'yes');
      throw new Error('the first start fails');
    }
  }

  handleAdminAction() {}
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-scheduled', version: '1' }; }

  getExtensions() { return [Timer]; }
}
