/** Settings of a machine: BIOS, secure boot, volumes, firmware. Changes of the firmware wait for the next power-on. */
import type { LabMachine } from '../machine.ts';
import { biosSettings, factoryBios, type LabVolume } from '../machine-state.ts';
import { bodyOf } from './changes.ts';
import { machineAt, bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound, RedfishError, wrongValue } from './errors.ts';
import { requireMatch, tagged } from './etag.ts';
import { collection, drivePaths, link, redfishResource, systemPath } from './representation.ts';
import { monitorsPath } from './tasks.ts';

type VolumePath = { Params: { id: string; volume: string } };
const ok = { State: 'Enabled', Health: 'OK' };

export function settingsRoutes(endpoint: BmcEndpoint): void {
  registryRoutes(endpoint);
  biosRoutes(endpoint);
  secureBootRoutes(endpoint);
  volumeRoutes(endpoint);
  updateRoutes(endpoint);
}

const biosRegistry = 'BiosAttributeRegistry.v1_0_0';

/** The registry that describes the settings of the BIOS. */
function registryRoutes({ app }: BmcEndpoint): void {
  const registries = `${root}/Registries`;
  const path = `${registries}/${biosRegistry}`;
  const uri = `${path}/${biosRegistry}.json`;
  app.get(registries, () =>
    collection({ path: registries, type: 'MessageRegistryFileCollection', name: 'Registries', members: [path] }),
  );
  app.get(path, () =>
    redfishResource(path, 'v1_1_4.MessageRegistryFile', {
      Id: biosRegistry,
      Name: 'Registry of the BIOS settings',
      Languages: ['en'],
      Registry: biosRegistry,
      Location: [{ Language: 'en', Uri: uri }],
    }),
  );
  app.get(uri, () => ({
    '@odata.type': '#AttributeRegistry.v1_3_8.AttributeRegistry',
    Id: biosRegistry,
    Name: 'BIOS settings',
    Language: 'en',
    OwningEntity: 'Anneal',
    RegistryVersion: '1.0.0',
    RegistryEntries: {
      Attributes: Object.entries(biosSettings).map(([name, values]) => ({
        AttributeName: name,
        DisplayName: name,
        Type: 'Enumeration',
        ReadOnly: false,
        ResetRequired: true,
        DefaultValue: values[0],
        Value: values.map((value) => ({ ValueName: value, ValueDisplayName: value })),
      })),
    },
  }));
}

function biosRoutes(endpoint: BmcEndpoint): void {
  const { app } = endpoint;
  const at = `${root}/Systems/:id/Bios`;
  const settings = (machine: LabMachine): object => {
    const path = `${systemPath(machine.state.name)}/Bios/Settings`;
    const Attributes = { ...machine.state.bios, ...machine.state.pendingBios };
    return redfishResource(path, 'v1_2_1.Bios', {
      Id: 'Settings',
      Name: 'BIOS settings of the next start',
      Attributes,
    });
  };
  app.get<ById>(at, (request, reply) => {
    const { state } = machineAt(endpoint, request);
    const path = `${systemPath(state.name)}/Bios`;
    return tagged(
      request,
      reply,
      redfishResource(path, 'v1_2_1.Bios', {
        Id: 'Bios',
        Name: 'BIOS settings',
        AttributeRegistry: biosRegistry,
        Attributes: state.bios,
        '@Redfish.Settings': { '@odata.type': '#Settings.v1_3_5.Settings', SettingsObject: link(`${path}/Settings`) },
        Actions: { '#Bios.ResetBios': { target: `${path}/Actions/Bios.ResetBios` } },
      }),
    );
  });
  app.get<ById>(`${at}/Settings`, (request, reply) => tagged(request, reply, settings(machineAt(endpoint, request))));
  app.patch<ById>(`${at}/Settings`, (request, reply) => {
    const machine = machineAt(endpoint, request);
    requireMatch(request, settings(machine));
    machine.setBios(attributesOf(bodyOf(bodyOf(request.body)['Attributes'])));
    return reply.code(204).send();
  });
  app.post<ById>(`${at}/Actions/Bios.ResetBios`, (request, reply) => {
    machineAt(endpoint, request).setBios(factoryBios);
    return reply.code(204).send();
  });
}

