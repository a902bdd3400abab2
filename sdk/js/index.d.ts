// SPDX-License-Identifier: Apache-2.0
//
// What a plugin in JavaScript finds in its engine: the language of ECMAScript 2022 and these globals. There is no DOM and
// there is no Node.js, so use "lib": ["ES2022"] and "types": ["app-plugin"] in jsconfig.json.

/// <reference path="points.d.ts" />
/// <reference path="api.d.ts" />
/// <reference path="codes.d.ts" />
/// <reference path="java.d.ts" />

/** An integer of 64 bits, as a decimal string: numbers of JavaScript are not exact above 2^53. All ids are such strings. */
type Int64 = string;

/** Bytes as text. */
type Base64 = string;

/** What JSON can hold. */
type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

/** What a plugin says of itself. */
interface PluginDescriptor {
  /** Must be unique among the plugins of a server. */
  id: string;
  version?: string;
  provider?: string;
  license?: string;
  description?: string;
  /** Where the plugin can run; everywhere if it is absent. */
  'compatible-servers'?: string[] | string;
  'compatible-server'?: string[] | string;
}

/** The default export of a plugin is a class that extends this one. */
declare abstract class AppPlugin {
  abstract getDescriptor(): PluginDescriptor;
  abstract getExtensions(): (new () => AppExtension)[];
}

/**
 * An extension extends this class and has functions of the extension points that it names, which are called as methods.
 * All hooks are optional, may be async, and have a time limit.
 */
declare abstract class AppExtension {
  /** The names of the extension points, from ExtensionPointName. */
  abstract getExtensionPoints(): string[];
  /** Called once, before the first call. An error keeps the extension from being started. */
  start?(): void | Promise<void>;
  pause?(): void | Promise<void>;
  resume?(): void | Promise<void>;
  /** Called once, after the last call. */
  stop?(): void | Promise<void>;
  /** Another name of start; the first one that is there counts. So it is with those that follow. */
  onStarted?(): void | Promise<void>;
  onPaused?(): void | Promise<void>;
  onResumed?(): void | Promise<void>;
  onStopped?(): void | Promise<void>;
}

/** Refuses what was asked for with a status code and a text of the plugin's own. */
declare class AppError extends Error {
  constructor(code: number | StatusCodeName, reason?: string);
  readonly code: number;
  readonly codeName: string;
  readonly reason: string;
}

interface Matcher {
  contains(text: string): boolean;
  /** The places of the words, from left to right, in units as strings count them. */
  find(text: string): { word: string; start: number; end: number }[];
  /** The text with each character of the words replaced by the mark, which is * unless it is given. */
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
  readonly node: { readonly id: string; readonly role: string; readonly version: string };
  /** The properties below a prefix, from the configuration of the server. Their names are in camelCase. */
  config<T = { [name: string]: JsonValue }>(prefix: string): T;
  /** The operations of the admin interface, carried out in the name of the plugin. Errors are AppErrors. */
  readonly api: api.Functions;
  /** Tells users who are online of something; nothing is stored. */
  notify(notification: { recipients: Int64[]; notification: wire.AppRequest }): Promise<void>;
  readonly meetings: {
    /** Notes that a meeting has ended, now unless it is said when. One that is not known stays as it is. */
    ended(meetingId: Int64, timestamp?: Date): Promise<void>;
  };
  readonly text: {
    /** Finds many words at once. Case is ignored unless ignoreCase is false. */
    matcher(words: Iterable<string>, options?: { ignoreCase?: boolean; wholeWords?: boolean }): Matcher;
  };
  /** A small durable space of the plugin: 10,000 values of up to 64 KiB each, 16 MiB in all. */
  readonly storage: {
    get(key: string): Promise<JsonValue | undefined>;
    set(key: string, value: JsonValue): Promise<void>;
    delete(key: string): Promise<boolean>;
    keys(prefix?: string): Promise<string[]>;
  };
};

/** Runs a script from the folder of the plugin, from a URL or as it is given, in the global scope. Returns its last value. */
declare function load(source: string | { name: string; script: string }): unknown;

interface FetchOptions {
  method?: string;
  headers?: Headers | Record<string, string> | Iterable<readonly [string, string]>;
  body?: string | ArrayBuffer | ArrayBufferView | URLSearchParams | null;
  /** In milliseconds. */
  timeout?: number;
  redirect?: 'follow' | 'manual' | 'error';
}

interface FetchResponse {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: Headers;
  /** The body as text. */
  readonly data: string;
  text(): Promise<string>;
  json(): Promise<JsonValue>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
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
  readonly subtle: { digest(algorithm: HashAlgorithm | { name: HashAlgorithm }, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer> };
};

declare function structuredClone<T>(value: T): T;
declare function queueMicrotask(f: () => void): void;
declare function setTimeout<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function setInterval<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;

declare const console: Log & {
  log(...args: unknown[]): void;
  trace(...args: unknown[]): void;
  dir(...args: unknown[]): void;
  assert(condition: unknown, ...args: unknown[]): void;
};
