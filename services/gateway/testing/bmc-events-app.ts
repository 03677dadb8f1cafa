/** The route by which BMCs report events, alone, for tests without a whole gateway. */
import fastify, { type FastifyInstance } from 'fastify';
import { bmcEventsPrefix } from '@anneal/runtime/secrets/bmc-events.ts';
import { apiWording } from '../api/wording.ts';
import { bmcEventsFamily, type BmcEventsOptions } from '../boot/bmc-events.ts';

export async function bmcEventsApp(context: BmcEventsOptions['context']): Promise<FastifyInstance> {
  const app = fastify({ routerOptions: { maxParamLength: 1000 } });
  app.decorate('wordings', new Map());
  const options = { context, now: Date.now, wording: apiWording, report: () => undefined };
  await app.register(async (scope) => bmcEventsFamily(scope, options), { prefix: bmcEventsPrefix });
  await app.ready();
  return app;
}
