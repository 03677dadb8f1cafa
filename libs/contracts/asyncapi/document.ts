/**
 * Generates the AsyncAPI 3 document and the JSON Schemas of all messages from the zod schemas. Pure. The document is
 * self-contained: it includes all schemas.
 */
import { eventGapSchema } from '../calls/subscriptions.ts';
import { quotaServices } from '../calls/quotas.ts';
import type { Definition } from '../define.ts';
import { answerSchema, answerType, envelopeSchema } from '../envelope.ts';
import type { Json, JsonObject } from '../json.ts';
import { bindingsOf, natsAddress, servers, sharedBindings, type BindingRoute } from './bindings.ts';
import { examples } from './examples.ts';
import { jsonSchemaOf, NamedSchemas } from '../named-schemas.ts';
import { requestsQueue, serviceNames, type ServiceName } from '../queues.ts';

/** File name (without folder) to JSON Schema: one per message, one more per answer, and the envelope. */
export function jsonSchemas(definitions: Iterable<Definition>): Record<string, JsonObject> {
  const schemas: Record<string, JsonObject> = { 'envelope.json': jsonSchemaOf(envelopeSchema, 'output') };
  for (const definition of definitions) {
    const example = examples[definition.type];
    schemas[`${definition.type}.json`] = {
      ...jsonSchemaOf(definition.data, 'input'),
      description: definition.description,
      ...(example && { examples: [example] }),
    };
    if (definition.kind === 'call') {
      schemas[`${answerType(definition.type)}.json`] = {
        ...jsonSchemaOf(definition.answer, 'output'),
        description: `Value of a successful answer to ${definition.type}.`,
      };
    }
  }
  return Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const idOf = (type: string): string => type.replaceAll(/[^A-Za-z0-9]/g, '_');
const schemaReference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${idOf(name)}` });

const messageReference = (type: string): JsonObject => ({ $ref: `#/components/messages/${idOf(type)}` });

interface Channel {
  address: string;
  route: BindingRoute;
  description: string;
  types: string[];
  /** The service that consumes from it; absent for an event, which any listener may receive. */
  receiver?: string;
}

const servicesWithQuotas: readonly string[] = Object.values(quotaServices);

/** Lists the queues and the messages on each. Each provider serves the resource messages on its own queue. */
function channelsOf(byFile: Readonly<Record<string, readonly Definition[]>>): Channel[] {
  const channels: Channel[] = [];
  for (const service of serviceNames) {
    const quotas = servicesWithQuotas.includes(service) ? (byFile['quotas'] ?? []) : [];
    const calls = [...(byFile[service] ?? []), ...quotas].filter(({ kind }) => kind === 'call');
    if (calls.length === 0) continue;
    channels.push({
      address: requestsQueue(service satisfies ServiceName),
      route: 'queue',
      description: `Questions to the ${service} service. Answers go to the question’s replyto.`,
      types: calls.map(({ type }) => type),
      receiver: service,
    });
  }
  const resource = (byFile['resource'] ?? []).map(({ type }) => type);
  const toProvider = resource.filter((type) => !['resource.response', 'provider.announced'].includes(type));
  channels.push(
    {
      address: 'anneal.{provider}.requests',
      route: 'queue',
      description: 'Requests to the provider of a resource type, on the queue that it announced.',
      types: toProvider,
      receiver: 'provider',
    },
    {
      address: 'anneal.scheduling.shard.{shard}',
      route: 'queue',
      description: 'Messages for the stacks of one shard. The queue has one active consumer.',
      types: ['resource.response', 'timer.fired', 'stack.create', 'stack.update', 'stack.delete', 'stack.signal'],
      receiver: 'scheduling',
    },
    {
      address: 'anneal.announcements',
      route: 'queue',
      description: 'A provider sends it to anneal.templating.requests and to anneal.scheduling.requests at each start.',
      types: ['provider.announced'],
      receiver: 'templating and scheduling',
    },
  );
  const events = byFile['events'] ?? [];
  for (const { type, description } of events)
    channels.push({ address: type, route: 'event', description, types: [type] });
  channels.push({
    address: '/api/v1/events/ws',
    route: 'stream',
    description:
      'A WebSocket of the gateway: each text is one event of the project, in the order of the log. Subprotocol cloudevents.json. The reader sends nothing.',
    types: [...events.map(({ type }) => type), gapType, positionType],
  });
  return channels;
}

/** Only in a WebSocket, where every text is an event. Its id is the id that the log has lost. */
const gapType = 'events.gap';
/** The id to continue after, when no event names it. */
const positionType = 'events.position';

const messageOf = (type: string, data: JsonObject, about?: string): JsonObject => ({
  name: type,
  ...(about !== undefined && { summary: about }),
  payload: { allOf: [schemaReference('envelope'), { properties: { type: { const: type }, data } }] },
});

/** The form of every answer: the envelope with a value or a failure. */
const answerEnvelope: JsonObject = {
  allOf: [schemaReference('envelope'), { properties: { data: schemaReference('answer') } }],
};

const answerOf = (type: string): JsonObject => ({
  name: type,
  payload: {
    allOf: [
      schemaReference('answerEnvelope'),
      { properties: { type: { const: type }, data: { properties: { value: schemaReference(type) } } } },
    ],
  },
});

function channelOf({ address, route, description, types }: Channel): JsonObject {
  return {
    address,
    ...(route !== 'event' && { description }),
    ...(address.includes('{') && {
      parameters: Object.fromEntries([...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, {}])),
    }),
    messages: Object.fromEntries(types.map((type) => [idOf(type), messageReference(type)])),
    bindings: bindingsOf(route, address),
    ...(route === 'stream' ? { servers: [{ $ref: '#/servers/gateway' }] } : { 'x-nats': natsAddress(route, address) }),
  };
}

