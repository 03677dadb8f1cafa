import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { defineSettings, listIn, readSettings, refuseUnknown } from './settings.ts';

const definitions = defineSettings({
  port: { env: 'ANNEAL_X_PORT', schema: z.coerce.number().int().max(10).default(7), meaning: 'The port.' },
  password: { env: 'ANNEAL_X_PASSWORD', schema: z.string().min(20).optional(), meaning: 'The password.', secret: true },
});
const refusal = (work: () => unknown): AnnealError => {
  try {
    work();
  } catch (error) {
    if (error instanceof AnnealError) return error;
  }
  throw new Error('was not refused');
};

describe('settings', () => {
  it('have their defaults when the environment variable is missing or empty', () => {
    expect(readSettings(definitions, {})).toEqual({ port: 7 });
    expect(readSettings(definitions, { ANNEAL_X_PORT: '' })).toEqual({ port: 7 });
  });

  it('are all reported at once when wrong, each with its value and meaning, but never a secret', () => {
    const error = refusal(() => readSettings(definitions, { ANNEAL_X_PORT: '11', ANNEAL_X_PASSWORD: 'hunter2' }));
    expect(error.mistakes?.map(({ path }) => path)).toEqual(['ANNEAL_X_PORT', 'ANNEAL_X_PASSWORD']);
    expect(error.message).toContain('ANNEAL_X_PORT=11');
    expect(error.message).toContain('The port.');
    expect(error.message).not.toContain('hunter2');
  });

  it('are reported without the user and password of a URL', () => {
    const url = defineSettings({ url: { env: 'ANNEAL_X_URL', schema: z.string().max(3), meaning: 'The URL.' } });
    const error = refusal(() => readSettings(url, { ANNEAL_X_URL: 'amqp://root:hunter2@host/x' }));
    expect(error.message).toContain('ANNEAL_X_URL=amqp://******@host/x');
  });

  it('separate the values of a list by commas, and may leave values empty', () => {
    expect(listIn(' a.example, b.example,, ')).toEqual(['a.example', 'b.example']);
    expect(listIn('')).toEqual([]);
  });

  it('are refused when unknown, with the nearest known name', () => {
    const error = refusal(() => refuseUnknown(['ANNEAL_X_PORT', 'ANNEAL_DATA'], { ANNEAL_X_PROT: '1', HOME: '/' }));
    expect(error.message).toContain('ANNEAL_X_PROT');
    expect(error.mistakes?.[0]?.nearest).toBe('ANNEAL_X_PORT');
  });
});
