/** Configs that are maps: inputs are put into them before a host sees them. Pure. */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

export interface Filling {
  readonly inputs: ReadonlyMap<string, Json>;
  readonly key: string;
  readonly strict: boolean;
  /** The config is secret, so an error does not quote the names in it. */
  readonly isHidden?: boolean;
}

/**
 * Replaces each map whose only key is `key` with the value of the input that it names. A missing input becomes null, or
 * is refused with `strict`.
 *
 * @throws AnnealError InvalidRequest that names the inputs that are missing
 */
export function fillIn(config: Json, { inputs, key, strict, isHidden }: Filling): Json {
  const missing = new Set<string>();
  const fill = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(fill);
    if (!holdsValues(value)) return value;
    const entries = Object.entries(value);
    const [only] = entries;
    if (entries.length === 1 && only?.[0] === key && typeof only[1] === 'string') {
      const given = inputs.get(only[1]);
      if (given === undefined) missing.add(only[1]);
      return given ?? null;
    }
    return toRecord(entries.map(([name, item]): [string, Json] => [name, fill(item)])) satisfies JsonObject;
  };
  const filled = fill(config);
  if (strict && missing.size > 0 && isHidden) {
    const message = 'The config, which is hidden, reads a Parameter that was not provided.';
    const mistakes = [{ code: 'MissingInput', path: 'input_values', message }];
    throw new AnnealError('InvalidRequest', message, { mistakes });
  }
  if (strict && missing.size > 0) {
    const [first] = missing;
    const mistakes = [...missing].map((name) => ({
      code: 'MissingInput',
      path: `input_values.${name}`,
      message: `The Parameter (${name}) was not provided.`,
    }));
    throw new AnnealError('InvalidRequest', `The Parameter (${first ?? ''}) was not provided.`, { mistakes });
  }
  return filled;
}