/** The schema without the limits of safe integers, which hold for every integer of a message. */
function brief<T extends Json>(value: T): T;
function brief(value: Json): Json {
  if (Array.isArray(value)) return value.map(brief);
  if (typeof value !== 'object' || value === null) return value;
  const { minimum, maximum, ...rest } = value;
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, brief(each)])),
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  };
}

function componentsOf(definitions: readonly Definition[]): JsonObject {
  const messages: Record<string, Json> = {};
  for (const { type, description, kind } of definitions) {
    messages[idOf(type)] = messageOf(type, schemaReference(type), description);
    if (kind === 'call') messages[idOf(answerType(type))] = answerOf(answerType(type));
  }
  const named = new NamedSchemas();
  messages[idOf(gapType)] = messageOf(
    gapType,
    named.place(jsonSchemaOf(eventGapSchema, 'output')),
    'The log has removed events that the reader may have missed.',
  );
  messages[idOf(positionType)] = messageOf(
    positionType,
    { type: 'object', required: ['after'], properties: { after: { type: 'string' } } },
    'The id to continue after: first in a stream without a starting point, and when no event came for a while.',
  );
  const schemas = Object.entries({ ...jsonSchemas(definitions), 'answer.json': jsonSchemaOf(answerSchema, 'output') });
  const placed = schemas.map(([file, { description: _inMessage, ...schema }]) => [
    idOf(file.replace(/\.json$/, '')),
    named.place(brief(schema)),
  ]);
  return {
    ...sharedBindings,
    messages,
    schemas: { ...named.parts, answerEnvelope, ...(Object.fromEntries(placed) as JsonObject) },
  };
}

/** The AsyncAPI document of all definitions. */
export function asyncApi(options: {
  version: string;
  byFile: Readonly<Record<string, readonly Definition[]>>;
}): JsonObject {
  const channels = channelsOf(options.byFile);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Anneal',
      version: options.version,
      description:
        'Every message and event, as CloudEvents 1.0 in JSON, structured mode, on RabbitMQ and NATS JetStream. ' +
        'Every listener may receive events; queues belong to the services. Generated by `npm run contracts`; ' +
        'the gateway serves it as /api/v1/asyncapi.json and /api/v1/asyncapi.yaml.',
      license: { name: 'Apache-2.0' },
    },
    servers,
    defaultContentType: 'application/cloudevents+json',
    channels: Object.fromEntries(channels.map((channel) => [idOf(channel.address), channelOf(channel)])),
    operations: Object.fromEntries(
      channels.map(({ address, route, receiver }) => [
        `${receiver ? 'receive' : 'subscribe'}_${idOf(address)}`,
        {
          action: receiver ? 'receive' : 'send',
          channel: { $ref: `#/channels/${idOf(address)}` },
          ...(receiver && { summary: `Taken by ${receiver}.` }),
          bindings: { $ref: `#/components/operationBindings/${route}` },
        },
      ]),
    ),
    components: componentsOf(Object.values(options.byFile).flat()),
  };
}
