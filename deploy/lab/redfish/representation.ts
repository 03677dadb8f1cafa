/** The Redfish documents of a machine. Pure: from its state to the documents. */
import type { LabMachine } from '../machine.ts';
import { resetTypes } from '../machine.ts';
import { bootTargets, type MachineState } from '../machine-state.ts';

const root = '/redfish/v1';
export const systemPath = (name: string): string => `${root}/Systems/${name}`;
export const managerPath = (name: string): string => `${root}/Managers/${name}`;
export const chassisPath = (name: string): string => `${root}/Chassis/${name}`;
export const link = (path: string): { '@odata.id': string } => ({ '@odata.id': path });
const ok = { State: 'Enabled', Health: 'OK', HealthRollup: 'OK' };

export function collection(options: { path: string; type: string; name: string; members: readonly string[] }): object {
  return {
    '@odata.context': `${root}/$metadata#${options.type}.${options.type}`,
    '@odata.id': options.path,
    '@odata.type': `#${options.type}.${options.type}`,
    Name: options.name,
    Members: options.members.map(link),
    'Members@odata.count': options.members.length,
  };
}

/** A document at `path`. `type` is its schema with the version in front: `v1_20_0.ComputerSystem`. */
export function redfishResource(
  path: string,
  type: `v${string}.${string}`,
  body: { Id: string; Name: string } & Record<string, unknown>,
): object {
  const name = type.slice(type.indexOf('.') + 1);
  return {
    '@odata.context': `${root}/$metadata#${name}.${name}`,
    '@odata.id': path,
    '@odata.type': `#${name}.${type}`,
    ...body,
  };
}

export const targetsOf = (state: MachineState): readonly string[] =>
  bootTargets.filter((target) => state.httpBoot || target !== 'UefiHttp');

/** Ports at which no usual program of this computer answers. The lab describes consoles, but it serves none. */
const consolePorts = { SSH: 2222, IPMI: 6230 } as const;
const graphicalConsole = { ServiceEnabled: true, MaxConcurrentSessions: 4, ConnectTypesSupported: ['KVMIP'] };

/** The consoles of a system; older firmware describes them at the manager. */
const systemConsoles = {
  SerialConsole: {
    MaxConcurrentSessions: 1,
    SSH: {
      ServiceEnabled: true,
      Port: consolePorts.SSH,
      ConsoleEntryCommand: 'console',
      HotKeySequenceDisplay: 'Enter ~ .',
      SharedWithManagerCLI: true,
    },
    IPMI: { ServiceEnabled: true, Port: consolePorts.IPMI, HotKeySequenceDisplay: 'Enter ~ .' },
    Telnet: { ServiceEnabled: false },
  },
  GraphicalConsole: graphicalConsole,
};
const managerConsoles = {
  SerialConsole: { ServiceEnabled: true, MaxConcurrentSessions: 1, ConnectTypesSupported: ['SSH', 'IPMI'] },
  GraphicalConsole: graphicalConsole,
};

/** The network services of a controller, with their ports. */
export const networkProtocol = (name: string): object =>
  redfishResource(`${managerPath(name)}/NetworkProtocol`, 'v1_10_0.ManagerNetworkProtocol', {
    Id: 'NetworkProtocol',
    Name: 'Network services',
    SSH: { ProtocolEnabled: true, Port: consolePorts.SSH },
    IPMI: { ProtocolEnabled: true, Port: consolePorts.IPMI },
    Telnet: { ProtocolEnabled: false },
    Status: ok,
  });

