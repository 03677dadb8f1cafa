/** Systems, their controllers and their chassis. */
import type { FastifyRequest } from 'fastify';
import type { Faults } from '../faults.ts';
import type { LabMachine } from '../machine.ts';
import { bodyOf, imageOf, resetTypeOf, systemChangeOf } from './changes.ts';
import { consoleLogRoutes } from './console-log-routes.ts';
import { machineAt, bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound, RedfishError } from './errors.ts';
import { requireMatch, tagged } from './etag.ts';
import {
  chassis,
  chassisPath,
  collection,
  components,
  drive,
  manager,
  managerPath,
  networkProtocol,
  system,
  storageController,
  systemPath,
  virtualMedia,
} from './representation.ts';
import { sensorRoutes } from './sensors.ts';
import { monitorsPath } from './tasks.ts';

type Member = { Params: { id: string; kind: string; member: string } };

/** Adds the routes of every machine. */
export function machineRoutes(endpoint: BmcEndpoint): void {
  const { app, machines } = endpoint;
  const names = [...machines.keys()];
  for (const [path, type, name, pathFor] of [
    ['Systems', 'ComputerSystemCollection', 'Systems', systemPath],
    ['Managers', 'ManagerCollection', 'Controllers', managerPath],
    ['Chassis', 'ChassisCollection', 'Chassis', chassisPath],
  ] as const) {
    app.get(`${root}/${path}`, () => collection({ path: `${root}/${path}`, type, name, members: names.map(pathFor) }));
  }
  systemRoutes(endpoint);
  resetRoute(endpoint);
  componentRoutes(endpoint);
  consoleLogRoutes(endpoint);
  app.get<ById>(`${root}/Managers/:id`, (request) => manager(machineAt(endpoint, request)));
  app.get<ById>(`${root}/Managers/:id/NetworkProtocol`, (request) =>
    networkProtocol(machineAt(endpoint, request).state.name),
  );
  app.get<ById>(`${root}/Chassis/:id`, (request) => chassis(machineAt(endpoint, request)));
  sensorRoutes(endpoint);
  mediaRoutes(endpoint, 'Systems');
  mediaRoutes(endpoint, 'Managers');
}

const faultsOf = ({ faults }: BmcEndpoint, machine: LabMachine): Faults | undefined => faults.get(machine.state.name);

function systemRoutes(endpoint: BmcEndpoint): void {
  const { app } = endpoint;
  const shown = (machine: LabMachine): object => faultsOf(endpoint, machine)?.shown(system(machine)) ?? system(machine);
  app.get<ById>(`${root}/Systems/:id`, (request, reply) => tagged(request, reply, shown(machineAt(endpoint, request))));
  app.patch<ById>(`${root}/Systems/:id`, (request, reply) => {
    const machine = machineAt(endpoint, request);
    requireMatch(request, shown(machine));
    const { boot, assetTag, indicator } = systemChangeOf(bodyOf(request.body), machine.state);
    if (boot) machine.setBoot(boot);
    if (assetTag !== undefined) machine.setAssetTag(assetTag);
    if (indicator !== undefined) machine.setIndicator(indicator);
    return reply.code(204).send();
  });
}

function resetRoute(endpoint: BmcEndpoint): void {
  const { app, machines, tasks } = endpoint;
  const names = [...machines.keys()];
  app.post<ById>(`${root}/Systems/:id/Actions/ComputerSystem.Reset`, (request, reply) => {
    const machine = machineAt(endpoint, request);
    const type = resetTypeOf(bodyOf(request.body ?? {}));
    const ignored = faultsOf(endpoint, machine)?.takeIgnoredReset() ?? false;
    if (!ignored && faultsOf(endpoint, machine)?.dropsMedia) machine.setMedia(null);
    const fails = faultsOf(endpoint, machine)?.takeFailedReset() ?? false;
    const done = ignored || fails ? Promise.resolve() : machine.reset(type);
    // Real controllers differ, so every third machine answers with a task.
    if (names.indexOf(machine.state.name) % 3 !== 2) return reply.code(204).send();
    const name = `Reset ${type} of ${machine.state.name}`;
    const work = fails ? Promise.reject(new Error('The power supply did not follow.')) : done;
    const task = tasks.start(name, work, { isEndless: faultsOf(endpoint, machine)?.hasEndlessTasks });
    return reply
      .code(202)
      .headers({ location: `${monitorsPath}/${task.id}`, 'retry-after': '1' })
      .send(tasks.show(task));
  });
}

function componentRoutes(endpoint: BmcEndpoint): void {
  const { app } = endpoint;
  app.get<Member>(`${root}/Systems/:id/:kind`, (request) => {
    const machine = machineAt(endpoint, request);
    const family = components(machine)[request.params.kind];
    if (!family) throw notFound(bmcPath(request));
    const path = `${systemPath(machine.state.name)}/${request.params.kind}`;
    return collection({
      path,
      type: family.type,
      name: family.name,
      members: Object.keys(family.members).map((id) => `${path}/${id}`),
    });
  });
  app.get<Member>(`${root}/Systems/:id/:kind/:member`, (request) => {
    const member = components(machineAt(endpoint, request))[request.params.kind]?.members[request.params.member];
    if (!member) throw notFound(bmcPath(request));
    return member;
  });
  const storage = `${root}/Systems/:id/Storage/Local`;
  app.get<{ Params: { id: string; drive: string } }>(`${storage}/Drives/:drive`, (request) => {
    const found = drive(machineAt(endpoint, request), request.params.drive);
    if (!found) throw notFound(bmcPath(request));
    return found;
  });
  app.get<ById>(`${storage}/Controllers`, (request) => {
    const path = `${systemPath(machineAt(endpoint, request).state.name)}/Storage/Local/Controllers`;
    return collection({ path, type: 'StorageControllerCollection', name: 'Controllers', members: [`${path}/1`] });
  });
  app.get<ById>(`${storage}/Controllers/1`, (request) => storageController(machineAt(endpoint, request).state.name));
}

/** The drive of a machine under its system or its controller. */
function mediaRoutes(endpoint: BmcEndpoint, owner: 'Systems' | 'Managers'): void {
  const { app } = endpoint;
  const ownerPath = owner === 'Systems' ? systemPath : managerPath;
  const at = `${root}/${owner}/:id/VirtualMedia`;
  const withDrive = (request: FastifyRequest<ById>): LabMachine => {
    const machine = machineAt(endpoint, request);
    if (owner === 'Systems' && !machine.state.httpBoot) throw notFound(bmcPath(request));
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
      throw new RedfishError('ResourceInUse', 'The drive holds another image; eject it first.');
    }
    if (!faultsOf(endpoint, machine)?.takeIgnoredMedia()) machine.setMedia(image);
    return reply.code(204).send();
  });
  app.post<ById>(`${at}/Cd/Actions/VirtualMedia.EjectMedia`, (request, reply) => {
    withDrive(request).setMedia(null);
    return reply.code(204).send();
  });
}
