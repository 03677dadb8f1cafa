/** The routes of a host with only a shell: the agent with its checksum, and the calls of its scripts. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { agentChecksum, agentText } from './agent.ts';
import { doorRoutes, type DoorOptions } from './door.ts';

export type ShellFamilyOptions = DoorOptions & {
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
};

export function agentFamily(scope: FastifyInstance, options: ShellFamilyOptions): void {
  wordErrors(scope, options.wording, options.report);
  scope.get('/sh', (_request, reply) => reply.type('text/x-shellscript; charset=utf-8').send(agentText));
  // In the form that `sha256sum -c` reads.
  scope.get('/sh.sha256', (_request, reply) => reply.type('text/plain').send(`${agentChecksum}  anneal-agent\n`));
  doorRoutes(scope, options);
}
