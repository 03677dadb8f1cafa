/** The events of the endpoint, one for each change of power: as a stream, and sent to the addresses of subscriptions. */
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { root, type BmcEndpoint } from './endpoint.ts';
import { EventSubscriptions, eventSubscriptionRoutes, subscriptionsPath } from './event-subscriptions.ts';
import { link, redfishResource, systemPath } from './representation.ts';

const eventsPath = `${root}/EventService`;
const streamPath = `${eventsPath}/SSE`;
/** Real controllers have about as many. */
const mostStreams = 10;

/** Adds the event service. Every machine behind the endpoint reports to it. */
export function eventServiceRoutes(endpoint: BmcEndpoint): void {
  const { app, machines, faults, hasEventStream } = endpoint;
  const streams = new Set<PassThrough>();
  const subscriptions = new EventSubscriptions();
  let last = 0;
  for (const machine of machines.values()) {
    const { name } = machine.state;
    machine.onPower((power) => {
      if (faults.get(name)?.isDark === true) return;
      last += 1;
      const event = powerEvent(name, power, last);
      for (const stream of streams) stream.write(`id: ${last}\ndata: ${JSON.stringify(event)}\n\n`);
      subscriptions.send(event);
    });
  }

  app.get(eventsPath, () =>
    redfishResource(eventsPath, 'v1_10_0.EventService', {
      Id: 'EventService',
      Name: 'Events',
      ServiceEnabled: true,
      EventFormatTypes: ['Event'],
      ...subscriptions.policy,
      ...(hasEventStream && { ServerSentEventUri: streamPath }),
      Subscriptions: link(subscriptionsPath),
    }),
  );
  eventSubscriptionRoutes(endpoint, subscriptions);
  if (!hasEventStream) return;
  app.get(streamPath, (_request, reply) => {
    if (streams.size >= mostStreams) return reply.code(503).header('retry-after', '60').send();
    const stream = new PassThrough();
    streams.add(stream);
    stream.once('close', () => streams.delete(stream));
    // A comment sends the headers at once.
    stream.write(': open\n\n');
    return reply.type('text/event-stream').send(stream);
  });
}

const powerEvent = (name: string, power: 'On' | 'Off', id: number): object => ({
  '@odata.type': '#Event.v1_10_0.Event',
  Id: String(id),
  Name: 'Event',
  Events: [
    {
      MemberId: '0',
      EventId: randomUUID(),
      EventTimestamp: new Date().toISOString(),
      MessageId: `ResourceEvent.1.3.ResourcePowered${power}`,
      Message: `The resource ${systemPath(name)} has powered ${power.toLowerCase()}.`,
      MessageArgs: [systemPath(name)],
      MessageSeverity: 'OK',
      OriginOfCondition: link(systemPath(name)),
    },
  ],
});
