// SPDX-License-Identifier: Apache-2.0
//
// The environment of a plugin in JavaScript: the language ECMAScript 2022 and these globals. There
// is no DOM and no Node.js, so use "lib": ["ES2022"] and "types": ["app-plugin"] in jsconfig.json.

/// <reference path="points.d.ts" />
/// <reference path="api.d.ts" />
/// <reference path="codes.d.ts" />
/// <reference path="java.d.ts" />
/// <reference path="test.d.ts" />

/**
 * A 64-bit integer as a decimal string: numbers in JavaScript are not exact above 2^53. All ids are
 * such strings.
 */
type Int64 = string;

/** Bytes encoded as Base64. */
type Base64 = string;

/** A JSON value. */
type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

/** The descriptor of a plugin. */
interface PluginDescriptor {
  /** Must be unique among the plugins of a server. */
  id: string;
  version?: string;
  provider?: string;
  license?: string;
  description?: string;
  /** The servers that the plugin is for; all if absent. */
  'compatible-servers'?: string[] | string;
  'compatible-server'?: string[] | string;
  /**
   * The JSON Schema (2020-12) of the settings that administrators can change while the plugin runs:
   * an object with properties. Secrets have writeOnly: true or format: 'password'.
   */
  settings?: { [keyword: string]: unknown };
  /**
   * The permissions of the admin interface that app.api needs, such as 'USER_QUERY'. The plugin has
   * no others unless app.plugin.grants.mode is OPEN.
   */
  permissions?: string[];
  /**
   * The hosts that fetch, WebSocket and load connect to: 'api.example.org', '*.example.org',
   * '10.0.0.1:8080', '[::1]' or '*' for all. Others cannot be reached unless app.plugin.grants.mode
   * is OPEN.
   */
  hosts?: string[];
  /** Whether the plugin uses Java.type; required unless app.plugin.grants.mode is OPEN. */
  java?: boolean;
}

/** The default export of a plugin is a class that extends this class. */
declare abstract class AppPlugin {
  abstract getDescriptor(): PluginDescriptor;
  abstract getExtensions(): (new () => AppExtension)[];
}

/**
 * An extension extends this class and has functions of the extension points that it names, which
 * are called as methods. All hooks are optional, may be async, and have a time limit.
 */
declare abstract class AppExtension {
  /**
   * Returns the names of the extension points, from ExtensionPointName. Optional for extensions
   * with endpoints.
   */
  getExtensionPoints?(): string[];
  /**
   * Returns the operations of the admin interface that the extension serves while it is started.
   * Called once, when the plugin is loaded.
   */
  getEndpoints?(): Endpoint[];
  /** Called once, before the first call. If it throws an error, the extension is not started. */
  start?(): void | Promise<void>;
  pause?(): void | Promise<void>;
  resume?(): void | Promise<void>;
  /** Called once, after the last call. */
  stop?(): void | Promise<void>;
  /**
   * Another name of start; if there are several, the first one is used. The same applies to the
   * following names.
   */
  onStarted?(): void | Promise<void>;
  onPaused?(): void | Promise<void>;
  onResumed?(): void | Promise<void>;
  onStopped?(): void | Promise<void>;
  /**
   * Called with the current settings after an administrator has changed them, while the extension
   * is started or paused.
   */
  onSettingsChanged?(settings: unknown): void | Promise<void>;
}

/** A self-contained JSON Schema (draft 2020-12). */
type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * An operation of the admin interface, at /plugins/endpoints/ followed by the id of the plugin and
 * the path.
 */
interface Endpoint {
  /**
   * The name of the function of the extension that serves it, unique among the endpoints of a
   * plugin. It receives an EndpointRequest.
   */
  handler: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * Begins with a slash, such as /reports/daily, or /reports/{id} with a parameter that has the
   * type of the property id of query.
   */
  path: string;
  /** One line for the documentation. */
  summary: string;
  description?: string;
  /**
   * The permission of the admin API that callers need. The default is PLUGIN_QUERY for GET and
   * PLUGIN_UPDATE for the others.
   */
  permission?: string;
  /** The schema of an object whose properties are the parameters, in the query and in the path. */
  query?: JsonSchema;
  /** The schema of the JSON body of POST and PUT. */
  body?: JsonSchema;
  /** The schema of the handler's result, which is the data of the response. */
  result?: JsonSchema;
  /**
   * Sends the result of the handler unchanged instead of JSON: a string, bytes, or an iterable of
   * them, such as a generator.
   */
  contentType?: string;
  /** The time limit of a request, at most 600,000. The default is in the settings of the server. */
  timeoutMillis?: number;
}