export function system(machine: LabMachine): object {
  const { state, power, progress } = machine;
  const path = systemPath(state.name);
  return redfishResource(path, 'v1_20_0.ComputerSystem', {
    Id: state.name,
    Name: state.name,
    Description: 'A simulated machine',
    SystemType: 'Physical',
    Manufacturer: 'Anneal',
    Model: 'Lab',
    SerialNumber: state.serial,
    PartNumber: '',
    AssetTag: state.assetTag,
    UUID: state.uuid,
    HostName: progress.state === 'OSRunning' ? progress.detail : '',
    PowerState: power,
    BiosVersion: state.firmware['BIOS'],
    IndicatorLED: state.indicator,
    Status: { ...ok, State: power === 'On' ? 'Enabled' : 'StandbyOffline' },
    Boot: {
      BootSourceOverrideEnabled: state.boot.enabled,
      BootSourceOverrideTarget: state.boot.target,
      'BootSourceOverrideTarget@Redfish.AllowableValues': targetsOf(state),
      'BootSourceOverrideEnabled@Redfish.AllowableValues': ['Disabled', 'Once', 'Continuous'],
      BootSourceOverrideMode: state.boot.mode,
      'BootSourceOverrideMode@Redfish.AllowableValues': ['UEFI', 'Legacy'],
      ...(state.httpBoot && { HttpBootUri: state.boot.httpBootUri }),
    },
    BootProgress: { LastState: progress.state, ...(progress.state === 'OEM' && { OemLastState: progress.detail }) },
    ProcessorSummary: {
      Count: 1,
      CoreCount: state.cpus,
      LogicalProcessorCount: state.cpus,
      Model: 'Simulated',
      Status: ok,
    },
    MemorySummary: { TotalSystemMemoryGiB: state.memoryGib, Status: ok },
    Processors: link(`${path}/Processors`),
    Memory: link(`${path}/Memory`),
    EthernetInterfaces: link(`${path}/EthernetInterfaces`),
    Storage: link(`${path}/Storage`),
    Bios: link(`${path}/Bios`),
    SecureBoot: link(`${path}/SecureBoot`),
    ...(state.httpBoot && {
      VirtualMedia: link(`${path}/VirtualMedia`),
      LogServices: link(`${path}/LogServices`),
      ...systemConsoles,
    }),
    Links: { Chassis: [link(chassisPath(state.name))], ManagedBy: [link(managerPath(state.name))] },
    Actions: {
      '#ComputerSystem.Reset': {
        target: `${path}/Actions/ComputerSystem.Reset`,
        'ResetType@Redfish.AllowableValues': resetTypes,
      },
    },
  });
}

export function manager(machine: LabMachine): object {
  const { name, uuid, firmware, httpBoot } = machine.state;
  const path = managerPath(name);
  return redfishResource(path, 'v1_19_0.Manager', {
    Id: name,
    Name: `Controller of ${name}`,
    ManagerType: 'BMC',
    UUID: uuid,
    Model: 'Lab controller',
    FirmwareVersion: firmware['BMC'],
    PowerState: 'On',
    DateTime: new Date().toISOString(),
    DateTimeLocalOffset: '+00:00',
    Status: ok,
    ...(!httpBoot && managerConsoles),
    CommandShell: { ServiceEnabled: true, MaxConcurrentSessions: 4, ConnectTypesSupported: ['SSH'] },
    NetworkProtocol: link(`${path}/NetworkProtocol`),
    VirtualMedia: link(`${path}/VirtualMedia`),
    Links: { ManagerForServers: [link(systemPath(name))], ManagerForChassis: [link(chassisPath(name))] },
  });
}

export function chassis(machine: LabMachine): object {
  const { name, serial } = machine.state;
  return redfishResource(chassisPath(name), 'v1_25_0.Chassis', {
    Id: name,
    Name: `Chassis of ${name}`,
    ChassisType: 'RackMount',
    Manufacturer: 'Anneal',
    Model: 'Lab',
    SerialNumber: serial,
    PowerState: machine.power,
    Status: ok,
    ...sensorLinks(machine),
    Links: { ComputerSystems: [link(systemPath(name))], ManagedBy: [link(managerPath(name))] },
  });
}

const sensorLinks = ({ state: { name, httpBoot } }: LabMachine): object => {
  const path = chassisPath(name);
  return httpBoot
    ? { Sensors: link(`${path}/Sensors`) }
    : { Thermal: link(`${path}/Thermal`), Power: link(`${path}/Power`) };
};

/** @param owner the system (newer firmware) or the manager (older firmware) that the client asked. */
export function virtualMedia(machine: LabMachine, owner: string): object {
  const path = `${owner}/VirtualMedia/Cd`;
  const { media } = machine.state;
  return redfishResource(path, 'v1_6_3.VirtualMedia', {
    Id: 'Cd',
    Name: 'Virtual CD',
    MediaTypes: ['CD', 'DVD'],
    Image: media,
    ImageName: media === null ? null : (media.split('/').at(-1) ?? ''),
    Inserted: media !== null,
    WriteProtected: true,
    ConnectedVia: media === null ? 'NotConnected' : 'URI',
    TransferMethod: 'Stream',
    Actions: {
      '#VirtualMedia.InsertMedia': { target: `${path}/Actions/VirtualMedia.InsertMedia` },
      '#VirtualMedia.EjectMedia': { target: `${path}/Actions/VirtualMedia.EjectMedia` },
    },
  });
}

/** A collection below a system: its type, its name, and its members by their name in the path. */
interface ComponentFamily {
  readonly type: string;
  readonly name: string;
  readonly members: Readonly<Record<string, object>>;
}

