// SPDX-License-Identifier: Apache-2.0

import { parseJson, writeJson } from './json'
import type { components as gatewayComponents, paths as gatewayPaths } from './gateway.gen'
import type { components, paths } from './service.gen'

export type Schemas = components['schemas'] & gatewayComponents['schemas']

/** base is the path of the console: "/" or "/console/". */
export const base = new URL(document.baseURI).pathname

/** ApiError is an error response of the server, or status 0 if the server is unreachable. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: number | undefined,
    readonly reason: string,
    readonly requestId: string | null,
    readonly body?: unknown,
  ) {
    super(reason)
  }
}

export type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[] | readonly Record<string, string | number>[]
export type Query = Record<string, QueryValue>

/**
 * queryString encodes parameters in the format of the admin interface: ids=1,2 and
 * keys[0].groupId=1.
 */
export function queryString(query: Query | undefined): string {
  const out = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null || value === '') continue
    if (Array.isArray(value)) {
      if (value.length === 0) continue
      if (typeof value[0] === 'object') {
        value.forEach((key, i) => {
          for (const [field, x] of Object.entries(key)) out.append(`${name}[${i}].${field}`, String(x))
        })
      } else out.append(name, value.join(','))
    } else out.append(name, String(value))
  }
  const text = out.toString()
  return text === '' ? '' : `?${text}`
}

export interface Options {
  node?: string
  query?: Query
  body?: unknown
  form?: FormData
  headers?: Record<string, string>
  signal?: AbortSignal
}

export interface Answer<T> {
  data: T
  etag: string | null
  requestId: string | null
  status: number
}

/**
 * url returns the address of an operation of a node; by default of the service that serves the
 * console.
 */
export function url(path: string, node = 'service', query?: Query): string {
  return `${base}-/api/${encodeURIComponent(node)}${path}${queryString(query)}`
}

/** sessionEnd dispatches an event when the session has ended. */
export const sessionEnd = new EventTarget()

const retryDelays = [300, 700, 1500, 3000]

/** send sends a request. It retries it while the server is rate limiting. */
export async function send<T>(method: string, path: string, o: Options = {}): Promise<Answer<T>> {
  const init: RequestInit = { method, headers: { Accept: 'application/json', ...o.headers }, signal: o.signal, credentials: 'same-origin' }
  if (o.form) init.body = o.form
  else if (o.body !== undefined) {
    init.body = writeJson(o.body)
    ;(init.headers as Record<string, string>)['Content-Type'] = 'application/json'
  }
  for (let i = 0; ; i++) {
    const response = await reach(url(path, o.node, o.query), init)
    if (response.status === 429 && i < retryDelays.length) {
      await new Promise((resolve) => setTimeout(resolve, retryDelays[i]))
      continue
    }
    return read<T>(response)
  }
}

/**
 * download fetches a file completely before it is saved, so that an error is not saved as a file.
 */
export async function download(path: string, o: Options = {}): Promise<Blob> {
  const response = await reach(url(path, o.node, o.query), { credentials: 'same-origin', headers: o.headers, signal: o.signal })
  if (response.ok) return response.blob()
  return (await read<Blob>(response)).data
}

async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init)
  } catch (e) {
    if (init.signal?.aborted) throw e
    throw new ApiError(0, undefined, 'unreachable', null)
  }
}

let checking: Promise<void> | undefined

/** checkSession checks whether a refused request means that the session has ended. */
function checkSession(): Promise<void> {
  checking ??= session.find().then((s) => {
    if (!s) sessionEnd.dispatchEvent(new Event('end'))
  }).catch(() => undefined).finally(() => { checking = undefined })
  return checking
}

async function read<T>(response: Response): Promise<Answer<T>> {
  const requestId = response.headers.get('X-Request-Id')
  const text = await response.text()
  let body: { code?: number; reason?: string; data?: unknown } | undefined
  try {
    body = text === '' ? undefined : (parseJson(text) as typeof body)
  } catch (e) {
    if (response.headers.get('Content-Type')?.startsWith('application/json')) throw e
    if (response.ok) return { data: text as T, etag: null, requestId, status: response.status }
  }
  if (!response.ok) {
    if (response.status === 401) void checkSession()
    throw new ApiError(response.status, body?.code, body?.reason ?? response.statusText, requestId, body)
  }
  return { data: (body && 'code' in body ? body.data : body) as T, etag: response.headers.get('ETag'), requestId, status: response.status }
}

type AllPaths = paths & gatewayPaths
type DataOf<R> = R extends { content: { 'application/json': { data?: infer D } } } ? D : unknown
type GetData<P extends keyof AllPaths> = AllPaths[P] extends { get: { responses: { 200: infer R } } } ? DataOf<R> : unknown

/**
 * get sends a GET request whose result type is in the document; undefined if there is no content.
 */
export async function get<P extends keyof AllPaths>(path: P, o: Options = {}): Promise<GetData<P> | undefined> {
  return (await send<GetData<P> | undefined>('GET', path, o)).data
}

export interface Session {
  id: string | number
  loginName: string
  permissions: string[]
  version: string
}

/** own sends a request to the console's backend. */
async function own<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await reach(`${base}-/${path}`, {
    method, credentials: 'same-origin',
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  let parsed: { code?: number; reason?: string } | undefined
  try {
    parsed = text === '' ? undefined : (parseJson(text) as typeof parsed)
  } catch {
    parsed = { reason: text }
  }
  if (!response.ok) throw new ApiError(response.status, parsed?.code, parsed?.reason ?? response.statusText, null)
  return parsed as T
}

export const session = {
  find: () => own<Session | undefined>('GET', 'session'),
  open: (loginName: string, password: string) => own<Session>('POST', 'session', { loginName, password }),
  close: () => own<void>('DELETE', 'session'),
  /** signOn returns the identity provider, if there is one. */
  signOn: () => own<{ name: string } | undefined>('GET', 'sign-on'),
  /** signOnURL starts a login at the identity provider, which returns to the current page. */
  signOnURL: () => `${base}-/sign-on/begin?to=${encodeURIComponent(location.pathname.slice(base.length - 1) + location.search)}`,
}

export const document_ = (role: string) => own<unknown>('GET', `documents/${role}`)
export const typings = () => own<Record<string, string>>('GET', 'typings')
export async function protocol(): Promise<Uint8Array> {
  const response = await reach(`${base}-/protocol`, { credentials: 'same-origin' })
  if (!response.ok) throw new ApiError(response.status, undefined, response.statusText, null)
  return new Uint8Array(await response.arrayBuffer())
}