/** A request that matches the schemas of its endpoint. Missing properties have their defaults. */
interface EndpointRequest<Query = Record<string, unknown>, Body = unknown> {
  readonly query: Query;
  /** undefined if the endpoint declares none. */
  readonly body: Body;
  /** The id of the calling administrator. */
  readonly adminId?: Int64;
  readonly ip: string;
  /** The id of the request in the log and the response. */
  readonly requestId: string;
}

interface ScheduleOptions {
  /** Unique in the extension; by default the schedule is named after its times. */
  name?: string;
  /**
   * Whether only one node of the cluster runs it: the leader, or another one if the leader does not
   * have the extension.
   */
  leaderOnly?: boolean;
}

interface Schedule {
  readonly name: string;
  /**
   * Cancels the schedule; a running function is not interrupted. Returns whether the schedule
   * existed.
   */
  cancel(): boolean;
}

/** Refuses a request with a status code and a reason of the plugin. */
declare class AppError extends Error {
  constructor(code: number | StatusCodeName, reason?: string);
  readonly code: number;
  readonly codeName: string;
  readonly reason: string;
}

interface Matcher {
  contains(text: string): boolean;
  /**
   * Returns the matches, from left to right, with positions in UTF-16 units like those of strings.
   */
  find(text: string): { word: string; start: number; end: number }[];
  /** Returns the text with each character of the words replaced by the mark, by default *. */
  mask(text: string, mark?: string): string;
}

interface Log {
  error(...args: unknown[]): void;
  warn(...args: unknown[]): void;
  info(...args: unknown[]): void;
  debug(...args: unknown[]): void;
}

/** The server that the plugin runs in. */
declare const app: {
  /** Writes to the log of the server. */
  readonly log: Log;
  readonly fetch: typeof fetch;
  readonly http: { readonly fetch: typeof fetch };
  /** The node that calls the plugin: a process with both roles is two. */
  readonly node: { readonly id: string; readonly role: 'GATEWAY' | 'SERVICE'; readonly version: string };
  /**
   * Whether this version of the plugin runs as a shadow: it gets copies of calls, its results are
   * dropped, and changes through the server API are refused. The value is constant while the plugin
   * is loaded.
   */
  readonly shadow: boolean;
  /**
   * Returns the properties below a prefix, from the configuration of the server. Their names are in
   * camelCase.
   */
  config<T = { [name: string]: JsonValue }>(prefix: string): T;
  /**
   * Returns the current settings of the plugin: the values that administrators have set, and the
   * defaults of the schema in the descriptor.
   */
  settings<T = { [name: string]: JsonValue }>(): T;
  /**
   * Runs a function repeatedly while the calling extension is started. Times are a cron expression
   * of five fields, or six with seconds first, in UTC or with CRON_TZ=Europe/Berlin before it; or
   * an interval: milliseconds, or a text such as '90s' or '15m'.
   */
  schedule(when: string | number, options: ScheduleOptions, task: (slot: Date) => unknown): Schedule;
  schedule(when: string | number, task: (slot: Date) => unknown): Schedule;
  /**
   * The operations of the admin interface, executed on behalf of the plugin. Errors are AppErrors.
   */
  readonly api: api.Functions;
  /** Sends a notification to users who are online; nothing is stored. */
  notify(notification: { recipients: Int64[]; notification: wire.AppRequest }): Promise<void>;
  readonly meetings: {
    /** Reports that a meeting has ended, by default now. Unknown meetings are ignored. */
    ended(meetingId: Int64, timestamp?: Date): Promise<void>;
  };
  readonly text: {
    /**
     * Returns a matcher that finds many words at once. Case is ignored unless ignoreCase is false.
     */
    matcher(words: Iterable<string>, options?: { ignoreCase?: boolean; wholeWords?: boolean }): Matcher;
  };
  /**
   * A small durable key-value store of the plugin: 10,000 values of up to 64 KiB each, 16 MiB in
   * total.
   */
  readonly storage: {
    get(key: string): Promise<JsonValue | undefined>;
    set(key: string, value: JsonValue): Promise<void>;
    delete(key: string): Promise<boolean>;
    keys(prefix?: string): Promise<string[]>;
  };
};