function attributesOf(body: Readonly<Record<string, unknown>>): Record<string, string> {
  const known: Readonly<Record<string, readonly string[]>> = biosSettings;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const allowed = Object.hasOwn(known, name) ? known[name] : undefined;
      if (!allowed) throw wrongValue(`Attributes/${name}`, value, `settings named ${Object.keys(known).join(', ')}`);
      const found = allowed.find((each) => each === value);
      if (found === undefined) throw wrongValue(`Attributes/${name}`, value, allowed.join(', '));
      return [name, found];
    }),
  );
}

function secureBootRoutes(endpoint: BmcEndpoint): void {
  const { app } = endpoint;
  const at = `${root}/Systems/:id/SecureBoot`;
  const shown = ({ state }: LabMachine): object =>
    redfishResource(`${systemPath(state.name)}/SecureBoot`, 'v1_1_2.SecureBoot', {
      Id: 'SecureBoot',
      Name: 'Secure boot',
      SecureBootEnable: state.secureBoot.enabled,
      SecureBootCurrentBoot: state.secureBoot.current ? 'Enabled' : 'Disabled',
      SecureBootMode: 'UserMode',
    });
  app.get<ById>(at, (request, reply) => tagged(request, reply, shown(machineAt(endpoint, request))));
  app.patch<ById>(at, (request, reply) => {
    const machine = machineAt(endpoint, request);
    requireMatch(request, shown(machine));
    const { SecureBootEnable: enable } = bodyOf(request.body);
    if (typeof enable !== 'boolean') throw wrongValue('SecureBootEnable', enable, 'true, false');
    machine.setSecureBoot(enable);
    return reply.code(204).send();
  });
}

/** The least number of drives of each type of volume. */
const leastDrives: Readonly<Record<string, number>> = { RAID0: 1, RAID1: 2, RAID5: 3, RAID6: 4, RAID10: 4 };

function volumeRoutes(endpoint: BmcEndpoint): void {
  const { app, tasks, faults } = endpoint;
  const at = `${root}/Systems/:id/Storage/Local/Volumes`;
  const pathOf = (machine: LabMachine): string => `${systemPath(machine.state.name)}/Storage/Local/Volumes`;
  app.get<ById>(at, (request) => {
    const machine = machineAt(endpoint, request);
    const path = pathOf(machine);
    const members = machine.state.volumes.map(({ id }) => `${path}/${id}`);
    return {
      ...collection({ path, type: 'VolumeCollection', name: 'Volumes', members }),
      '@Redfish.OperationApplyTimeSupport': {
        '@odata.type': '#Settings.v1_3_5.OperationApplyTimeSupport',
        SupportedValues: ['Immediate'],
      },
    };
  });
  app.get<VolumePath>(`${at}/:volume`, (request) => {
    const machine = machineAt(endpoint, request);
    const volume = machine.state.volumes.find(({ id }) => id === request.params.volume);
    if (!volume) throw notFound(bmcPath(request));
    return redfishResource(`${pathOf(machine)}/${volume.id}`, 'v1_10_0.Volume', {
      Id: volume.id,
      Name: volume.name,
      RAIDType: volume.raidType,
      CapacityBytes: volume.bytes,
      Status: ok,
      Links: { Drives: volume.drives.map(link), 'Drives@odata.count': volume.drives.length },
    });
  });
  app.post<ById>(at, (request, reply) => {
    const machine = machineAt(endpoint, request);
    const volume = volumeOf(bodyOf(request.body), machine);
    // Storage controllers answer before the volume exists.
    const made = Promise.resolve().then(() => machine.setVolumes([...machine.state.volumes, volume]));
    const isEndless = faults.get(machine.state.name)?.hasEndlessTasks;
    const task = tasks.start(`Create volume ${volume.name}`, made, { isEndless });
    return reply
      .code(202)
      .headers({ location: `${monitorsPath}/${task.id}` })
      .send(tasks.show(task));
  });
  app.delete<VolumePath>(`${at}/:volume`, (request, reply) => {
    const machine = machineAt(endpoint, request);
    const left = machine.state.volumes.filter(({ id }) => id !== request.params.volume);
    if (left.length === machine.state.volumes.length) throw notFound(bmcPath(request));
    machine.setVolumes(left);
    return reply.code(204).send();
  });
}

