// SPDX-License-Identifier: Apache-2.0
//
// What tests of plugins import. They run in `app plugin test`, each file in an engine like that of a plugin, with the globals of a
// plugin.

declare module 'app:test' {
  /** Declares a test, which fails if the function throws or its promise is rejected. Names must differ. */
  export const test: {
    (name: string, f: () => unknown): void;
    /** Declares a test that is not run. */
    skip(name: string, f?: () => unknown): void;
  };
  /** Puts the tests and hooks that a function declares into a group, whose name precedes theirs. */
  export function describe(name: string, f: () => void): void;
  /** Runs a function before each test of the file, or of the group. */
  export function beforeEach(f: () => unknown): void;
  /** Runs a function after each test of the file, or of the group, also after one that failed. */
  export function afterEach(f: () => unknown): void;

  /** The error that is expected: a class, a pattern of the message, or properties, whose values may be patterns. */
  export type ExpectedError = (new (...args: never[]) => unknown) | RegExp | { [property: string]: unknown };

  /** What a test expects. All fail with an AssertionError, which a message of the caller precedes. */
  export interface Assert {
    (value: unknown, message?: string | Error): asserts value;
    ok(value: unknown, message?: string | Error): asserts value;
    /** The values are the same, as Object.is compares them. */
    equal<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    /** The values have the same type, the same properties, elements and entries. */
    deepEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    match(text: unknown, pattern: RegExp, message?: string | Error): void;
    doesNotMatch(text: unknown, pattern: RegExp, message?: string | Error): void;
    /** The function throws. Returns what it threw. */
    throws(f: () => unknown, expected?: ExpectedError, message?: string | Error): unknown;
    /** The promise, or the one that the function returns, is rejected. Returns what it was rejected with. */
    rejects(promise: PromiseLike<unknown> | (() => unknown), expected?: ExpectedError, message?: string | Error): Promise<unknown>;
    fail(message?: string | Error): never;
    readonly AssertionError: new (message: string) => Error;
  }
  export const assert: Assert;

  /** How long to wait, in milliseconds; two thirds of the time of a test if it is absent. */
  export interface Patience { within?: number }

  /** Waits until a function returns something true, and returns that. */
  export function until<T>(condition: () => T | Promise<T>, options?: Patience & { what?: string }): Promise<T>;

  /** A request of the plugin by fetch. */
  export interface FetchRequest {
    method: string;
    url: string;
    /** By their names in small letters. */
    headers: { [name: string]: string };
    body: string;
    bytes: Uint8Array;
    json<T = JsonValue>(): T;
  }

  /** What the plugin gets: a status, or this. Without a body it is empty; the status is 200 if it is absent. */
  export interface FetchAnswer {
    status?: number;
    headers?: { [name: string]: string | number };
    json?: unknown;
    text?: string;
    bytes?: Uint8Array;
    /** Lets fetch fail with this reason, as if there were no answer. */
    error?: string;
  }
  type Answer = number | FetchAnswer | ((request: FetchRequest) => number | FetchAnswer | undefined | Promise<number | FetchAnswer | undefined>);

  /** Properties, nested or with dots in their names. */
  export interface Properties { [name: string]: string | number | boolean | null | Properties | (string | number | boolean | Properties)[] }

  export interface StartOptions {
    /**
     * The file of the plugin, seen from that of the tests. If it is absent, it is the one that the tests are named after: greeter.js or
     * greeter.ts for greeter.test.js.
     */
    plugin?: string;
    /** Properties of the plugin, as app.config reads them, and of the server. */
    properties?: Properties;
    /**
     * The answers to requests of the plugin by 'METHOD URL' or 'URL', in which * stands for any text. Those of an array are given one
     * after another, the last one again and again. A request without an answer fails, and with it the test.
     */
    answers?: { [request: string]: Answer | Answer[] };
    /** Holds the clock of the plugin at this time: Date, timers and schedules go on when the test moves it. */
    now?: Date | string | number;
  }

