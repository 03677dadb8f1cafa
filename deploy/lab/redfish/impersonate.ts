/** Gives the controllers of single machines the habits of others, by the table of personalities. */
import { isObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Personality } from '../personalities.ts';
import { bmcPath, type BmcEndpoint } from './endpoint.ts';
import { RedfishError } from './errors.ts';
import { link, redfishResource, systemPath } from './representation.ts';
import { noSession } from './sessions.ts';
import { monitorsPath, tasksPath, type TaskHabit, type Tasks } from './tasks.ts';

type Body = Readonly<Record<string, unknown>>;

/** The memory of a controller with habits. */
interface Memory {
  /** Requests by the token of their session. */
  readonly uses: Map<string, number>;
  /** Readings that still show the word for a change of power. */
  readings: number;
  /** The task that brings an image. */
  inserting: ReturnType<Tasks['start']> | undefined;
}

interface Impersonation {
  readonly name: string;
  readonly habits: Personality;
  readonly memory: Memory;
  readonly path: string;
}

const readings = 3;
const looks = 2;
const description = '/InsertMediaActionInfo';
const isChange = ({ method }: FastifyRequest): boolean => ['POST', 'PATCH', 'DELETE'].includes(method);

/** Call it after the authentication and before the first route. */
export function impersonate(app: FastifyInstance, { faults, tasks }: Pick<BmcEndpoint, 'faults' | 'tasks'>): void {
  const memories = new Map<string, Memory>();
  const at = (request: FastifyRequest): Impersonation | undefined => {
    const path = bmcPath(request);
    const name = /^\/redfish\/v1\/(?:Systems|Managers|Chassis)\/([^/]+)/.exec(path)?.[1] ?? '';
    const habits = faults.get(name)?.personality;
    if (!habits) return undefined;
    const memory = memories.get(name) ?? { uses: new Map(), readings: 0, inserting: undefined };
    memories.set(name, memory);
    return { name, habits, memory, path };
  };

  app.addHook('onRequest', async (request, reply) => {
    const who = at(request);
    if (!who) return;
    endSession(who, request.headers['x-auth-token']);
    const document = ownDocument(who);
    if (document) await reply.send(document);
  });
  app.addHook('preHandler', async (request) => {
    const who = at(request);
    if (who?.path.endsWith('.InsertMedia')) demand(who.habits, request.body);
  });
  app.addHook('preSerialization', async (request, _reply, payload) => {
    const who = at(request);
    return who && isObject(payload) ? shown(who, payload) : payload;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const who = at(request);
    if (!who) return payload;
    const isDone = isChange(request) && reply.statusCode < 300 && reply.statusCode !== 202;
    if (isDone && who.path.endsWith('.Reset')) who.memory.readings = readings;
    const answer = isDone && who.habits.accepts ? accept(who, { reply, tasks }) : payload;
    if (who.habits.absoluteLinks !== true) return answer;
    const origin = `http://${request.headers.host}`;
    const location = reply.getHeader('location');
    if (typeof location === 'string') void reply.header('location', `${origin}${location}`);
    return typeof answer === 'string' ? answer.replaceAll('"/redfish/v1', `"${origin}/redfish/v1`) : answer;
  });
}

function endSession({ habits, memory }: Impersonation, token: string | string[] | undefined): void {
  if (!habits.session || typeof token !== 'string') return;
  const uses = (memory.uses.get(token) ?? 0) + 1;
  memory.uses.set(token, uses);
  if (uses <= habits.session.requests) return;
  if (habits.session.status === 401) throw noSession();
  throw new RedfishError('InsufficientPrivilege', 'The session has expired, or it lacks privileges.');
}

/** A document that only this personality has. */
function ownDocument({ habits, path }: Impersonation): object | undefined {
  if (habits.demands?.by === 'description' && path.endsWith(description)) {
    const Parameters = ['Image', ...habits.demands.names].map((Name) => ({ Name, Required: true }));
    return redfishResource(path, 'v1_4_0.ActionInfo', { Id: 'InsertMedia', Name: 'InsertMedia', Parameters });
  }
  const [, collection = '', id = ''] = /^(.*\/VirtualMedia)\/(\w+)$/.exec(path) ?? [];
  const drive = habits.otherDrives?.find((each) => each.Id === id);
  if (!drive) return undefined;
  const target = (action: string) => ({ target: `${collection}/${id}/Actions/VirtualMedia.${action}` });
  return redfishResource(path, 'v1_6_3.VirtualMedia', {
    Name: id,
    ...drive,
    Inserted: drive.Image !== null,
    Actions: { '#VirtualMedia.InsertMedia': target('InsertMedia'), '#VirtualMedia.EjectMedia': target('EjectMedia') },
  });
}

