/**
 * Suspends and resumes a server: turns its machine off, gracefully if possible, and on. Keeps the disk and the node.
 */
import { AnnealError, fromFailure } from '@anneal/contracts/errors.ts';
import type { ServerHosts } from '../nodes/states/hosts.ts';
import type { Power, PowerTarget } from '../documents/node.ts';
import type { NodeDriver } from '../nodes/states/driver.ts';
import { changePower } from '../nodes/states/moves.ts';
import type { NodeRecords } from '../documents/records.ts';
import type { ServerDocument } from './document.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

const lookAgainMs = 1_000;

export function serverPower({
  records,
  driver,
  hosts,
}: {
  records: NodeRecords;
  driver: NodeDriver;
  hosts: ServerHosts;
}): {
  suspend: ServerWork;
  resume: ServerWork;
} {
  /** Brings the machine to the wanted power. Undefined when it is reached. */
  const bringTo = async (
    server: ServerDocument,
    { power, target, doing }: { power: Power; target: PowerTarget; doing: string },
  ): Promise<ServerDecision | undefined> => {
    const node = await records.ofInstance(server.id);
    if (node?.state !== 'active') {
      const what = node ? `its node ${node.name} is ${node.state}` : 'it has no node';
      return { kind: 'failed', error: new AnnealError('Conflict', `Server ${server.hostname}: ${what}.`) };
    }
    const waiting: ServerDecision = {
      kind: 'waiting',
      message: `node ${node.name} is being ${doing}`,
      ms: lookAgainMs,
    };
    if (node.work) return waiting;
    if (node.power === power) return undefined;
    // The power change for this request ended without reaching the wanted state.
    if (server.attempts > 0 && node.last_error) return { kind: 'failed', error: fromFailure(node.last_error) };
    const changed = await records.change(node.id, (current) =>
      current.work === null && current.instance_id === server.id
        ? { ...changePower(target, driver.moment), last_error: null }
        : undefined,
    );
    if (changed) driver.kick(node.id);
    return waiting;
  };
  const done = (server: ServerDocument): ServerDecision => ({ kind: 'complete', physical_id: server.id });

  return {
    suspend: async (server) =>
      (await bringTo(server, { power: 'power off', target: 'soft power off', doing: 'turned off' })) ?? done(server),
    resume: async (server) => {
      const progress = await bringTo(server, { power: 'power on', target: 'power on', doing: 'turned on' });
      if (progress) return progress;
      const host = await hosts.show(server.id, server.project);
      // An older contact does not count. The host must ask for work again.
      if (host.last_seen_at !== null && host.last_seen_at >= server.created_at) return done(server);
      return { kind: 'waiting', message: `host ${server.hostname} boots`, ms: lookAgainMs };
    },
  };
}
