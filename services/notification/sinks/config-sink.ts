/** A config that runs on hosts, with the event as its input. A host runs it once for an event, however often it arrives. */
import type { Bus } from '@anneal/bus/port.ts';
import { deploymentCreate, hostList } from '@anneal/contracts/calls/configuration.ts';
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ConfigPlace } from './sink-address.ts';
import { accepted, refusedOrAway, type EventSink } from './sink.ts';

export function openConfigSink({
  bus,
  mint,
  project,
  subscription,
  place,
  timeoutMs,
}: {
  bus: Pick<Bus, 'request'>;
  mint: Mint;
  project: string;
  subscription: string;
  place: ConfigPlace;
  timeoutMs: number;
}): EventSink {
  const closing = new AbortController();
  const common = { queue: requestsQueue('configuration'), timeoutMs, signal: closing.signal };

  async function hosts(): Promise<readonly string[]> {
    if (place.where === undefined) return place.hosts;
    const message = mint(hostList, { data: { project, where: place.where }, project });
    const { hosts: found } = await bus.request({ ...common, call: hostList, message });
    const ids = found.filter(({ status }) => status !== 'deleting').map(({ id }) => id);
    if (ids.length > 0) return ids;
    throw new AnnealError('NotFound', `The config was run nowhere: no host matches ${place.where}.`);
  }

  async function run(event: Envelope, host: string): Promise<void> {
    const data = {
      // The same event runs once on a host.
      id: derivedId(`event:${subscription}:${event.id}:${host}`),
      project,
      host,
      config: place.config,
      input_values: inputsFrom(event),
      action: 'CREATE' as const,
      forget: true,
      ...(place.seconds !== undefined && { seconds: place.seconds }),
    };
    const message = mint(deploymentCreate, { data, project, cause: event });
    await bus.request({ ...common, call: deploymentCreate, message });
  }

  return {
    async send({ events }) {
      try {
        const names = await hosts();
        for (const event of events) for (const host of names) await run(event, host);
        return accepted;
      } catch (error) {
        return refusedOrAway(error);
      }
    },
    close() {
      closing.abort(new Error('the service stops'));
      return Promise.resolve();
    },
  };
}

const inputsFrom = (event: Envelope): JsonObject => ({
  event: event as unknown as JsonObject,
  event_id: event.id,
  event_type: event.type,
  event_subject: event.subject ?? '',
});
