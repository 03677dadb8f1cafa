import { expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { createSecrets } from '@anneal/runtime/secrets.ts';
import { createEvaluation } from './evaluation.ts';

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const size = { bytes: 1024, setting: 'test' };

it('finds no change in a property whose secret an older key or an older format sealed', () => {
  const secrets = createSecrets([key(2), key(1)]);
  const evaluation = createEvaluation({
    secrets,
    typeOf: () => undefined,
    sizes: { value: size, resource: size, stack: size },
  });
  const tools = evaluation.toolsAt({ now: 0, answered: new Map(), graceMs: 0, limit: 1 });
  const compare = (before: JsonObject, after: JsonObject) => tools.compare({ type: 'OS::Test', before, after }).verdict;
  const after = { password: secrets.seal('hunter2') };
  const ofFormat1 = { $sealed: '1.72cd6e84.VL_rYNZuOcMmAcF5gazCrNLVOMvsGd8rba1wYALUK9VymXjXIQ' };
  for (const sealed of [createSecrets([key(1)]).seal('hunter2'), ofFormat1]) {
    expect(compare({ password: sealed }, after)).toBe('same');
    expect(compare({ password: sealed }, { password: secrets.seal('other') })).not.toBe('same');
  }
});
