// SPDX-License-Identifier: Apache-2.0
// @ts-check

import { assert, describe, start, test } from 'app:test';

const url = 'https://accounts.example.org/check';

/** @param {import('app:test').FetchAnswer} answer */
const startWith = (answer) => start({ properties: { login: { url } }, answers: { [`POST ${url}`]: answer } });

describe('login', () => {
  test('asks the service who may log in', async () => {
    const server = await startWith({ status: 200 });
    await server.login({ userId: 7, password: 'theirs', deviceType: 'IOS' }); // The server does not know the user.
    assert.deepEqual(server.http.requests[0]?.json(), { userId: '7', password: 'theirs', deviceType: 'IOS', ip: '127.0.0.1' });
  });

  test('refuses whom the service refuses', async () => {
    const server = await startWith({ status: 401 });
    const userId = await server.createUser({ password: 'secret' });
    await assert.rejects(server.login({ userId, password: 'secret' }), { codeName: 'LOGIN_AUTHENTICATION_FAILED' });
  });

  test('leaves users that the service does not know to the server', async () => {
    const server = await startWith({ status: 404 });
    const userId = await server.createUser({ password: 'secret' });
    await server.login({ userId, password: 'secret' });
    await assert.rejects(server.login({ userId, password: 'wrong' }), { codeName: 'LOGIN_AUTHENTICATION_FAILED' });
  });

  test('lets nobody in while the service is down', async () => {
    const server = await startWith({ error: 'connection refused' });
    await assert.rejects(server.login({ userId: 7, password: 'theirs' }), { codeName: 'SERVER_UNAVAILABLE' });
    assert.match((await server.logs()).at(-1)?.text, /the login service cannot be asked.*connection refused/);
  });
});
