/** Heat's list of engines: a row for each service of each process of this server. */
import type { Bus } from '@anneal/bus/port.ts';
import { requestsQueue, serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { beatMs } from '@anneal/runtime/service/replica.ts';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';
import { problemsOf, type ReplicaWatch, type SeenReplica } from '../replicas.ts';

export interface EngineRouteOptions {
  bus: Pick<Bus, 'queues'>;
  now: () => Date;
  replicas: Pick<ReplicaWatch, 'list'>;
}

const rowSchema = z.object({
  id: z.string(),
  binary: z.string().meta({ description: 'The service: `anneal-scheduling`.' }),
  engine_id: z.string().meta({ description: 'The process. It may run several services.' }),
  host: z.string(),
  hostname: z.string().meta({ description: 'Machine of the process; the name of a service that no process reports.' }),
  topic: z.string().meta({ description: 'The queue of its requests.' }),
  report_interval: z.number().meta({ description: 'Seconds between two signs of life.' }),
  created_at: z.string().nullable().meta({ description: 'Start of the process.' }),
  updated_at: z.string().meta({ description: 'Latest sign of life, by the clock of the gateway.' }),
  deleted_at: z.null(),
  status: z.enum(['up', 'down']).meta({ description: 'Down: it shows no sign of life, or is not ready.' }),
});

/** The list of services. */
export const engineRoutes = ({ bus, now, replicas }: EngineRouteOptions): Route[] => [
  route({
    method: 'GET',
    path: '/{project}/services',
    summary: 'List the services of this server: a row for each service of each process.',
    answer: z.object({ services: z.array(rowSchema) }),
    handle: async () => {
      const [seen, at] = [replicas.list(), now()];
      const rows = serviceNames.map(async (name) => {
        const reported = seen.filter(({ document }) => document.services.includes(name));
        return reported.length > 0
          ? reported.map((each) => replicaRow(name, each, at))
          : [unreportedRow(name, { at, isUp: await takesRequests(bus, name) })];
      });
      return { services: (await Promise.all(rows)).flat() };
    },
  }),
];

/** A time in the form of this list, which has microseconds and no zone. */
const timeText = (time: Date): string => `${time.toISOString().slice(0, -1)}000`;

function replicaRow(service: ServiceName, seen: SeenReplica, now: Date): z.output<typeof rowSchema> {
  const { id, machine, started_at: start } = seen.document;
  return {
    ...commonOf(service, id),
    host: machine,
    hostname: machine,
    created_at: timeText(new Date(start)),
    updated_at: timeText(new Date(now.getTime() - seen.unheardMs)),
    status: seen.isSilent || problemsOf(seen, service).length > 0 ? 'down' : 'up',
  };
}

/** A service that no process runs, or that only processes of an earlier version run, which show no sign of life. */
const unreportedRow = (
  service: ServiceName,
  { at, isUp }: { at: Date; isUp: boolean },
): z.output<typeof rowSchema> => ({
  ...commonOf(service, derivedId(service)),
  host: service,
  hostname: service,
  created_at: null,
  updated_at: timeText(at),
  status: isUp ? 'up' : 'down',
});

const commonOf = (service: ServiceName, engine: string) => ({
  id: derivedId(`${service} ${engine}`),
  binary: `anneal-${service}`,
  engine_id: engine,
  topic: requestsQueue(service),
  report_interval: beatMs / 1000,
  deleted_at: null,
});

/** Whether a process consumes the requests of the service. The gateway answers this request, so it is up. */
const takesRequests = async ({ queues }: Pick<Bus, 'queues'>, service: ServiceName): Promise<boolean> =>
  service === 'gateway' ||
  queues.measure(requestsQueue(service)).then(
    ({ consumers }) => consumers > 0,
    () => false,
  );
