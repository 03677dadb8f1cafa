/** Types and look-ups that the routes of the endpoint share. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Faults } from '../faults.ts';
import type { LabMachine } from '../machine.ts';
import { notFound } from './errors.ts';
import type { Sessions } from './sessions.ts';
import type { Tasks } from './tasks.ts';

export const root = '/redfish/v1';

export interface BmcEndpoint {
  readonly app: FastifyInstance;
  readonly machines: ReadonlyMap<string, LabMachine>;
  readonly faults: ReadonlyMap<string, Faults>;
  readonly sessions: Sessions;
  readonly tasks: Tasks;
  /** Whether it offers its events as a stream, and not only to subscriptions. */
  readonly hasEventStream: boolean;
}

export type ById = { Params: { id: string } };

export const bmcPath = (request: FastifyRequest): string => {
  const path = request.url.split('?')[0] ?? '';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
};

/** Finds a machine by name or UUID. @throws RedfishError 404 */
export function machineAt({ machines }: BmcEndpoint, request: FastifyRequest<ById>): LabMachine {
  const { id } = request.params;
  const machine = machines.get(id) ?? [...machines.values()].find((entry) => entry.state.uuid === id);
  if (!machine) throw notFound(bmcPath(request));
  return machine;
}
