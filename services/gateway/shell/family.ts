/** The agents with their checksums, and the calls of the scripts of a host with only a shell. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route, type Route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { forgetRefusedHosts } from '../identity/caller.ts';
import { serveDoor, type DoorOptions } from './door.ts';
import { executableRoutes } from './executable.ts';
import { pushRoute, type PushOptions } from './push.ts';
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
  forgetRefusedHosts(scope, options.authenticate);
  serveRoutes(scope, [...scriptRoutes, ...executableRoutes(options.agents), pushRoute(options)]);
  serveDoor(scope, options);
}

const agentText = shellText.agent.replace('# {send}\n', () => shellText.send);
const agentChecksum = createHash('sha256').update(agentText).digest('hex');

/** Replaces an agent. Its last line calls it, so that an incomplete script does nothing. */
const updateText = `${shellText.send}${shellText.fetch}${shellText.update}{ anneal_update "$@"; }\n`;

const sendsText = (path: '/sh' | '/sh.sha256' | '/update', summary: string, text: string): Route => {
  const answerType = path === '/sh.sha256' ? 'text/plain' : 'text/x-shellscript';
  return route({
    method: 'GET',
    path,
    summary,
    answer: z.string(),
    answerType,
    handle: ({ reply }) => {
      void reply.type(`${answerType}; charset=utf-8`);
      return text;
    },
  });
};

const scriptRoutes = [
  sendsText('/sh', 'Show the agent for hosts with only a shell.', agentText),
  sendsText('/sh.sha256', 'Show its checksum, as `sha256sum -c` reads it.', `${agentChecksum}  anneal-agent\n`),
  sendsText('/update', 'Show the script that replaces an agent.', updateText),
];
