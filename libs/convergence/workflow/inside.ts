/** The actions that the engine answers itself, because they touch nothing outside. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

/** The end of an action; `outside`: a provider runs it. */
export function answerInside(name: string, input: JsonObject): { ok: boolean; result: Json } | 'outside' {
  switch (name) {
    case 'std.noop':
      return { ok: true, result: null };
    case 'std.echo':
      return { ok: true, result: input['output'] ?? null };
    case 'std.fail':
      return { ok: false, result: input['error_data'] ?? 'The action std.fail always fails.' };
    default:
      return 'outside';
  }
}
