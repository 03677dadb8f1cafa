/**
 * Settings come from the environment. One definition holds schema, default, meaning and cost of a setting. The
 * reference page is generated from the definitions. An unknown `ANNEAL_*` name is refused with the nearest known one.
 */
import { redaction } from '../secrets/redact.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { z } from 'zod';
import { nearestOf } from '../nearest.ts';

/** One setting: its variable, its form, its meaning and its cost. */
export interface SettingDefinition<S extends z.ZodType = z.ZodType> {
  /** `ANNEAL_…` */
  readonly env: string;
  /** Reads the text of the variable, or undefined where it is not set; includes the default. */
  readonly schema: S;
  /** Its effect, in a sentence. */
  readonly meaning: string;
  /** The cost of a higher or lower value. */
  readonly cost?: string;
  readonly secret?: boolean;
}

/** The settings of a service, by their names in the code. */
export type SettingDefinitions = Readonly<Record<string, SettingDefinition>>;
/** The values of settings. */
export type SettingsOf<D extends SettingDefinitions> = { readonly [K in keyof D]: z.output<D[K]['schema']> };

/** Keeps the type of each setting. Returns its argument. */
export function defineSettings<D extends SettingDefinitions>(definitions: D): D {
  return definitions;
}

/** The values of a setting that separates them by commas: `a, b,` is a and b. */
export const listIn = (text: string): string[] => text.split(',').flatMap((each) => each.trim() || []);

type Environment = Readonly<Record<string, string | undefined>>;

/** A value may be a URL with a user and password. */
const withoutCredentials = (text: string): string => text.replaceAll(/(?<=\/\/)[^/@\s]*(?=@)/g, redaction);

/** @throws AnnealError InvalidRequest that names every mistake, one line each. An empty variable counts as not set. */
export function readSettings<D extends SettingDefinitions>(definitions: D, environment: Environment): SettingsOf<D> {
  const values: Record<string, unknown> = {};
  const mistakes: Mistake[] = [];
  for (const [name, definition] of Object.entries(definitions)) {
    const text = environment[definition.env];
    const parsed = definition.schema.safeParse(text === '' ? undefined : text);
    if (parsed.success) {
      values[name] = parsed.data;
      continue;
    }
    for (const issue of parsed.error.issues) {
      mistakes.push({
        code: 'InvalidSetting',
        path: definition.env,
        message: `${issue.message}. Meaning: ${definition.meaning}`,
        ...(!definition.secret && text !== undefined && { found: withoutCredentials(text) }),
      });
    }
  }
  refuse(mistakes);
  return values as SettingsOf<D>;
}

/** @throws AnnealError when the environment has an `ANNEAL_*` name that nothing reads. */
export function refuseUnknown(known: readonly string[], environment: Environment): void {
  const names = new Set(known);
  refuse(
    Object.keys(environment)
      .filter((name) => name.startsWith('ANNEAL_') && !names.has(name))
      .map((name) => {
        const nearest = nearestOf(name, [...known]);
        const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
        return {
          code: 'UnknownSetting',
          path: name,
          message: `unknown setting${hint}`,
          ...(nearest !== undefined && { nearest }),
        };
      }),
  );
}

function refuse(mistakes: readonly Mistake[]): void {
  if (mistakes.length === 0) return;
  const lines = mistakes.map(
    ({ path, found, message }) => `${path}${found === undefined ? '' : `=${found}`}: ${message}`,
  );
  throw new AnnealError('InvalidRequest', `The settings are wrong.\n${lines.join('\n')}`, { mistakes });
}
