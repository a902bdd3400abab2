// SPDX-License-Identifier: Apache-2.0
//
// Java classes in a plugin in JavaScript. Their members are known at run time, not to these types.

/**
 * The methods of a class without a declared type. Cast results with `as`, or declare what you use:
 * `Java.type<{ size(): number }>('java.util.HashMap')`.
 */
interface JavaMethods {
  [name: string]: (...args: unknown[]) => unknown;
}

/** The members of every Java object. */
interface JavaBase {
  equals(other: unknown): boolean;
  hashCode(): number;
  toString(): string;
}

/** A Java object: its public methods and fields, by name. */
type JavaObject<T extends object = JavaMethods> = T & JavaBase;

/**
 * A Java array, collection or map. Collections and arrays have a length; arrays and lists have
 * items by index.
 */
interface JavaCollection<T = unknown> extends JavaBase, Iterable<T> {
  readonly length: number;
  readonly [index: number]: T;
}

/** A Java class: its constructors, its static methods and fields, and its nested classes. */
type JavaClass<T extends object = JavaMethods, Statics extends object = JavaMethods> = Statics & {
  new (...args: unknown[]): JavaObject<T>;
  readonly name: string;
  /** The java.lang.Class. */
  readonly class: JavaObject;
  [Symbol.hasInstance](value: unknown): boolean;
};

/**
 * The error for an exception of a Java method. It is also an instance of the exception's classes.
 */
interface JavaError extends Error {
  /** The name of the class, the same as name. */
  readonly className: string;
  readonly javaException: JavaObject;
  readonly javaStack: string;
  /** File and line, if known. */
  readonly javaLocation: string;
}

/** Java classes, which are in the Java host. It is started when the first class is used. */
declare const Java: {
  /**
   * Returns a class by its full name, such as 'java.util.HashMap', 'java.util.Map.Entry' or
   * 'int[]'. The classes of the JDK and of the plugin API can be used.
   */
  type<T extends object = JavaMethods, Statics extends object = JavaMethods>(name: string): JavaClass<T, Statics>;
  /**
   * Returns a copy of the contents of a Java array, collection or map: an array, a Uint8Array for
   * bytes, or a Map.
   */
  from(object: JavaBase): unknown[] | Uint8Array | Map<unknown, unknown>;
  /**
   * Returns a Java array or collection with copies of the values; an array of objects unless a type
   * is given.
   */
  to(values: Iterable<unknown> | ArrayLike<unknown> | object, type?: string | JavaClass): JavaCollection;
  /** Returns whether a value is a Java object or class. */
  isJavaObject(value: unknown): boolean;
};