function networkInterfaces({ state, power }: LabMachine): ComponentFamily {
  const interfaces = state.macs.map((mac, index) => {
    const id = `NIC${index + 1}`;
    const resource = redfishResource(
      `${systemPath(state.name)}/EthernetInterfaces/${id}`,
      'v1_12_0.EthernetInterface',
      {
        Id: id,
        Name: `Network interface ${index + 1}`,
        MACAddress: mac,
        PermanentMACAddress: mac,
        InterfaceEnabled: true,
        SpeedMbps: 10_000,
        LinkStatus: index === 0 ? 'LinkUp' : 'LinkDown',
        IPv4Addresses:
          index === 0 && power === 'On'
            ? [{ Address: state.address, AddressOrigin: 'Static', SubnetMask: '255.0.0.0' }]
            : [],
        Status: ok,
      },
    );
    return [id, resource] as const;
  });
  return {
    type: 'EthernetInterfaceCollection',
    name: 'Network interfaces',
    members: Object.fromEntries(interfaces),
  };
}

/** The collections below a system, by their name in the path. */
export function components(machine: LabMachine): Readonly<Record<string, ComponentFamily>> {
  const { state } = machine;
  const path = systemPath(state.name);
  return {
    EthernetInterfaces: networkInterfaces(machine),
    Processors: {
      type: 'ProcessorCollection',
      name: 'Processors',
      members: {
        CPU1: redfishResource(`${path}/Processors/CPU1`, 'v1_19_0.Processor', {
          Id: 'CPU1',
          Name: 'Processor 1',
          Socket: 'CPU 1',
          ProcessorType: 'CPU',
          ProcessorArchitecture: process.arch === 'arm64' ? 'ARM' : 'x86',
          InstructionSet: process.arch === 'arm64' ? 'ARM-A64' : 'x86-64',
          Manufacturer: 'Anneal',
          Model: 'Simulated',
          TotalCores: state.cpus,
          TotalThreads: state.cpus,
          MaxSpeedMHz: 3000,
          Status: ok,
        }),
      },
    },
    Memory: {
      type: 'MemoryCollection',
      name: 'Memory',
      members: {
        DIMM1: redfishResource(`${path}/Memory/DIMM1`, 'v1_19_0.Memory', {
          Id: 'DIMM1',
          Name: 'Memory 1',
          MemoryType: 'DRAM',
          MemoryDeviceType: 'DDR5',
          CapacityMiB: state.memoryGib * 1024,
          Status: ok,
        }),
      },
    },
    Storage: {
      type: 'StorageCollection',
      name: 'Storage',
      members: {
        Local: redfishResource(`${path}/Storage/Local`, 'v1_17_0.Storage', {
          Id: 'Local',
          Name: 'Local storage',
          Drives: drivePaths(state.name).map(link),
          'Drives@odata.count': drivePaths(state.name).length,
          Controllers: link(`${path}/Storage/Local/Controllers`),
          Volumes: link(`${path}/Storage/Local/Volumes`),
          Status: ok,
        }),
      },
    },
  };
}

const drives = ['Disk1', 'Disk2'] as const;
/** Two equal drives: the least that a mirror needs. The system is on the first. */
export const drivePaths = (name: string): readonly string[] =>
  drives.map((id) => `${systemPath(name)}/Storage/Local/Drives/${id}`);

/** Undefined for a drive that does not exist. */
export const drive = (machine: LabMachine, id: string): object | undefined =>
  drives.some((each) => each === id) ? driveDocument(machine, id) : undefined;

export const storageController = (name: string): object =>
  redfishResource(`${systemPath(name)}/Storage/Local/Controllers/1`, 'v1_8_0.StorageController', {
    Id: '1',
    Name: 'Storage controller',
    Manufacturer: 'Anneal',
    Model: 'Lab storage',
    FirmwareVersion: '1.0.0',
    SupportedDeviceProtocols: ['NVMe'],
    SupportedControllerProtocols: ['PCIe'],
    SupportedRAIDTypes: ['RAID0', 'RAID1'],
    Status: ok,
  });

const driveDocument = (machine: LabMachine, id: string): object =>
  redfishResource(`${systemPath(machine.state.name)}/Storage/Local/Drives/${id}`, 'v1_19_0.Drive', {
    Id: id,
    Name: id,
    Model: 'Lab NVMe',
    Manufacturer: 'Anneal',
    MediaType: 'SSD',
    Protocol: 'NVMe',
    CapacityBytes: machine.state.diskGib * 1024 ** 3,
    SerialNumber: `${machine.state.serial}-${id}`,
    Status: ok,
  });