  /**
   * Starts a server with the plugin, on an empty database, for this test. It stops at the end of the test. Rejected if the plugin
   * cannot be loaded or started.
   */
  export function start(options?: StartOptions): Promise<TestServer>;

  type ArgumentsOf<F> = NonNullable<F> extends (...args: infer A) => unknown ? A : never;
  type ResultOf<F> = NonNullable<F> extends (...args: never[]) => infer R ? Exclude<Awaited<R>, null | void> : never;

  export interface TestServer {
    readonly plugin: { readonly id: string; readonly version: string };
    /** The admin interface, as root. */
    readonly api: typeof app.api;
    /** The storage of the plugin. */
    readonly storage: typeof app.storage;
    readonly clock: {
      /** What the clock of the plugin shows. */
      now(): Promise<Date>;
      /**
       * Moves the clock that start({ now }) holds. Timers and schedules run in their order, each at its time, and what one begins ends
       * before the next runs; only requests that an async function answers may go on.
       */
      advance(milliseconds: number): Promise<void>;
    };
    readonly http: {
      /** The requests of the plugin by fetch, in their order. */
      readonly requests: FetchRequest[];
      /** Declares one more answer, which comes before those that are there. */
      answer(request: string, answer: Answer | Answer[]): void;
    };
    /** Creates a user, whose password is secret if it is absent, and logs it in. */
    user(user?: Partial<api.UserCreation> & { deviceType?: wire.DeviceType }): Promise<TestClient>;
    /** Creates a user, whose password is secret if it is absent, and returns its id. */
    createUser(user?: Partial<api.UserCreation>): Promise<Int64>;
    /** Opens a session. Rejected with an AppError if the server, or the plugin, refuses it. */
    login(login: {
      userId: Int64 | number; password?: string; deviceType?: wire.DeviceType; deviceDetails?: { [name: string]: string }; userStatus?: wire.UserStatus;
    }): Promise<TestClient>;
    /**
     * Calls a method of an extension point of the plugin, as the server does, and waits for its end. Returns undefined if the plugin
     * answered with nothing. Rejected with what the plugin throws.
     */
    call<P extends keyof ExtensionPoints, M extends keyof ExtensionPoints[P] & string>(
      point: P, method: M, ...args: ArgumentsOf<ExtensionPoints[P][M]>
    ): Promise<ResultOf<ExtensionPoints[P][M]> | undefined>;
    /** Sends a request to the admin interface over HTTP, as root, such as one for an endpoint of the plugin. The body is sent as JSON. */
    admin(method: string, path: string, body?: JsonValue): Promise<{
      status: number; headers: { [name: string]: string }; body: string; json<T = JsonValue>(): T;
    }>;
    /** What the plugin has logged, and warnings of the server about it. */
    logs(): Promise<{ level: 'debug' | 'info' | 'warn' | 'error'; text: string }[]>;
    /** What the plugin has sent with app.notify. */
    notifications(): Promise<Notification[]>;
    /** The operations that the plugin has called with app.api, as 'users.query', and their input. */
    apiCalls(): Promise<{ operation: string; input: { [name: string]: JsonValue } }[]>;
    /** Stops the server and the plugin before the test ends. */
    stop(): Promise<void>;
  }

  /** A session of a user. */
  export interface TestClient {
    readonly userId: Int64;
    /** Sends a request and returns the response. Rejected with an AppError if the server, or the plugin, refuses it. */
    request(request: wire.AppRequest): Promise<wire.AppNotification>;
    /** Waits for a notification that match accepts, and returns it once; others stay. */
    notification(match?: (notification: wire.AppNotification) => unknown, options?: Patience): Promise<wire.AppNotification>;
    /** Waits for a message of another user. */
    message(options?: Patience): Promise<wire.CreateMessageRequest>;
    /** The notifications that have arrived and that nobody has taken. */
    notifications(): Promise<wire.AppNotification[]>;
    /** Closes the connection. */
    close(): Promise<void>;
  }
}
