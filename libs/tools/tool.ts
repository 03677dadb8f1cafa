/**
 * A tool applies the configs of one group. It makes one POSIX shell program from the request, so that every agent can
 * run it, also one that has only a shell. Pure.
 *
 * T1 No value of the request is read as shell code.
 * T2 The program may run again: a second run of the same request ends in the same state.
 * T3 It runs in an empty folder of its own and leaves outputs in `$heat_outputs_path.<name>`. Its exit status is the
 *    status of the config.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { parse } from 'yaml';
import { z } from 'zod';

export interface HostTool {
  /** The group of the configs that it applies. */
  readonly group: string;
  /** @throws ConfigError when the config or its options are not what the tool expects */
  program(request: HostRequest): string;
}

/** A config that its tool cannot apply. The message names the group, the place and the rule. */
export class ConfigError extends Error {}

/** Text as it is, other values as JSON, because environment variables and files hold text. */
export const asText = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

export const inputsOf = (request: HostRequest): JsonObject =>
  toRecord(request.inputs.map(({ name, value }) => [name, value]));

/** The config as a value: an object as it is, text as YAML, of which JSON is a part. */
export function structured(request: HostRequest): Json {
  if (typeof request.config !== 'string') return request.config;
  try {
    return (parse(request.config, { maxAliasCount: 100 }) ?? {}) as Json;
  } catch (error) {
    throw new ConfigError(`The config of group ${request.group} is not YAML: ${(error as Error).message}`);
  }
}

/**
 * Checks a config, or its options, against a schema.
 * @throws ConfigError with the first ten mistakes, each with its path
 */
export function readChecked<T>(request: HostRequest, what: 'config' | 'options', schema: z.ZodType<T>): T {
  const result = safeParseExact(schema, what === 'config' ? structured(request) : request.options);
  if (result.success) return result.data;
  const mistakes = result.error.issues.slice(0, 10).map((issue) => `${issue.path.join('.') || what}: ${ruleOf(issue)}`);
  throw new ConfigError(`The ${what} of group ${request.group} cannot be applied: ${mistakes.join('; ')}`);
}

/** The rule of a key is inside the issue about its record. */
const ruleOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;

/** A list that may be written as one text with commas, as the options of heat-agents are. */
export const commaList = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (typeof value === 'string' ? value : value.join(',')));
