/** Instant queries to a Prometheus server that the operator has chosen. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { InstantQuery } from './judge.ts';

const sample = z.tuple([z.number(), z.string()]);
const answerSchema = z.object({
  status: z.literal('success'),
  data: z.discriminatedUnion('resultType', [
    z.object({ resultType: z.literal('vector'), result: z.array(z.object({ value: sample })) }),
    z.object({ resultType: z.literal('scalar'), result: sample }),
  ]),
});
const timeoutMs = 10_000;
const mostBytes = 4 * 1024 * 1024;

/**
 * Values that are no numbers (NaN) are left out. @throws AnnealError Unavailable when the server does not answer a query
 * with a vector or a scalar
 */
export const createInstantQuery =
  (url: string | undefined): InstantQuery =>
  async (query) => {
    if (url === undefined) {
      throw new AnnealError(
        'Unavailable',
        'Cannot evaluate a query of Prometheus: ANNEAL_NOTIFICATION_PROMETHEUS_URL is not set.',
      );
    }
    try {
      const response = await fetch(new URL('api/v1/query', url.endsWith('/') ? url : `${url}/`), {
        method: 'POST',
        body: new URLSearchParams({ query }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      if (!response.ok || text.length > mostBytes) throw new Error(`status ${response.status}: ${text.slice(0, 200)}`);
      const { data } = answerSchema.parse(JSON.parse(text));
      const values = data.resultType === 'scalar' ? [data.result[1]] : data.result.map(({ value }) => value[1]);
      return values.map(numberFrom).filter((value) => !Number.isNaN(value));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new AnnealError('Unavailable', `Prometheus at ${url} did not answer the query ${query}: ${reason}`, {
        cause: error,
      });
    }
  };

const numberFrom = (text: string): number =>
  text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : text === '' ? Number.NaN : Number(text);
