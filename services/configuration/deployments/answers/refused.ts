/** Handles messages of hosts that were refused: dead letters, their replay, and the runs that they name. */
import type { Death } from '@anneal/bus/port.ts';
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { HostDocument } from '../../collections.ts';
import { readHostMessage } from '../../hosts/response-body.ts';
import { openQuoted } from '../decisions/quoted.ts';
import { takeInput } from '../runs/carry-out.ts';
import type { HostMessageContext } from '../runs/run-context.ts';
import { runNamedBy } from './named-run.ts';
import { handleMessage } from './posted.ts';

/**
 * Receives refused messages and makes them dead letters with their bytes. A replay after a fix of this service
 * succeeds.
 */
export async function handleRefused(
  context: HostMessageContext,
  refused: { host_id: string; host_name: string; queue: string; run?: string | undefined; body: Json },
): Promise<void> {
  const read = readHostMessage(openQuoted(context.service.secrets, refused.body));
  if (!read.ok) {
    const why = read.mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new AnnealError('InvalidMessage', `Host ${refused.host_name} posted to ${refused.queue}: ${why}`, {
      mistakes: read.mistakes,
      details: { host: refused.host_name, host_id: refused.host_id, queue: refused.queue },
    });
  }
  const host = await context.collections.hosts.get(refused.host_id);
  if (host) await handleMessage(context, host, { message: read.message });
}

/**
 * Fails the run that an unusable message answers, because otherwise it would wait for another answer until its limit.
 */
export async function failNamed(context: HostMessageContext, { message, failure }: Death): Promise<void> {
  const refused = isObject(message?.data) ? message.data : {};
  const { host_id: hostId, run, body = null } = refused;
  const host = typeof hostId === 'string' ? await context.collections.hosts.get(hostId) : undefined;
  if (!host) return;
  const named = typeof run === 'string' ? run : undefined;
  await failAnswered(context, host, { run: named, body: openQuoted(context.service.secrets, body), failure });
}

/** Fails the run that a refused message of a host answers, if that is known. */
export async function failAnswered(
  context: HostMessageContext,
  host: HostDocument,
  { failure, ...refused }: { run?: string | undefined; body: Json; failure: Failure },
): Promise<void> {
  const run = await runNamedBy(context, host, refused);
  if (run !== undefined) await takeInput(context, { run }, { kind: 'refused', host, failure });
}
