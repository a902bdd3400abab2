// SPDX-License-Identifier: Apache-2.0

const version = '1';

globalThis.counted = 0;

const kept = [];

class Actor extends AppExtension {
  #wait = () => new Promise(() => {});

  getExtensionPoints() { return ['ClientRequestHandler']; }

  async stop() { await app.storage.set(`stopped-${version}`, 'yes'); }

  transform(request) { return { ...request, clientIp: version }; }

  async handle(request) {
    const answer = (reason) => ({ code: 1000, reason });
    switch (request.clientIp) {
      case 'nothing': return undefined;
      case 'count': return answer(String(++globalThis.counted));
      case 'refuse': throw new AppError(5010, 'not you 👋');
      case 'throw': throw new TypeError('broken 👋');
      case 'wait': return this.#wait();
      case 'spin': for (;;);
      case 'compute':
        for (const end = Date.now() + 20; Date.now() < end;);
        return answer('done');
      case 'keep':
        kept.push(new Uint8Array(1 << 20).fill(1));
        return answer('done');
      case 'hold':
        await app.api.users.query({ ids: ['1'] });
        return answer(request.userId);
      case 'ask': return app.api.users.query({ ids: ['2'] });
      case 'background':
        setTimeout(() => { throw new TypeError('nobody catches this 👋'); }, 0);
        return answer('done');
      default: return answer(request.clientIp);
    }
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-acts', version }; }

  getExtensions() { return [Actor]; }
}
