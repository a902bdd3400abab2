// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Login: authenticates users with an HTTP service.
//
//   login.url=https://accounts.example.org/check
//
// The service gets a POST with {userId, password, deviceType, ip} and responds with 200 to accept
// the login, 401 or 403 to refuse it, and 404 if it does not know the user: then the server checks
// the password itself.

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
      case 404: return undefined; // No decision.
      // If the service is down, logins fail; the client learns that it may retry.
      default: throw new AppError('SERVER_UNAVAILABLE', 'logins cannot be checked at present');
    }
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'login', version: '1.0', description: 'Asks an HTTP service who may log in.', 'compatible-servers': ['GATEWAY'] }; }

  getExtensions() { return [Login]; }
}
