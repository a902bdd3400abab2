// SPDX-License-Identifier: Apache-2.0
//
// Classes of Java in a plugin in JavaScript. What they have is known when the plugin runs, not to these types.

/** An object of Java: its public methods and fields, by their names. */
interface JavaObject {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [member: string]: any;
  equals(other: unknown): boolean;
  hashCode(): number;
  toString(): string;
}

/** An array, a collection or a map of Java. Collections and arrays have a length; arrays and lists have items by their indexes. */
interface JavaCollection<T = unknown> extends JavaObject, Iterable<T> {
  readonly length: number;
}

/** A class of Java: its constructors, its static methods and fields, and its nested classes. */
interface JavaClass {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  new (...args: unknown[]): any;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [member: string]: any;
  readonly name: string;
  /** The java.lang.Class. */
  readonly class: JavaObject;
  [Symbol.hasInstance](value: unknown): boolean;
}

/** What is thrown when a method of Java throws. It is also an instance of the classes of the exception. */
interface JavaError extends Error {
  /** The name of the class, as name is. */
  readonly className: string;
  readonly javaException: JavaObject;
  readonly javaStack: string;
  /** File and line, if they are known. */
  readonly javaLocation: string;
}

/** Classes of Java, which live in the Java host. It is started when the first class is used. */
declare const Java: {
  /**
   * A class by its full name, such as 'java.util.HashMap', 'java.util.Map.Entry' or 'int[]'. The classes of the JDK and of
   * the plugin API can be used.
   */
  type(name: string): JavaClass;
  /** A copy of what an array, a collection or a map of Java holds: an array, a Uint8Array for bytes, or a Map. */
  from(object: JavaObject): unknown[] | Uint8Array | Map<unknown, unknown>;
  /** An array or collection of Java with copies of the values; an array of objects unless a type is given. */
  to(values: Iterable<unknown> | ArrayLike<unknown> | object, type?: string | JavaClass): JavaObject;
  /** Whether a value is an object or a class of Java. */
  isJavaObject(value: unknown): boolean;
};
