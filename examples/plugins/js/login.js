// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Own login: asks an HTTP service whether a user may log in.
//
//   login.url=https://accounts.example.org/check
//
// The service gets a POST with {userId, password, deviceType, ip} and answers with 200 to let the user in, 401 or 403 to
// refuse, and 404 if it does not know the user: then the server decides by its own users.

/** @implements {UserAuthenticator} */
class Login extends AppExtension {
  getExtensionPoints() { return ['UserAuthenticator']; }

  start() {
    /** @type {{url?: string}} */
    const { url } = app.config('login');
    if (!url) throw new Error('login.url is missing');
    this.url = url;
  }

  /** @param {UserLoginInfo} userLoginInfo */
  async authenticate({ userId, password, loggingInDeviceType, ip }) {
    if (!this.url) return undefined;
    const body = JSON.stringify({ userId, password, deviceType: loggingInDeviceType, ip });
    const answer = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, timeout: 3000 })
      .catch((e) => { app.log.error('the login service cannot be asked', e); });
    switch (answer?.status) {
      case 200: return true;
      case 401: case 403: return false;
      case 404: return undefined; // No opinion.
      // Nobody gets in only because a service is down; the client hears that it may try again.
      default: throw new AppError('SERVER_UNAVAILABLE', 'logins cannot be checked at present');
    }
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'login', version: '1.0', description: 'Asks an HTTP service who may log in.', 'compatible-servers': ['GATEWAY'] }; }

  getExtensions() { return [Login]; }
}
