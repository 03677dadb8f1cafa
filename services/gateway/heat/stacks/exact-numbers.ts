/**
 * Keeps numbers of a template that JSON would change, such as 1.0 and integers of twenty digits: a document that holds
 * one is sent to templating as text, which it reads as Python does.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { plain, plainParameter } from '@anneal/python/values/exact.ts';

/** A template or an environment; as text when it holds such a number. */
export const exactDocument = (document: string | JsonObject): string | JsonObject =>
  typeof document === 'string' || plain(document) === document ? document : JSON.stringify(document);

/** Parameters whose type is not known yet. */
export const exactParameters = (parameters: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, plainParameter(value)]));
