/** Converts the value of an OS::Heat::Value to its `type`, by the rules of properties. */
import { isObject } from '@anneal/contracts/json.ts';
import { isFloat } from '@anneal/python/values/number.ts';
import { isExact, numberOf } from '@anneal/contracts/exact-number.ts';
import type { Json } from '@anneal/contracts/json.ts';

export type Coerced = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly message: string };

export function coerceValue(value: Json, type: Json): Coerced {
  if (value === null || type === null) return { ok: true, value };
  const shown = JSON.stringify(value);
  switch (type) {
    case 'string':
      if (typeof value === 'string') return { ok: true, value };
      if (typeof value === 'boolean') return { ok: true, value: value ? 'True' : 'False' };
      if (isExact(value) ? !isFloat(value) : Number.isInteger(value)) return { ok: true, value: shown };
      return { ok: false, message: `Value must be a string; got ${shown}` };
    case 'number': {
      if (numberOf(value) !== undefined) return { ok: true, value };
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
      return Number.isFinite(number)
        ? { ok: true, value: number }
        : { ok: false, message: `Value ${shown} is not a number` };
    }
    case 'boolean': {
      if (typeof value === 'boolean') return { ok: true, value };
      const word = typeof value === 'string' ? value.toLowerCase() : '';
      if (word === 'true' || word === 'false') return { ok: true, value: word === 'true' };
      return { ok: false, message: `${shown} is not a valid boolean` };
    }
    case 'comma_delimited_list':
      return Array.isArray(value) ? { ok: true, value } : { ok: false, message: `${shown} is not a list` };
    case 'json':
      return isObject(value) ? { ok: true, value } : { ok: false, message: `${shown} is not a map` };
    default:
      return { ok: true, value };
  }
}
