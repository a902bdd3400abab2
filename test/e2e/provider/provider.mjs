// SPDX-License-Identifier: Apache-2.0

// An OpenID Connect provider for tests: oidc-provider with a login form that accepts every user,
// and some paths below /test/ by which a test changes its state. It prints its issuer and runs
// until its input ends.

import { createServer } from 'node:http'
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import Provider from 'oidc-provider'

const state = { users: {}, redirects: ['http://127.0.0.1/unknown'], userinfoOnly: false, delay: 0, idToken: null }
let key
let provider
let issuer

function newKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  key = { private: privateKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' } }
}

function build() {
  provider = new Provider(issuer, {
    jwks: { keys: [key.jwk] },
    clients: [
      { client_id: 'app', client_secret: 'a secret of the test', redirect_uris: state.redirects, grant_types: ['authorization_code'], response_types: ['code'] },
      { client_id: 'script', client_secret: 'another secret', redirect_uris: [], grant_types: ['client_credentials'], response_types: [] },
    ],
    pkce: { methods: ['S256'], required: () => true },
    claims: { openid: ['sub', 'roles'], profile: ['name'] },
    conformIdTokenClaims: state.userinfoOnly,
    cookies: { keys: ['a key of the test'] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: 'admin', audience: 'app-admin', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      },
    },
    extraTokenClaims: (_, token) => (token.kind === 'ClientCredentials' ? { roles: state.users[token.clientId]?.roles } : undefined),
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...state.users[id] }) }),
    interactions: { url: (_, interaction) => `/login/${interaction.uid}` },
    // Users are not asked for consent.
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    },
  })
}

// login shows the form, and takes the name that comes back.
async function login(request, response, text) {
  if (request.method === 'POST') {
    await provider.interactionFinished(request, response, { login: { accountId: new URLSearchParams(text).get('login') } })
    return
  }
  response.setHeader('Content-Type', 'text/html')
  response.end(`<!doctype html><title>Login</title><link rel="icon" href="data:,"><form method="post" action="${issuer}${request.url}">
    <input name="login"><input name="password" type="password"><button type="submit">Log in</button></form>`)
}

// sign signs claims with the key of the provider, also those that it would never issue.
function sign(claims) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = `${part({ alg: 'RS256', kid: key.jwk.kid, typ: 'JWT' })}.${part(claims)}`
  return `${head}.${createSign('RSA-SHA256').update(head).sign(key.private).toString('base64url')}`
}

// changeIDToken signs the ID token of an answer anew, with other claims; null removes one.
function changeIDToken(response) {
  const end = response.end.bind(response)
  response.end = (text) => {
    const answer = JSON.parse(text)
    if (answer.id_token) {
      const claims = { ...JSON.parse(Buffer.from(answer.id_token.split('.')[1], 'base64url')), ...state.idToken }
      for (const name of Object.keys(claims)) if (claims[name] === null) delete claims[name]
      answer.id_token = sign(claims)
    }
    const changed = JSON.stringify(answer)
    response.setHeader('Content-Length', Buffer.byteLength(changed))
    return end(changed)
  }
}

async function control(path, text) {
  const body = text === '' ? {} : JSON.parse(text)
  switch (path) {
    case '/test/state':
      Object.assign(state, body)
      build()
      return ''
    case '/test/rotate':
      newKey()
      build()
      return ''
    case '/test/sign':
      return sign(body)
    default:
      throw new Error(`unknown address ${path}`)
  }
}

const server = createServer(async (request, response) => {
  if (request.url.startsWith('/test/') || request.url.startsWith('/login/')) {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.url.startsWith('/login/')) await login(request, response, text)
    else response.end(await control(request.url, text))
    return
  }
  if (state.idToken && request.url.startsWith('/token')) changeIDToken(response)
  if (state.delay > 0) await new Promise((resolve) => setTimeout(resolve, state.delay))
  provider.callback()(request, response)
})

server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`
  newKey()
  build()
  console.log(issuer)
})
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