function volumeOf(body: Readonly<Record<string, unknown>>, { state }: LabMachine): LabVolume {
  const { Name: name, RAIDType: type, CapacityBytes: bytes = state.diskGib * 1024 ** 3 } = body;
  if (typeof name !== 'string' || name === '') throw wrongValue('Name', name, 'texts');
  const least = typeof type === 'string' ? leastDrives[type] : undefined;
  if (least === undefined || typeof type !== 'string')
    throw wrongValue('RAIDType', type, Object.keys(leastDrives).join(', '));
  if (typeof bytes !== 'number' || bytes <= 0) throw wrongValue('CapacityBytes', bytes, 'numbers of bytes');
  const drives = drivePaths(state.name);
  if (drives.length < least) throw wrongValue('RAIDType', type, `types for ${drives.length} drives`);
  const most = Math.max(0, ...state.volumes.map(({ id }) => Number(id)));
  return { id: String(most + 1), name, raidType: type, bytes, drives: [...drives] };
}

function updateRoutes(endpoint: BmcEndpoint): void {
  const { app, machines, tasks, faults } = endpoint;
  const service = `${root}/UpdateService`;
  const inventory = `${service}/FirmwareInventory`;
  /** E.g. `machine-1-BIOS`: the endpoint serves many machines. */
  const all = () =>
    [...machines.values()].flatMap((machine) =>
      Object.keys(machine.state.firmware).map((component) => ({
        machine,
        component,
        id: `${machine.state.name}-${component}`,
      })),
    );
  app.get(service, () =>
    redfishResource(service, 'v1_14_0.UpdateService', {
      Id: 'UpdateService',
      Name: 'Firmware',
      ServiceEnabled: true,
      FirmwareInventory: link(inventory),
      Actions: { '#UpdateService.SimpleUpdate': { target: `${service}/Actions/UpdateService.SimpleUpdate` } },
    }),
  );
  app.get(inventory, () =>
    collection({
      path: inventory,
      type: 'SoftwareInventoryCollection',
      name: 'Firmware',
      members: all().map(({ id }) => `${inventory}/${id}`),
    }),
  );
  app.get<ById>(`${inventory}/:id`, (request) => {
    const found = all().find(({ id }) => id === request.params.id);
    if (!found) throw notFound(bmcPath(request));
    const { id, machine, component } = found;
    return redfishResource(`${inventory}/${id}`, 'v1_10_2.SoftwareInventory', {
      Id: id,
      Name: component,
      Version: machine.state.firmware[component],
      Updateable: true,
      RelatedItem: [link(systemPath(machine.state.name))],
      Status: ok,
    });
  });
  app.post(`${service}/Actions/UpdateService.SimpleUpdate`, (request, reply) => {
    const { ImageURI: image, Targets: targets } = bodyOf(request.body);
    if (typeof image !== 'string' || !URL.canParse(image))
      throw wrongValue('ImageURI', image, 'http and https addresses');
    const [target] = Array.isArray(targets) ? (targets as unknown[]) : [];
    const found = all().find(({ id }) => `${inventory}/${id}` === target);
    if (!found) throw wrongValue('Targets', target, 'members of the inventory of firmware');
    const isEndless = faults.get(found.machine.state.name)?.hasEndlessTasks;
    const task = tasks.start(`Update ${found.id}`, install(image, found), { isEndless });
    return reply
      .code(202)
      .headers({ location: `${monitorsPath}/${task.id}` })
      .send(tasks.show(task));
  });
}

/** The name of the image has the version, e.g. `bios-2.1.0.bin`. */
async function install(
  image: string,
  { machine, component }: { machine: LabMachine; component: string },
): Promise<void> {
  const answer = await fetch(image, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new RedfishError('InternalError', `The image could not be read: ${answer.status}.`);
  const version = /(\d+(?:\.\d+)+)/.exec(new URL(image).pathname)?.[1];
  if (version === undefined) throw new RedfishError('InternalError', 'The image is no firmware of this machine.');
  machine.setFirmware(component, version);
}