/** Names the first parameter that is missing, as many controllers do. */
function demand({ demands }: Personality, body: unknown): void {
  const name = demands?.names.find((each) => !isObject(body) || !(each in body));
  if (!demands || name === undefined) return;
  switch (demands.by) {
    case 'text':
      throw new RedfishError(
        'GeneralError',
        `The property ${name} is a required property and must be included in the request.`,
      );
    case 'arguments':
      throw new RedfishError('ActionParameterMissing', 'A parameter is missing.', { args: ['InsertMedia', name] });
    case 'pointers':
      throw new RedfishError('PropertyMissing', 'A property is missing.', { properties: [name] });
    case 'description':
      throw new RedfishError('GeneralError', 'The request is not valid.');
  }
}

/** The document as this personality shows it. */
function shown({ habits, memory }: Impersonation, body: Body): Body {
  const type = String(body['@odata.type']);
  if (type.includes('ComputerSystem.v')) {
    const targets = 'BootSourceOverrideTarget@Redfish.AllowableValues';
    const boot = isObject(body['Boot']) ? body['Boot'] : {};
    const allowed = (boot[targets] as string[]).filter((target) => !habits.mediaOnly || target !== 'UefiHttp');
    const isChanging = habits.powerWord !== undefined && memory.readings > 0;
    if (isChanging) memory.readings -= 1;
    const links = isObject(body['Links']) ? body['Links'] : {};
    const managers = [link('/redfish/v1/Managers/Enclosure'), ...(links['ManagedBy'] as unknown[])];
    return {
      ...body,
      ...habits.system,
      ...(habits.otherManager && { Links: { ...links, ManagedBy: managers }, VirtualMedia: undefined }),
      Boot: { ...boot, [targets]: allowed },
      ...(isChanging && { PowerState: habits.powerWord }),
    };
  }
  if (type.includes('VirtualMediaCollection')) {
    const others = (habits.otherDrives ?? []).map(({ Id }) => link(`${String(body['@odata.id'])}/${Id}`));
    return { ...body, Members: [...others, ...(body['Members'] as unknown[])] };
  }
  if (!type.includes('VirtualMedia.v') || String(body['Id']) !== 'Cd') return body;
  const isLate = memory.inserting !== undefined && memory.inserting.looks > 0;
  const image = isLate ? null : body['Image'];
  const actions = body['Actions'] as Readonly<Record<string, object>>;
  const insert = {
    ...actions['#VirtualMedia.InsertMedia'],
    '@Redfish.ActionInfo': `${String(body['@odata.id'])}${description}`,
  };
  return {
    ...body,
    Inserted: image !== null,
    Image: typeof image === 'string' && habits.showsImage ? habits.showsImage(image) : image,
    ImageName: null,
    ...(habits.mediaTypes !== undefined && { MediaTypes: habits.mediaTypes }),
    ...(habits.demands?.by === 'description' && { Actions: { ...actions, '#VirtualMedia.InsertMedia': insert } }),
  };
}

const ends: Readonly<Record<string, TaskHabit['ends']>> = {
  'monitor 200': 200,
  'monitor 303': 303,
  'monitor 404': 404,
  'monitor 410': 410,
};

/** Answers a change, which is carried out, as if it went on. */
function accept(
  { name, habits, memory, path }: Impersonation,
  { reply, tasks }: { reply: FastifyReply; tasks: Tasks },
): string {
  if (habits.accepts === '303') {
    void reply.code(303).header('location', systemPath(name));
    return '';
  }
  const task = tasks.start(`${path} of ${name}`, Promise.resolve(), {
    looks,
    ends: ends[habits.accepts ?? ''] ?? 204,
    word: habits.taskWord,
  });
  if (habits.lateImage && path.endsWith('.InsertMedia')) memory.inserting = task;
  void reply.code(202).type('application/json');
  if (habits.accepts === 'task') void reply.removeHeader('location');
  else void reply.header('location', `${monitorsPath}/${task.id}`);
  return JSON.stringify(habits.accepts === 'task' ? tasks.show(task) : { '@odata.id': `${tasksPath}/${task.id}` });
}
