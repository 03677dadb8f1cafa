/** The version of this server and the state of its services. */
import type { Bus } from '@anneal/bus/port.ts';
import { queuesOfService, serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { z } from 'zod';
import { baseUrl } from '../http/base-url.ts';
import { goneMs, problemsOf, type ReplicaWatch, type SeenReplica } from '../replicas.ts';
import { route, type Route } from '../http/route.ts';

const infoSchema = z
  .object({
    name: z.string(),
    version: z.string(),
    links: z.record(z.string(), z.string()),
    limits: z.object({
      body_bytes: z.number().int().meta({
        description:
          'The largest body of a request: a template with its files, as JSON. ANNEAL_GATEWAY_BODY_LIMIT sets it. Uploads of images have a limit of their own.',
      }),
    }),
  })
  .meta({ id: 'Info' });
const replicaSchema = z
  .object({
    id: z.string().meta({ description: 'Another one for each start of a process.' }),
    machine: z.string().meta({ description: 'The host name of the machine or container.' }),
    pid: z.number().int(),
    version: z.string(),
    status: z.enum(['ready', 'degraded', 'silent']),
    reason: z.string().meta({ description: 'Why the replica is not ready. Empty when it is.' }),
    started_at: z.iso.datetime(),
    heard_at: z.iso.datetime().meta({ description: 'The latest sign of life, by the clock of the gateway.' }),
    shards: z.array(z.number().int()).meta({ description: 'The shards of stacks that it runs; only of scheduling.' }),
  })
  .meta({ id: 'Replica' });
const serviceSchema = z
  .object({
    name: z.string(),
    status: z.enum(['up', 'down', 'unknown']),
    queue: z.string().nullable(),
    depth: z.number().nullable(),
    in_flight: z.number().nullable(),
    consumers: z.number().nullable(),
    oldest_age_ms: z.number().nullable(),
    replicas: z.array(replicaSchema).meta({ description: 'Its processes, the earliest start first.' }),
    unreported: z.number().int().meta({
      description: 'Consumers that show no sign of life: replicas of a version that does not report.',
    }),
  })
  .meta({ id: 'Service' });

interface SystemOptions {
  readonly bus: Bus;
  readonly version: string;
  readonly now: () => number;
  readonly replicas: Pick<ReplicaWatch, 'list'>;
}

export function systemEndpoints({ bus, version, now, replicas }: SystemOptions): Route[] {
  return [
    route({
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
    route({
      method: 'GET',
      path: '/services',
      summary:
        'List the services: whether each consumes its requests, how many requests wait and for how long, and the health, ' +
        'version, start and shards of each replica.',
      answer: z.object({ services: z.array(serviceSchema) }),
      handle: async () => {
        const all = replicas.list();
        const services = await Promise.all(
          serviceNames.map(async (name) => {
            const [queue, ...others] = queuesOfService(name);
            const seen = all.filter(({ document }) => document.services.includes(name));
            const live = seen.filter(({ isSilent }) => !isSilent).length;
            const reported = { replicas: seen.map((each) => replicaView(name, each, now())), unreported: 0 };
            // The gateway answers this request, so it is up.
            const isHere = name === 'gateway';
            try {
              const questions = await bus.queues.measure(queue);
              // An earlier version of the service has only the first.
              const found = await Promise.allSettled(others.map((each) => bus.queues.measure(each)));
              const measured = [questions, ...found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))];
              const total = (part: 'depth' | 'inFlight'): number => measured.reduce((sum, each) => sum + each[part], 0);
              const ages = measured.flatMap(({ oldestAgeMs }) => oldestAgeMs ?? []);
              return {
                name,
                status: isHere || questions.consumers > 0 ? 'up' : 'down',
                queue,
                depth: total('depth'),
                in_flight: total('inFlight'),
                consumers: questions.consumers,
                oldest_age_ms: ages.length === 0 ? null : Math.max(...ages),
                ...reported,
                unreported: Math.max(0, questions.consumers - live),
              };
            } catch {
              return { name, status: isHere ? 'up' : 'unknown', queue, ...unmeasured, ...reported };
            }
          }),
        );
        return { services };
      },
    }),
  ];
}

const unmeasured = { depth: null, in_flight: null, consumers: null, oldest_age_ms: null } as const;

/** A replica of one service. */
function replicaView(service: ServiceName, seen: SeenReplica, now: number) {
  const { document, unheardMs, isSilent } = seen;
  const { id, machine, pid, release, started_at, shards } = document;
  const own = problemsOf(seen, service);
  const isReady = !isSilent && own.length === 0;
  return {
    id,
    machine,
    pid,
    version: release,
    status: isSilent ? 'silent' : isReady ? 'ready' : 'degraded',
    reason: isSilent ? silence(unheardMs) : own.map(([check, why]) => `${check}: ${why}`).join('; '),
    started_at,
    heard_at: new Date(now - unheardMs).toISOString(),
    // Others run those of a silent replica.
    shards: service === 'scheduling' && !isSilent ? shards : [],
  };
}

const silence = (unheardMs: number): string =>
  `No sign of life for ${Math.round(unheardMs / 1000)} s. Its process was killed or hangs, or it cannot reach the database. ` +
  `It leaves this list ${goneMs / 60_000} minutes after its last sign of life.`;
