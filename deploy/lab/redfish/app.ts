/** The Redfish endpoint in front of all machines, as the controller of an enclosure has it. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Faults, faultSchema } from '../faults.ts';
import type { Machine } from '../machine.ts';
import { bodyOf, imageOf, resetTypeOf, systemChangeOf } from './changes.ts';
import { errorBody, notFound, RedfishError, wrongValue } from './errors.ts';
import {
  chassis,
  chassisPath,
  collection,
  components,
  drive,
  link,
  manager,
  managerPath,
  resource,
  system,
  systemPath,
  virtualMedia,
} from './representation.ts';
import { metadata, odata, serviceRoot, serviceUuid } from './service-root.ts';
import { Sessions, type Credentials } from './sessions.ts';
import { monitorsPath, Tasks, tasksPath } from './tasks.ts';

export interface RedfishOptions {
  readonly machines: readonly Machine[];
  readonly credentials: Credentials;
  readonly log: Logger;
  readonly sessionLimit?: number;
  readonly sessionTimeoutMs?: number;
}

const root = '/redfish/v1';
type ById = { Params: { id: string } };
type Member = { Params: { id: string; kind: string; member: string } };

/** Entry of the standard that needs no authentication: how else would a client find where to log in. */
const open = new Set(['/redfish', root, `${root}/odata`, `${root}/$metadata`]);

