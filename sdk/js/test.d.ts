// SPDX-License-Identifier: Apache-2.0
//
// The module that tests of plugins import. `app plugin test` runs each test file in an engine like
// that of a plugin, with the globals of a plugin.

declare module 'app:test' {
  /**
   * Declares a test, which fails if the function throws or its promise is rejected. Names must
   * differ.
   */
  export const test: {
    (name: string, f: () => unknown): void;
    /** Declares a test that is skipped. */
    skip(name: string, f?: () => unknown): void;
  };
  /** Groups the tests and hooks that a function declares; the group's name precedes theirs. */
  export function describe(name: string, f: () => void): void;
  /** Runs a function before each test of the file, or of the group. */
  export function beforeEach(f: () => unknown): void;
  /** Runs a function after each test of the file, or of the group, including failed ones. */
  export function afterEach(f: () => unknown): void;

  /**
   * The expected error: a class, a pattern of the message, or properties, whose values may be
   * patterns.
   */
  export type ExpectedError = (new (...args: never[]) => unknown) | RegExp | { [property: string]: unknown };

  /**
   * Assertions. On failure they throw an AssertionError, whose message begins with that of the
   * caller.
   */
  export interface Assert {
    (value: unknown, message?: string | Error): asserts value;
    ok(value: unknown, message?: string | Error): asserts value;
    /** The values are equal in the sense of Object.is. */
    equal<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    /** The values have the same type, the same properties, elements and entries. */
    deepEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    match(text: unknown, pattern: RegExp, message?: string | Error): void;
    doesNotMatch(text: unknown, pattern: RegExp, message?: string | Error): void;
    /** The function throws. Returns the thrown value. */
    throws(f: () => unknown, expected?: ExpectedError, message?: string | Error): unknown;
    /** The promise, or the one that the function returns, is rejected. Returns the reason. */
    rejects(promise: PromiseLike<unknown> | (() => unknown), expected?: ExpectedError, message?: string | Error): Promise<unknown>;
    fail(message?: string | Error): never;
    readonly AssertionError: new (message: string) => Error;
  }
  export const assert: Assert;

  /**
   * The time limit of a wait in milliseconds; by default two thirds of the time limit of a test.
   */
  export interface Patience { within?: number }

  /** Waits until a function returns a truthy value, and returns it. */
  export function until<T>(condition: () => T | Promise<T>, options?: Patience & { what?: string }): Promise<T>;

  /** A request of the plugin with fetch. */
  export interface FetchRequest {
    method: string;
    url: string;
    /** By lower-case name. */
    headers: { [name: string]: string };
    body: string;
    bytes: Uint8Array;
    json<T = JsonValue>(): T;
  }

  /**
   * The response for the plugin: a status, or this object. The default body is empty; the default
   * status is 200.
   */
  export interface FetchAnswer {
    status?: number;
    headers?: { [name: string]: string | number };
    json?: unknown;
    text?: string;
    bytes?: Uint8Array;
    /** Makes fetch fail with this reason, as if there were no response. */
    error?: string;
  }
  type Answer = number | FetchAnswer | ((request: FetchRequest) => number | FetchAnswer | undefined | Promise<number | FetchAnswer | undefined>);

  /** Properties, nested or with dots in their names. */
  export interface Properties { [name: string]: string | number | boolean | null | Properties | (string | number | boolean | Properties)[] }

  export interface StartOptions {
    /**
     * The file of the plugin, relative to the test file. By default the one that the test file is
     * named after: greeter.js or greeter.ts for greeter.test.js.
     */
    plugin?: string;
    /** Properties of the plugin, for app.config, and of the server. */
    properties?: Properties;
    /**
     * The responses to requests of the plugin by 'METHOD URL' or 'URL', in which * matches any
     * text. Those in an array are used one after another, the last one repeatedly. A request
     * without a response fails, and so does the test.
     */
    answers?: { [request: string]: Answer | Answer[] };
    /**
     * Stops the clock of the plugin at this time: Date, timers and schedules proceed when the test
     * advances it.
     */
    now?: Date | string | number;
  }

  /**
   * Starts a server with the plugin, on an empty database, for this test. It stops at the end of
   * the test. Rejected if the plugin cannot be loaded or started.
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
      /** Returns the time of the plugin's clock. */
      now(): Promise<Date>;
      /**
       * Advances the clock that start({ now }) stopped. Timers and schedules run in order, each at
       * its time, and what one starts ends before the next runs, except requests that an async
       * function answers.
       */
      advance(milliseconds: number): Promise<void>;
    };
    readonly http: {
      /** The requests of the plugin with fetch, in order. */
      readonly requests: FetchRequest[];
      /** Adds a response, which has precedence over existing ones. */
      answer(request: string, answer: Answer | Answer[]): void;
    };
    /** Creates a user, whose default password is secret, and logs the user in. */
    user(user?: Partial<api.UserCreation> & { deviceType?: wire.DeviceType }): Promise<TestClient>;
    /** Creates a user, whose default password is secret, and returns the user's id. */
    createUser(user?: Partial<api.UserCreation>): Promise<Int64>;
    /** Opens a session. Rejected with an AppError if the server, or the plugin, refuses it. */
    login(login: {
      userId: Int64 | number; password?: string; deviceType?: wire.DeviceType; deviceDetails?: { [name: string]: string }; userStatus?: wire.UserStatus;
    }): Promise<TestClient>;
    /**
     * Calls a method of an extension point of the plugin, like the server, and waits for its end.
     * Returns undefined if the plugin returned null or undefined. Rejected with what the plugin
     * throws.
     */
    call<P extends keyof ExtensionPoints, M extends keyof ExtensionPoints[P] & string>(
      point: P, method: M, ...args: ArgumentsOf<ExtensionPoints[P][M]>
    ): Promise<ResultOf<ExtensionPoints[P][M]> | undefined>;
    /**
     * Sends a request to the admin interface over HTTP, as root, such as one for an endpoint of the
     * plugin. The body is sent as JSON.
     */
    admin(method: string, path: string, body?: JsonValue): Promise<{
      status: number; headers: { [name: string]: string }; body: string; json<T = JsonValue>(): T;
    }>;
    /** What the plugin has logged, and warnings of the server about it. */
    logs(): Promise<{ level: 'debug' | 'info' | 'warn' | 'error'; text: string }[]>;
    /** What the plugin has sent with app.notify. */
    notifications(): Promise<Notification[]>;
    /**
     * The operations that the plugin has called with app.api, as 'users.query', and their input.
     */
    apiCalls(): Promise<{ operation: string; input: { [name: string]: JsonValue } }[]>;
    /** Stops the server and the plugin before the test ends. */
    stop(): Promise<void>;
  }

  /** A session of a user. */
  export interface TestClient {
    readonly userId: Int64;
    /**
     * Sends a request and returns the response. Rejected with an AppError if the server, or the
     * plugin, refuses it.
     */
    request(request: wire.AppRequest): Promise<wire.AppNotification>;
    /** Waits for a notification that match accepts, and removes and returns it; others stay. */
    notification(match?: (notification: wire.AppNotification) => unknown, options?: Patience): Promise<wire.AppNotification>;
    /** Waits for a message of another user. */
    message(options?: Patience): Promise<wire.CreateMessageRequest>;
    /** The notifications that have arrived and were not removed. */
    notifications(): Promise<wire.AppNotification[]>;
    /** Closes the connection. */
    close(): Promise<void>;
  }
}