/**
 * Runs a script from the folder of the plugin, from a URL or from a string, in the global scope.
 * Returns its last value.
 */
declare function load(source: string | { name: string; script: string }): unknown;

interface FetchOptions {
  method?: string;
  headers?: Headers | Record<string, string> | Iterable<readonly [string, string]>;
  body?: string | ArrayBuffer | ArrayBufferView | Blob | FormData | URLSearchParams | ReadableStream<string | BinaryData> | null;
  /** In milliseconds, for the whole response; for each part of a stream. */
  timeout?: number;
  /**
   * Whether the response is returned as soon as its headers have arrived, and its body is read as a
   * stream. It then has no size limit and no data. Responses of the type text/event-stream are
   * always streams.
   */
  stream?: boolean;
  /** Aborts the request. */
  signal?: AbortSignal | null;
  redirect?: 'follow' | 'manual' | 'error';
}

interface FetchResponse {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: Headers;
  /** The body as text; throws a TypeError for a stream. */
  readonly data: string;
  readonly body: ReadableStream<Uint8Array>;
  readonly bodyUsed: boolean;
  text(): Promise<string>;
  json(): Promise<JsonValue>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
}

declare function fetch(url: string | URL, options?: FetchOptions): Promise<FetchResponse>;

declare class Headers {
  constructor(init?: Headers | Record<string, string> | Iterable<readonly [string, string]>);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  has(name: string): boolean;
  forEach(f: (value: string, name: string, headers: Headers) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

declare class URLSearchParams {
  constructor(init?: string | URLSearchParams | Record<string, string> | Iterable<readonly [string, string]>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(f: (value: string, name: string, params: URLSearchParams) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare function atob(text: string): string;
declare function btoa(text: string): string;

type HashAlgorithm = 'SHA-256' | 'SHA-384' | 'SHA-512' | 'SHA-224' | 'SHA-1' | 'MD5';

declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  hash(algorithm: HashAlgorithm, data: string | ArrayBuffer | ArrayBufferView): Uint8Array;
  hash(algorithm: HashAlgorithm, data: string | ArrayBuffer | ArrayBufferView, encoding: 'hex' | 'base64'): string;
  hmac(algorithm: HashAlgorithm, key: string | ArrayBuffer | ArrayBufferView, data: string | ArrayBuffer | ArrayBufferView): Uint8Array;
  hmac(algorithm: HashAlgorithm, key: string | ArrayBuffer | ArrayBufferView, data: string | ArrayBuffer | ArrayBufferView, encoding: 'hex' | 'base64'): string;
  timingSafeEqual(a: string | ArrayBuffer | ArrayBufferView, b: string | ArrayBuffer | ArrayBufferView): boolean;
  readonly subtle: SubtleCrypto;
};

type BinaryData = ArrayBuffer | ArrayBufferView;
type SubtleHash = 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512';
type HashIdentifier = SubtleHash | { name: SubtleHash };
type KeyUsage = 'sign' | 'verify' | 'encrypt' | 'decrypt' | 'deriveBits' | 'deriveKey' | 'wrapKey' | 'unwrapKey';
type NamedCurve = 'P-256' | 'P-384' | 'P-521';
type RsaName = 'RSASSA-PKCS1-v1_5' | 'RSA-PSS' | 'RSA-OAEP';
/** The algorithm of a key, for generating or importing it. */
type KeyAlgorithm = 'AES-GCM' | 'AES-CBC' | 'PBKDF2' | 'HKDF' | 'Ed25519'
  | { name: 'HMAC'; hash: HashIdentifier; length?: number }
  | { name: 'AES-GCM' | 'AES-CBC'; length?: 128 | 192 | 256 }
  | { name: 'PBKDF2' | 'HKDF' | 'Ed25519' }
  | { name: RsaName; hash: HashIdentifier; modulusLength?: number; publicExponent?: Uint8Array }
  | { name: 'ECDSA' | 'ECDH'; namedCurve: NamedCurve };
type SignAlgorithm = 'HMAC' | 'RSASSA-PKCS1-v1_5' | 'Ed25519' | { name: 'HMAC' | 'RSASSA-PKCS1-v1_5' | 'Ed25519' }
  | { name: 'RSA-PSS'; saltLength: number } | { name: 'ECDSA'; hash: HashIdentifier };
type CipherAlgorithm = { name: 'AES-GCM'; iv: BinaryData; additionalData?: BinaryData; tagLength?: 128 } | { name: 'AES-CBC'; iv: BinaryData }
  | { name: 'RSA-OAEP'; label?: BinaryData };
type DeriveAlgorithm = { name: 'PBKDF2'; hash: HashIdentifier; salt: BinaryData; iterations: number }
  | { name: 'HKDF'; hash: HashIdentifier; salt: BinaryData; info: BinaryData } | { name: 'ECDH'; public: CryptoKey };
interface JsonWebKey { kty?: string; [member: string]: unknown }

declare class CryptoKey {
  private constructor();
  readonly type: 'secret' | 'private' | 'public';
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string; readonly hash?: { readonly name: string }; readonly length?: number; readonly namedCurve?: string };
  readonly usages: readonly KeyUsage[];
}

/** Keys and operations on them, as in browsers. Operations run in the background. */
interface SubtleCrypto {
  digest(algorithm: HashIdentifier, data: BinaryData): Promise<ArrayBuffer>;
  generateKey(algorithm: { name: RsaName | 'ECDSA' | 'ECDH' | 'Ed25519' } & Exclude<KeyAlgorithm, string> | 'Ed25519', extractable: boolean, usages: Iterable<KeyUsage>): Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }>;
  generateKey(algorithm: { name: 'HMAC' | 'AES-GCM' | 'AES-CBC' } & Exclude<KeyAlgorithm, string>, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
  importKey(format: 'jwk', key: JsonWebKey, algorithm: KeyAlgorithm, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
  importKey(format: 'raw' | 'pkcs8' | 'spki', key: BinaryData, algorithm: KeyAlgorithm, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
  exportKey(format: 'jwk', key: CryptoKey): Promise<JsonWebKey>;
  exportKey(format: 'raw' | 'pkcs8' | 'spki', key: CryptoKey): Promise<ArrayBuffer>;
  sign(algorithm: SignAlgorithm, key: CryptoKey, data: BinaryData): Promise<ArrayBuffer>;
  verify(algorithm: SignAlgorithm, key: CryptoKey, signature: BinaryData, data: BinaryData): Promise<boolean>;
  encrypt(algorithm: CipherAlgorithm, key: CryptoKey, data: BinaryData): Promise<ArrayBuffer>;
  decrypt(algorithm: CipherAlgorithm, key: CryptoKey, data: BinaryData): Promise<ArrayBuffer>;
  /** In bits, a multiple of 8. */
  deriveBits(algorithm: DeriveAlgorithm, key: CryptoKey, length: number): Promise<ArrayBuffer>;
  deriveKey(algorithm: DeriveAlgorithm, key: CryptoKey, type: KeyAlgorithm, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
}

declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly name: string;
  readonly code: number;
}

declare class Event {
  constructor(type: string, options?: { cancelable?: boolean });
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
}

type EventListener = ((event: Event) => void) | { handleEvent(event: Event): void };

declare class EventTarget {
  addEventListener(type: string, listener: EventListener | null, options?: { once?: boolean }): void;
  removeEventListener(type: string, listener: EventListener | null): void;
  dispatchEvent(event: Event): boolean;
}

declare class AbortSignal extends EventTarget {
  private constructor();
  static abort(reason?: unknown): AbortSignal;
  static timeout(milliseconds: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  readonly reason: unknown;
  onabort: ((event: Event) => void) | null;
  throwIfAborted(): void;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class Blob {
  constructor(parts?: Iterable<string | BinaryData | Blob>, options?: { type?: string });
  readonly size: number;
  readonly type: string;
  slice(start?: number, end?: number, type?: string): Blob;
  stream(): ReadableStream<Uint8Array>;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

declare class File extends Blob {
  constructor(parts: Iterable<string | BinaryData | Blob>, name: string, options?: { type?: string; lastModified?: number });
  readonly name: string;
  readonly lastModified: number;
}

declare class FormData {
  append(name: string, value: string | Blob, fileName?: string): void;
  set(name: string, value: string | Blob, fileName?: string): void;
  delete(name: string): void;
  get(name: string): string | File | null;
  getAll(name: string): (string | File)[];
  has(name: string): boolean;
  forEach(f: (value: string | File, name: string, form: FormData) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string | File]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string | File>;
  [Symbol.iterator](): IterableIterator<[string, string | File]>;
}

interface QueuingStrategy<T = unknown> {
  highWaterMark?: number;
  size?(chunk: T): number;
}

declare class CountQueuingStrategy implements QueuingStrategy {
  constructor(options: { highWaterMark: number });
  readonly highWaterMark: number;
  size(): number;
}

declare class ByteLengthQueuingStrategy implements QueuingStrategy<BinaryData> {
  constructor(options: { highWaterMark: number });
  readonly highWaterMark: number;
  size(chunk: BinaryData): number;
}

declare class ReadableStreamDefaultController<R = unknown> {
  private constructor();
  /** How many more chunks the stream accepts; null after an error. */
  readonly desiredSize: number | null;
  enqueue(chunk: R): void;
  close(): void;
  error(reason?: unknown): void;
}

interface ReadableStreamSource<R = unknown> {
  start?(controller: ReadableStreamDefaultController<R>): void | Promise<void>;
  pull?(controller: ReadableStreamDefaultController<R>): void | Promise<void>;
  cancel?(reason?: unknown): void | Promise<void>;
  type?: 'bytes';
}

interface PipeOptions {
  preventClose?: boolean;
  preventAbort?: boolean;
  preventCancel?: boolean;
  signal?: AbortSignal;
}

/** As in browsers, except that there are no BYOB readers. */
declare class ReadableStream<R = unknown> implements AsyncIterable<R> {
  constructor(source?: ReadableStreamSource<R>, strategy?: QueuingStrategy<R>);
  static from<R>(items: Iterable<R> | AsyncIterable<R>): ReadableStream<R>;
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(): ReadableStreamDefaultReader<R>;
  pipeThrough<T>(through: { readable: ReadableStream<T>; writable: WritableStream<R> }, options?: PipeOptions): ReadableStream<T>;
  pipeTo(target: WritableStream<R>, options?: PipeOptions): Promise<void>;
  tee(): [ReadableStream<R>, ReadableStream<R>];
  values(options?: { preventCancel?: boolean }): AsyncIterableIterator<R>;
  [Symbol.asyncIterator](): AsyncIterableIterator<R>;
}

declare class ReadableStreamDefaultReader<R = unknown> {
  constructor(stream: ReadableStream<R>);
  readonly closed: Promise<void>;
  read(): Promise<{ done: false; value: R } | { done: true; value: undefined }>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}

declare class WritableStreamDefaultController {
  private constructor();
  readonly signal: AbortSignal;
  error(reason?: unknown): void;
}

interface WritableStreamSink<W = unknown> {
  start?(controller: WritableStreamDefaultController): void | Promise<void>;
  write?(chunk: W, controller: WritableStreamDefaultController): void | Promise<void>;
  close?(): void | Promise<void>;
  abort?(reason?: unknown): void | Promise<void>;
}

declare class WritableStream<W = unknown> {
  constructor(sink?: WritableStreamSink<W>, strategy?: QueuingStrategy<W>);
  readonly locked: boolean;
  getWriter(): WritableStreamDefaultWriter<W>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
}

declare class WritableStreamDefaultWriter<W = unknown> {
  constructor(stream: WritableStream<W>);
  readonly ready: Promise<void>;
  readonly closed: Promise<void>;
  readonly desiredSize: number | null;
  write(chunk: W): Promise<void>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
  releaseLock(): void;
}

interface TransformStreamController<O = unknown> {
  readonly desiredSize: number | null;
  enqueue(chunk: O): void;
  error(reason?: unknown): void;
  terminate(): void;
}

interface Transformer<I = unknown, O = unknown> {
  start?(controller: TransformStreamController<O>): void | Promise<void>;
  /** By default, chunks pass through unchanged. */
  transform?(chunk: I, controller: TransformStreamController<O>): void | Promise<void>;
  flush?(controller: TransformStreamController<O>): void | Promise<void>;
  cancel?(reason?: unknown): void | Promise<void>;
}

declare class TransformStream<I = unknown, O = unknown> {
  constructor(transformer?: Transformer<I, O>, writableStrategy?: QueuingStrategy<I>, readableStrategy?: QueuingStrategy<O>);
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}

declare class TextEncoderStream extends TransformStream<string, Uint8Array> {
  constructor();
  readonly encoding: string;
}

declare class TextDecoderStream extends TransformStream<BinaryData, string> {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
}

declare class MessageEvent extends Event {
  constructor(type: string, options?: { data?: unknown; origin?: string });
  readonly data: unknown;
  readonly origin: string;
}

declare class CloseEvent extends Event {
  constructor(type: string, options?: { code?: number; reason?: string; wasClean?: boolean });
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

declare class ErrorEvent extends Event {
  constructor(type: string, options?: { message?: string; error?: unknown });
  readonly message: string;
  readonly error: unknown;
}

interface SocketMessage extends Event {
  /** A string, or a Blob or an ArrayBuffer, depending on binaryType. */
  readonly data: string | Blob | ArrayBuffer;
  readonly origin: string;
}

/**
 * A WebSocket client, as in browsers; the headers of its request can be set. The maximum size of a
 * message is that of a response of fetch. A plugin has up to 100 WebSockets, which are closed when
 * it is unloaded.
 */
declare class WebSocket extends EventTarget {
  constructor(url: string | URL, options?: string | string[] | { protocols?: string | string[]; headers?: Record<string, string> });
  static readonly CONNECTING: 0;
  static readonly OPEN: 1;
  static readonly CLOSING: 2;
  static readonly CLOSED: 3;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;
  readonly url: string;
  readonly readyState: 0 | 1 | 2 | 3;
  readonly protocol: string;
  readonly extensions: string;
  readonly bufferedAmount: number;
  binaryType: 'blob' | 'arraybuffer';
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: SocketMessage) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  addEventListener(type: 'message', listener: ((event: SocketMessage) => void) | null, options?: { once?: boolean }): void;
  addEventListener(type: 'error', listener: ((event: ErrorEvent) => void) | null, options?: { once?: boolean }): void;
  addEventListener(type: 'close', listener: ((event: CloseEvent) => void) | null, options?: { once?: boolean }): void;
  addEventListener(type: string, listener: EventListener | null, options?: { once?: boolean }): void;
  send(data: string | BinaryData | Blob): void;
  close(code?: number, reason?: string): void;
}

declare function structuredClone<T>(value: T): T;
declare function queueMicrotask(f: () => void): void;
declare function setTimeout<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function setInterval<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;

declare const console: Log & {
  log(...args: unknown[]): void;
  /** With the stack, at the level debug. */
  trace(...args: unknown[]): void;
  dir(value: unknown): void;
  dirxml(...args: unknown[]): void;
  assert(condition: unknown, ...args: unknown[]): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...args: unknown[]): void;
  timeEnd(label?: string): void;
  group(...args: unknown[]): void;
  groupCollapsed(...args: unknown[]): void;
  groupEnd(): void;
  /** One line of the log per row. */
  table(data: unknown, columns?: Iterable<string>): void;
};
