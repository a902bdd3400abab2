let calls = 0;

class Greeter extends AppExtension {
  #name = 'greeter';

  getExtensionPoints() {
    return ['ClientRequestHandler', 'im.app.gateway.infra.plugin.extension.UserAuthenticator'];
  }

  start() { this.started = true; }

  async onStopped() { this.started = false; }

  transform(request) {
    calls++;
    const create = request.request.createMessageRequest;
    if (create?.text) create.text = `${this.#name}: ${create.text}`;
    return request;
  }

  async handle(request) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (request.userId === '13') throw new AppError(5010, 'not you');
    if (request.userId === '14') throw new TypeError('broken');
    if (request.userId === '15') return { code: 1000, reason: `started ${this.started}, calls ${calls}` };
  }

  async authenticate(info) { return info.password === 'secret'; }
}

export default class extends AppPlugin {
  getDescriptor() {
    return { id: 'greeter', version: '1.2', provider: 'us', license: 'MIT', description: 'greets', 'compatible-servers': ['app-service', 'GATEWAY'] };
  }

  getExtensions() { return [Greeter]; }
}
