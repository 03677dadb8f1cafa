/**
 * Keeps numbers of a template that JSON would change, such as 1.0 and integers of twenty digits: a document that holds
 * one is sent to templating as text, which it reads as Python does.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { plain, plainParameter } from '@anneal/python/values/exact.ts';

/** The fields of a request whose numbers stay exact. */
const documents: ReadonlySet<string> = new Set(['template', 'environment', 'parameters', 'adopt_stack_data']);

/** The body of a request, in which only a document holds exact numbers. */
export const withPlainFields = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, documents.has(name) ? value : plain(value)]));

/** A template or an environment; as text when it holds such a number. */
export const exactDocument = (document: string | JsonObject): string | JsonObject =>
  typeof document === 'string' || plain(document) === document ? document : JSON.stringify(document);

/** Parameters whose type is not known yet. */
export const exactParameters = (parameters: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, plainParameter(value)]));
