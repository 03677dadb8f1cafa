/** Routes of the service itself: its root, its sessions and its tasks. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bodyOf } from './changes.ts';
import { bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound, RedfishError } from './errors.ts';
import { collection, link, redfishResource } from './representation.ts';
import { metadata, odata, serviceRoot, serviceUuid } from './service-root.ts';
import { monitorsPath, tasksPath } from './tasks.ts';

/** Adds the routes that belong to no machine. */
export function serviceRoutes(endpoint: BmcEndpoint): void {
  rootRoutes(endpoint);
  sessionRoutes(endpoint);
  taskRoutes(endpoint);
}

function rootRoutes({ app, machines }: BmcEndpoint): void {
  const uuid = serviceUuid([...machines.values()].map((machine) => machine.state.uuid));

  app.get('/redfish', () => ({ v1: `${root}/` }));
  app.get(root, () => serviceRoot(uuid));
  app.get(`${root}/odata`, () => odata());
  app.get(`${root}/$metadata`, (_request, reply) => reply.type('application/xml').send(metadata()));
  const schemas = `${root}/JsonSchemas`;
  app.get(schemas, () => collection({ path: schemas, type: 'JsonSchemaFileCollection', name: 'Schemas', members: [] }));
}

function sessionRoutes({ app, sessions }: BmcEndpoint): void {
  app.get(`${root}/SessionService`, () =>
    redfishResource(`${root}/SessionService`, 'v1_1_9.SessionService', {
      Id: 'SessionService',
      Name: 'Sessions',
      ServiceEnabled: true,
      SessionTimeout: Math.round(sessions.timeoutMs / 1000),
      Sessions: link(`${root}/SessionService/Sessions`),
    }),
  );
  const sessionPath = `${root}/SessionService/Sessions`;
  const showSession = (session: { id: string; userName: string; createdAt: Date }): object =>
    redfishResource(`${sessionPath}/${session.id}`, 'v1_7_1.Session', {
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
  const login = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { UserName: username, Password: password } = bodyOf(request.body);
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new RedfishError('PropertyMissing', 'UserName and Password are required.', {
        properties: ['UserName', 'Password'],
      });
    }
    const session = sessions.open({ username, password });
    return reply
      .code(201)
      .headers({ 'x-auth-token': session.token, location: `${sessionPath}/${session.id}` })
      .send(showSession(session));
  };
  // The standard also lets clients post to the collection's members.
  app.post(sessionPath, login);
  app.post(`${sessionPath}/Members`, login);
  app.get<ById>(`${sessionPath}/:id`, (request) => {
    const session = sessions.list().find(({ id }) => id === request.params.id);
    if (!session) throw notFound(bmcPath(request));
    return showSession(session);
  });
  app.delete<ById>(`${sessionPath}/:id`, (request, reply) => {
    if (!sessions.close(request.params.id)) throw notFound(bmcPath(request));
    return reply.code(204).send();
  });
}

function taskRoutes({ app, tasks }: BmcEndpoint): void {
  app.get(`${root}/TaskService`, () =>
    redfishResource(`${root}/TaskService`, 'v1_2_1.TaskService', {
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
    if (!task) throw notFound(bmcPath(request));
    tasks.look(task);
    return tasks.show(task);
  });
  app.get<ById>(`${monitorsPath}/:id`, (request, reply) => {
    const task = tasks.get(request.params.id);
    if (!task) throw notFound(bmcPath(request));
    const { ends = 204 } = task.habit;
    if (tasks.look(task)) {
      if (task.failed !== undefined || ends === 200)
        return reply.send(task.failed === undefined ? {} : tasks.show(task));
      if (ends === 404 || ends === 410) return reply.code(ends).send();
      if (ends === 303) void reply.header('location', `${tasksPath}/${task.id}`);
      return reply.code(ends).send();
    }
    return reply
      .code(202)
      .headers({ location: bmcPath(request), 'retry-after': '1' })
      .send(tasks.show(task));
  });
}