export function createRedfish(options: RedfishOptions): FastifyInstance {
  const { credentials, log } = options;
  const machines = new Map(options.machines.map((machine) => [machine.state.name, machine]));
  const names = [...machines.keys()];
  const faults = new Map(names.map((name) => [name, new Faults()]));
  const sessions = new Sessions({
    credentials,
    limit: options.sessionLimit ?? 16,
    timeoutMs: options.sessionTimeoutMs ?? 30 * 60_000,
  });
  const tasks = new Tasks();
  const uuid = serviceUuid(options.machines.map((machine) => machine.state.uuid));

  const app = fastify({ forceCloseConnections: true, routerOptions: { ignoreTrailingSlash: true } });
  const find = (id: string, path: string): Machine => {
    const machine = machines.get(id) ?? options.machines.find((entry) => entry.state.uuid === id);
    if (!machine) throw notFound(path);
    return machine;
  };

  // Some clients send no body with `Content-Type: application/json`; a controller does not mind.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? {} : JSON.parse(text as string));
    } catch {
      done(new RedfishError(400, 'MalformedJSON', 'The request body is not valid JSON.'));
    }
  });

  app.addHook('onRequest', async (request, reply) => {
    void reply.header('odata-version', '4.0').header('cache-control', 'no-cache');
    const path = pathOf(request);
    const id = /^\/redfish\/v1\/(?:Systems|Managers|Chassis)\/([^/]+)/.exec(path)?.[1];
    const fault = id === undefined ? undefined : faults.get(id);
    if (fault?.isDark) {
      request.raw.socket.destroy();
      reply.hijack();
      return;
    }
    if (fault && fault.slowMs > 0) await sleep(fault.slowMs);
    const wait = fault?.takeBusy();
    if (wait !== undefined) {
      throw new RedfishError(
        503,
        'ServiceTemporarilyUnavailable',
        `The service is temporarily unavailable. Retry in ${wait} seconds.`,
        {
          headers: { 'retry-after': String(wait) },
        },
      );
    }
    const login = request.method === 'POST' && /^\/redfish\/v1\/SessionService\/Sessions(\/Members)?$/.test(path);
    if (open.has(path) || login) return;
    sessions.authenticate({
      token: one(request.headers['x-auth-token']),
      authorization: request.headers.authorization,
    });
  });

  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RedfishError) return reply.code(error.status).headers(error.headers).send(errorBody(error));
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    const message = error instanceof Error ? error.message : String(error);
    if (status >= 500) log.error({ err: error, path: request.url }, 'the endpoint failed');
    return reply.code(status).send(errorBody({ key: status >= 500 ? 'InternalError' : 'GeneralError', message }));
  });
  app.setNotFoundHandler((request) => {
    throw notFound(pathOf(request));
  });

  // ---- the service

  app.get('/redfish', () => ({ v1: `${root}/` }));
  app.get(root, () => serviceRoot(uuid));
  app.get(`${root}/odata`, () => odata());
  app.get(`${root}/$metadata`, (_request, reply) => reply.type('application/xml').send(metadata()));
  for (const [path, type, name] of [
    ['Registries', 'MessageRegistryFileCollection', 'Registries'],
    ['JsonSchemas', 'JsonSchemaFileCollection', 'Schemas'],
  ] as const) {
    app.get(`${root}/${path}`, () => collection({ path: `${root}/${path}`, type, name, members: [] }));
  }

  app.get(`${root}/SessionService`, () =>
    resource(`${root}/SessionService`, 'SessionService', 'v1_1_9', {
      Id: 'SessionService',
      Name: 'Sessions',
      ServiceEnabled: true,
      SessionTimeout: Math.round(sessions.timeoutMs / 1000),
      Sessions: link(`${root}/SessionService/Sessions`),
    }),
  );
  const sessionPath = `${root}/SessionService/Sessions`;
  const showSession = (session: { id: string; userName: string; createdAt: Date }): object =>
    resource(`${sessionPath}/${session.id}`, 'Session', 'v1_7_1', {
      Id: session.id,
      Name: `Session ${session.id}`,
      UserName: session.userName,
      CreatedTime: session.createdAt.toISOString(),
    });
  app.get(sessionPath, () =>
    collection({
      path: sessionPath,
      type: 'SessionCollection',
      name: 'Sessions',
      members: sessions.list().map(({ id }) => `${sessionPath}/${id}`),
    }),
  );
  app.post(sessionPath, (request, reply) => {
    const { UserName: username, Password: password } = bodyOf(request.body);
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new RedfishError(400, 'PropertyMissing', 'UserName and Password are required.', {
        properties: ['UserName', 'Password'],
      });
    }
    const session = sessions.open({ username, password });
    return reply
      .code(201)
      .headers({ 'x-auth-token': session.token, location: `${sessionPath}/${session.id}` })
      .send(showSession(session));
  });
  app.get<ById>(`${sessionPath}/:id`, (request) => {
    const session = sessions.list().find(({ id }) => id === request.params.id);
    if (!session) throw notFound(pathOf(request));
    return showSession(session);
  });
  app.delete<ById>(`${sessionPath}/:id`, (request, reply) => {
    if (!sessions.close(request.params.id)) throw notFound(pathOf(request));
    return reply.code(204).send();
  });

  app.get(`${root}/TaskService`, () =>
    resource(`${root}/TaskService`, 'TaskService', 'v1_2_1', {
      Id: 'TaskService',
      Name: 'Tasks',
      ServiceEnabled: true,
      DateTime: new Date().toISOString(),
      Tasks: link(tasksPath),
    }),
  );
  app.get(tasksPath, () =>
    collection({
      path: tasksPath,
      type: 'TaskCollection',
      name: 'Tasks',
      members: tasks.ids().map((id) => `${tasksPath}/${id}`),
    }),
  );
  app.get<ById>(`${tasksPath}/:id`, (request) => {
    const task = tasks.get(request.params.id);
    if (!task) throw notFound(pathOf(request));
    return tasks.show(task);
  });
  app.get<ById>(`${monitorsPath}/:id`, (request, reply) => {
    const task = tasks.get(request.params.id);
    if (!task) throw notFound(pathOf(request));
    if (task.endedAt) return reply.code(204).send();
    return reply
      .code(202)
      .headers({ location: pathOf(request), 'retry-after': '1' })
      .send(tasks.show(task));
  });

  // ---- systems

  const all = (path: string, type: string, name: string, pathFor: (id: string) => string): void => {
    app.get(`${root}/${path}`, () => collection({ path: `${root}/${path}`, type, name, members: names.map(pathFor) }));
  };
  all('Systems', 'ComputerSystemCollection', 'Systems', systemPath);
  all('Managers', 'ManagerCollection', 'Controllers', managerPath);
  all('Chassis', 'ChassisCollection', 'Chassis', chassisPath);

  app.get<ById>(`${root}/Systems/:id`, (request, reply) =>
    tagged(request, reply, system(find(request.params.id, pathOf(request)))),
  );
  app.patch<ById>(`${root}/Systems/:id`, (request, reply) => {
    const machine = find(request.params.id, pathOf(request));
    requireMatch(request, system(machine));
    const { boot, assetTag } = systemChangeOf(bodyOf(request.body), machine.state);
    if (boot) machine.setBoot(boot);
    if (assetTag !== undefined) machine.setAssetTag(assetTag);
    return reply.code(204).send();
  });
  app.post<ById>(`${root}/Systems/:id/Actions/ComputerSystem.Reset`, (request, reply) => {
    const machine = find(request.params.id, pathOf(request));
    const type = resetTypeOf(bodyOf(request.body ?? {}));
    const ignored = faults.get(machine.state.name)?.takeIgnoredReset() ?? false;
    const done = ignored ? Promise.resolve() : machine.reset(type);
    // Real controllers differ; every third of ours answers with a task.
    if (names.indexOf(machine.state.name) % 3 !== 2) return reply.code(204).send();
    const task = tasks.start(`Reset ${type} of ${machine.state.name}`, done);
    return reply
      .code(202)
      .headers({ location: `${monitorsPath}/${task.id}`, 'retry-after': '1' })
      .send(tasks.show(task));
  });
  app.get<Member>(`${root}/Systems/:id/:kind`, (request) => {
    const machine = find(request.params.id, pathOf(request));
    const family = components(machine)[request.params.kind];
    if (!family) throw notFound(pathOf(request));
    const path = `${systemPath(machine.state.name)}/${request.params.kind}`;
    return collection({
      path,
      type: family.type,
      name: family.name,
      members: Object.keys(family.members).map((id) => `${path}/${id}`),
    });
  });
  app.get<Member>(`${root}/Systems/:id/:kind/:member`, (request) => {
    const member = components(find(request.params.id, pathOf(request)))[request.params.kind]?.members[
      request.params.member
    ];
    if (!member) throw notFound(pathOf(request));
    return member;
  });
  app.get<ById>(`${root}/Systems/:id/Storage/Local/Drives/Disk1`, (request) =>
    drive(find(request.params.id, pathOf(request))),
  );

  // ---- controllers and chassis

  app.get<ById>(`${root}/Managers/:id`, (request) => manager(find(request.params.id, pathOf(request))));
  app.get<ById>(`${root}/Chassis/:id`, (request) => chassis(find(request.params.id, pathOf(request))));

  for (const owner of ['Systems', 'Managers'] as const) {
    const ownerPath = owner === 'Systems' ? systemPath : managerPath;
    const at = `${root}/${owner}/:id/VirtualMedia`;
    const withDrive = (request: FastifyRequest<ById>): Machine => {
      const machine = find(request.params.id, pathOf(request));
      if (owner === 'Systems' && !machine.state.httpBoot) throw notFound(pathOf(request));
      return machine;
    };
    app.get<ById>(at, (request) => {
      const path = `${ownerPath(withDrive(request).state.name)}/VirtualMedia`;
      return collection({ path, type: 'VirtualMediaCollection', name: 'Virtual media', members: [`${path}/Cd`] });
    });
    app.get<ById>(`${at}/Cd`, (request, reply) => {
      const machine = withDrive(request);
      return tagged(request, reply, virtualMedia(machine, ownerPath(machine.state.name)));
    });
    app.post<ById>(`${at}/Cd/Actions/VirtualMedia.InsertMedia`, (request, reply) => {
      const machine = withDrive(request);
      const image = imageOf(bodyOf(request.body));
      if (machine.state.media !== null && machine.state.media !== image) {
        throw new RedfishError(409, 'ResourceInUse', 'The drive holds another image; eject it first.');
      }
      machine.setMedia(image);
      return reply.code(204).send();
    });
    app.post<ById>(`${at}/Cd/Actions/VirtualMedia.EjectMedia`, (request, reply) => {
      withDrive(request).setMedia(null);
      return reply.code(204).send();
    });
  }

  // ---- the lab itself

  app.get('/lab/v1/machines', () => ({ machines: names.map((name) => labView(find(name, name))) }));
  const labView = (machine: Machine): object => ({
    name: machine.state.name,
    system_id: systemPath(machine.state.name),
    address: machine.state.address,
    power: machine.power,
    progress: machine.progress,
    directory: machine.directory,
    faults: faults.get(machine.state.name)?.show(),
  });
  app.get<ById>('/lab/v1/machines/:id', (request) => labView(find(request.params.id, pathOf(request))));
  app.post<ById>('/lab/v1/machines/:id/faults', (request) => {
    const machine = find(request.params.id, pathOf(request));
    const fault = faultSchema.safeParse(request.body);
    if (!fault.success)
      throw wrongValue(
        'faults',
        request.body,
        fault.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '),
      );
    faults.get(machine.state.name)?.set(fault.data);
    return labView(machine);
  });
  app.delete<ById>('/lab/v1/machines/:id/faults', (request) => {
    const machine = find(request.params.id, pathOf(request));
    faults.get(machine.state.name)?.clear();
    return labView(machine);
  });

  return app;
}

const pathOf = (request: FastifyRequest): string => {
  const path = request.url.split('?')[0] ?? '';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
};
const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

const etagOf = (body: object): string =>
  `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 16)}"`;

function tagged(request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply {
  const tag = etagOf(body);
  void reply.header('etag', tag);
  if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  return reply.send({ ...body, '@odata.etag': tag });
}

/** A weak tag of the same content is taken too: clients are known to mix them up. */
function requireMatch(request: FastifyRequest, body: object): void {
  const wanted = request.headers['if-match'];
  if (wanted === undefined || wanted === '*') return;
  const tags = wanted.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.includes(etagOf(body))) return;
  throw new RedfishError(
    412,
    'PreconditionFailed',
    'The ETag supplied did not match the ETag required to change this resource.',
  );
}
