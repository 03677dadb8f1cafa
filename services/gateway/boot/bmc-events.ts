/**
 * `POST /bmc/v1/{mac}/{address}`: the events that a BMC without a stream sends to the address of its subscription. An event is
 * only a reason to read the nodes behind that BMC, so its body is passed on unread.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { bmcReported } from '@anneal/contracts/events.ts';
import { bmcAddressIn } from '@anneal/runtime/secrets/bmc-events.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';

export interface BmcEventsOptions {
  context: Pick<ServiceContext, 'bus' | 'mint' | 'secrets'>;
  now: () => number;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
}

/** An event of Redfish has a few KiB. */
const eventLimit = { bytes: 64 * 1024, setting: 'no setting changes it' };

export function bmcEventsFamily(scope: FastifyInstance, { context, now, wording, report }: BmcEventsOptions): void {
  const { bus, mint, secrets } = context;
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  wordErrors(scope, wording, report);
  const attempts = new Attempts({ now, what: 'Reporting events of a BMC', free: 20, longestWaitMs: 30_000 });

  serveRoutes(scope, [
    route({
      method: 'POST',
      path: '/{mac}/{address}',
      summary: 'Report an event of a BMC.',
      body: z.string().default(''),
      bodyType: '*/*',
      limit: eventLimit,
      handle: async ({ params, body: event, request: { ip } }) => {
        const address = bmcAddressIn(secrets, params);
        if (address === undefined) {
          attempts.refused({ address: ip });
          throw new AnnealError('NotFound', 'No BMC has the address of this subscription. Delete the subscription.');
        }
        await bus.publish([mint(bmcReported, { subject: address, data: { address, event } })]);
      },
    }),
  ]);
}
