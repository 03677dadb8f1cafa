/** A row of the table: how the properties of a type are tried. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

/** The properties to try of a type. */
export interface TypeEntry {
  /** The properties of every resource of the type, so that it is valid. */
  readonly base?: JsonObject;
  /** A value for each property. In texts, `@` becomes another word in each twin, and `##` another number. */
  readonly values: Readonly<Record<string, Json>>;
  /** The test that sees the effect of a property or key, by path, where the records do not show it. */
  readonly seen?: Readonly<Record<string, string>>;
  /**
   * The records show what the provider keeps, and these tests see what it does: a file for each other property that acts
   * and each key of it.
   */
  readonly keeps?: Readonly<Record<string, string>>;
  /** Properties of all resources for one property, where its effect needs them. */
  readonly with?: Readonly<Record<string, JsonObject>>;
  /** Properties that must be known before the stack exists, with the reason. They are not tried. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Properties whose texts name an object, so they are shown. The text of every other property stays sealed. */
  readonly names?: readonly string[];
  /** Its provider acts on the values itself, and keeps them open: only what the engine keeps and shows is sealed. */
  readonly opens?: true;
  /** Its properties have their effect on this signal: the messages that follow are compared. */
  readonly signal?: JsonObject;
  /** The creation fails, because nothing comes that the resources wait for: the reasons are compared. */
  readonly fails?: true;
  /** The resources only begin, because their end needs a machine: compare what is recorded until then. */
  readonly waits?: true;
}

/** The file with the test that sees each of these properties act. */
export const seenIn = (file: string, paths: string): Record<string, string> =>
  Object.fromEntries(paths.split(' ').map((path) => [path, file]));
