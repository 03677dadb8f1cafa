/** The version of this server and the state of its services. */
import type { Bus } from '@anneal/bus/port.ts';
import { requestsQueue, serviceNames } from '@anneal/contracts/queues.ts';
import { z } from 'zod';
import { baseUrl } from '../http/base-url.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

const infoSchema = z.object({
  name: z.string(),
  version: z.string(),
  links: z.record(z.string(), z.string()),
  limits: z.object({
    body_bytes: z.number().int().meta({
      description:
        'The largest body of a request: a template with its files, as JSON. ANNEAL_GATEWAY_BODY_LIMIT sets it. Uploads of images have a limit of their own.',
    }),
  }),
});
const serviceSchema = z.object({
  name: z.string(),
  status: z.enum(['up', 'down', 'unknown']),
  queue: z.string().nullable(),
  depth: z.number().nullable(),
  in_flight: z.number().nullable(),
  consumers: z.number().nullable(),
  oldest_age_ms: z.number().nullable(),
});

export function systemEndpoints({ bus, version }: { bus: Bus; version: string }): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/info',
      summary: 'Show the name and version of the server. Needs no token.',
      public: true,
      answer: infoSchema,
      handle: ({ request }) => {
        const base = baseUrl(request);
        return {
          name: 'anneal',
          version,
          links: {
            identity: `${base}/identity/v3`,
            orchestration: `${base}/orchestration/v1`,
            messaging: `${base}/messaging`,
            baremetal: `${base}/baremetal`,
            openapi: `${base}/api/v1/openapi.json`,
            asyncapi: `${base}/api/v1/asyncapi.json`,
          },
          limits: { body_bytes: request.routeOptions.bodyLimit },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/services',
      summary: 'List the services: whether each consumes its requests, how many requests wait, and for how long.',
      answer: z.object({ services: z.array(serviceSchema) }),
      handle: async () => ({
        services: await Promise.all(
          serviceNames.map(async (name) => {
            const queue = requestsQueue(name);
            // The gateway answers this request, so it is up. It takes no requests from the bus.
            if (name === 'gateway') return { name, status: 'up', queue: null, ...unmeasured };
            try {
              const { depth, inFlight, consumers, oldestAgeMs } = await bus.queues.measure(queue);
              return {
                name,
                status: consumers > 0 ? 'up' : 'down',
                queue,
                depth,
                in_flight: inFlight,
                consumers,
                oldest_age_ms: oldestAgeMs,
              };
            } catch {
              return { name, status: 'unknown', queue, ...unmeasured };
            }
          }),
        ),
      }),
    }),
  ];
}

const unmeasured = { depth: null, in_flight: null, consumers: null, oldest_age_ms: null } as const;
