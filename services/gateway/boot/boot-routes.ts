/**
 * What a booting machine fetches, and where it reports to. There is no token: the secret in the address, which only the BMC was
 * told, is the credential. Guessing is slowed down, and the secret is never logged.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { bootReport, bootSeedShow } from '@anneal/contracts/provisioning.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parse, readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { Attempts } from '../identity/attempts.ts';

export interface BootOptions {
  ask: Ask;
  now: () => number;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
}

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
      // Only those that are wrong wait: a right secret boots, whatever else comes from its address.
      attempts.check(ip);
      attempts.failed(ip);
      throw new AnnealError(
        'NotFound',
        'There is nothing to boot with at this address: the secret is wrong, was used up, or the node is no longer being deployed or cleaned. Boot the node again from its BMC.',
      );
    }
  };

  scope.get<{ Params: { secret: string } }>('/:secret', (request) =>
    guarded(request, () => ask('provisioning', bootSeedShow, { data: { token: request.params.secret } })),
  );

  scope.post<{ Params: { secret: string } }>('/:secret/report', (request, reply) =>
    guarded(request, async () => {
      const { status, message } = parse(reportSchema, request.body, 'The report');
      await ask('provisioning', bootReport, { data: { token: request.params.secret, status, message } });
      return reply.code(204).send();
    }),
  );
}
