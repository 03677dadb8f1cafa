/** A config that runs on hosts, with the event as its input. A host runs it once for an event, however often it arrives. */
import { deploymentCreate } from '@anneal/contracts/calls/deployments.ts';
import { hostList } from '@anneal/contracts/calls/hosts.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { openCallSink, type Asking, type AskContext } from './call-sink.ts';
import type { ConfigPlace } from './sink-address.ts';
import type { EventSink } from './sink.ts';

export function openConfigSink(
  context: AskContext,
  { subscription, place }: { subscription: string; place: ConfigPlace },
): EventSink {
  const { project } = context;

  async function hosts(ask: Asking): Promise<readonly string[]> {
    if (place.where === undefined) return place.hosts;
    const { hosts: found } = await ask('configuration', hostList, { data: { project, where: place.where } });
    const ids = found.filter(({ status }) => status !== 'deleting').map(({ id }) => id);
    if (ids.length > 0) return ids;
    throw new AnnealError('NotFound', `The config was run nowhere: no host matches ${place.where}.`);
  }

  const runOf = (event: Envelope, host: string) => ({
    // The same event runs once on a host.
    id: derivedId(`event:${subscription}:${event.id}:${host}`),
    project,
    host,
    config: place.config,
    input_values: inputsFrom(event),
    action: 'CREATE' as const,
    forget: true,
    ...(place.seconds !== undefined && { seconds: place.seconds }),
  });

  return openCallSink(context, async ({ events }, ask) => {
    const names = await hosts(ask);
    for (const event of events) {
      for (const host of names)
        await ask('configuration', deploymentCreate, { data: runOf(event, host), cause: event });
    }
  });
}

const inputsFrom = (event: Envelope): JsonObject => ({
  event: event as unknown as JsonObject,
  event_id: event.id,
  event_type: event.type,
  event_subject: event.subject ?? '',
});
