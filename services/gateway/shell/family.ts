/** The agents with their checksums, and the calls of the scripts of a host with only a shell. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { forgetRefusedHosts } from '../identity/caller.ts';
import { doorRoutes, type DoorOptions } from './door.ts';
import { executableRoutes } from './executable.ts';
import { doorPath } from '../zaqar/claims/send-script.ts';
import { pushRequests, type PushOptions } from './push.ts';
import { createHash } from 'node:crypto';
import { shellText } from '../scripts/text.ts';

export type ShellFamilyOptions = DoorOptions &
  PushOptions & {
    wording: FamilyWording;
    /** Folder with the agents that are one file each. */
    agents: string | undefined;
    report: (error: unknown, request: FastifyRequest) => void;
  };

export function agentFamily(scope: FastifyInstance, options: ShellFamilyOptions): void {
  wordErrors(scope, options.wording, options.report);
  scope.get('/sh', (_request, reply) => reply.type('text/x-shellscript; charset=utf-8').send(agentText));
  // In the form that `sha256sum -c` reads.
  scope.get('/sh.sha256', (_request, reply) => reply.type('text/plain').send(`${agentChecksum}  anneal-agent\n`));
  scope.get('/update', (_request, reply) => reply.type('text/x-shellscript; charset=utf-8').send(updateText));
  executableRoutes(scope, options.agents);
  forgetRefusedHosts(scope, options.authenticate);
  scope.get(`${doorPath}/requests`, (request, reply) => pushRequests(options, request, reply));
  doorRoutes(scope, options);
}

const agentText = shellText.agent.replace('# {send}\n', () => shellText.send);
const agentChecksum = createHash('sha256').update(agentText).digest('hex');

/** Replaces an agent. Its last line calls it, so that an incomplete script does nothing. */
const updateText = `${shellText.send}${shellText.fetch}${shellText.update}{ anneal_update "$@"; }\n`;
