/**
 * Routes by which a booting machine fetches, exchanges and reports. The credential of the exchange is the secret in the
 * address, which only the BMC received. The credential of the report is the token from the exchange. Guessing is slowed
 * down, and no secret is logged.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { bootDocumentShow, bootExchange, bootKeySchema, bootReport } from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { Attempts } from '../identity/attempts.ts';

export interface BootOptions {
  ask: Ask;
  now: () => number;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
}

const exchangeSchema = z.object({ key: bootKeySchema });
const reportSchema = z.object({ status: z.enum(['cleaned', 'failed']), message: z.string().max(4096).default('') });

export function bootFamily(scope: FastifyInstance, { ask, now, wording, report }: BootOptions): void {
  readJsonBodies(scope);
  wordErrors(scope, wording, report);
  // Whole racks boot at once from one address, and only failures count.
  const attempts = new Attempts({ now, what: 'Fetching what to boot with', free: 20, longestWaitMs: 30_000 });

  const guarded = async <T>({ ip }: FastifyRequest, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const wrongSecret =
        error instanceof AnnealError && ['NotFound', 'Unauthorized', 'Forbidden'].includes(error.code);
      if (!wrongSecret) throw error;
      // Only wrong secrets have to wait. A right secret boots, whatever other requests come from its address.
      attempts.check(ip);
      attempts.failed(ip);
      throw new AnnealError(
        'NotFound',
        'Nothing to boot at this address: the secret is wrong or already used, or the node is no longer being deployed or cleaned. Boot the node again from its BMC.',
      );
    }
  };

  scope.get<{ Params: { secret: string } }>('/:secret', (request) =>
    guarded(request, () => ask('provisioning', bootDocumentShow, { data: { secret: request.params.secret } })),
  );

  scope.post<{ Params: { secret: string } }>('/:secret/exchange', (request, reply) =>
    guarded(request, () => {
      const { key } = parseField(exchangeSchema, request.body, 'The exchange');
      void reply.header('cache-control', 'no-store');
      return ask('provisioning', bootExchange, { data: { secret: request.params.secret, key } });
    }),
  );

  scope.post('/report', (request, reply) =>
    guarded(request, async () => {
      const { status, message } = parseField(reportSchema, request.body, 'The report');
      const given = request.headers['x-auth-token'];
      const token = typeof given === 'string' ? given : '';
      await ask('provisioning', bootReport, { data: { token, status, message } });
      return reply.code(204).send();
    }),
  );
}
