/** The entry points that every Redfish client starts from. */
import { createHash } from 'node:crypto';
import { link, redfishResource } from './representation.ts';

const root = '/redfish/v1';

/** The same set of machines keeps the same service UUID after a restart. */
export function serviceUuid(uuids: readonly string[]): string {
  const hex = createHash('sha256').update(uuids.join()).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function serviceRoot(uuid: string): object {
  return redfishResource(`${root}/`, 'v1_16_0.ServiceRoot', {
    Id: 'RootService',
    Name: 'Anneal lab',
    RedfishVersion: '1.18.0',
    UUID: uuid,
    Product: 'Anneal lab',
    Vendor: 'Anneal',
    ProtocolFeaturesSupported: {
      ExpandQuery: { ExpandAll: false, Levels: false, Links: false, NoLinks: false },
      SelectQuery: false,
      FilterQuery: false,
      OnlyMemberQuery: false,
    },
    Systems: link(`${root}/Systems`),
    Managers: link(`${root}/Managers`),
    Chassis: link(`${root}/Chassis`),
    SessionService: link(`${root}/SessionService`),
    AccountService: link(`${root}/AccountService`),
    UpdateService: link(`${root}/UpdateService`),
    EventService: link(`${root}/EventService`),
    Tasks: link(`${root}/TaskService`),
    Registries: link(`${root}/Registries`),
    JsonSchemas: link(`${root}/JsonSchemas`),
    Links: { Sessions: link(`${root}/SessionService/Sessions`) },
  });
}

export function odata(): object {
  const kinds = [
    'Systems',
    'Managers',
    'Chassis',
    'SessionService',
    'AccountService',
    'UpdateService',
    'EventService',
    'TaskService',
    'Registries',
    'JsonSchemas',
  ];
  return {
    '@odata.context': `${root}/$metadata`,
    value: [
      { name: 'Service', kind: 'Singleton', url: `${root}/` },
      ...kinds.map((name) => ({ name, kind: 'Singleton', url: `${root}/${name}` })),
    ],
  };
}

const schemas: readonly (readonly [name: string, namespaces: readonly string[]])[] = [
  ['ServiceRoot', ['ServiceRoot', 'ServiceRoot.v1_16_0']],
  ['ComputerSystemCollection', ['ComputerSystemCollection']],
  ['ComputerSystem', ['ComputerSystem', 'ComputerSystem.v1_20_0']],
  ['ManagerCollection', ['ManagerCollection']],
  ['Manager', ['Manager', 'Manager.v1_19_0']],
  ['ManagerNetworkProtocol', ['ManagerNetworkProtocol', 'ManagerNetworkProtocol.v1_10_0']],
  ['ChassisCollection', ['ChassisCollection']],
  ['Chassis', ['Chassis', 'Chassis.v1_25_0']],
  ['SessionService', ['SessionService', 'SessionService.v1_1_9']],
  ['Session', ['Session', 'Session.v1_7_1']],
  ['AccountService', ['AccountService', 'AccountService.v1_15_1']],
  ['ManagerAccountCollection', ['ManagerAccountCollection']],
  ['ManagerAccount', ['ManagerAccount', 'ManagerAccount.v1_12_1']],
  ['RoleCollection', ['RoleCollection']],
  ['Role', ['Role', 'Role.v1_3_3']],
  ['Bios', ['Bios', 'Bios.v1_2_1']],
  ['MessageRegistryFile', ['MessageRegistryFile', 'MessageRegistryFile.v1_1_4']],
  ['AttributeRegistry', ['AttributeRegistry', 'AttributeRegistry.v1_3_8']],
  ['SecureBoot', ['SecureBoot', 'SecureBoot.v1_1_2']],
  ['Settings', ['Settings', 'Settings.v1_3_5']],
  ['StorageController', ['StorageController', 'StorageController.v1_8_0']],
  ['StorageControllerCollection', ['StorageControllerCollection']],
  ['VolumeCollection', ['VolumeCollection']],
  ['Volume', ['Volume', 'Volume.v1_10_0']],
  ['UpdateService', ['UpdateService', 'UpdateService.v1_14_0']],
  ['SoftwareInventoryCollection', ['SoftwareInventoryCollection']],
  ['SoftwareInventory', ['SoftwareInventory', 'SoftwareInventory.v1_10_2']],
  ['EventService', ['EventService', 'EventService.v1_10_0']],
  ['EventDestinationCollection', ['EventDestinationCollection']],
  ['EventDestination', ['EventDestination', 'EventDestination.v1_14_1']],
  ['Event', ['Event', 'Event.v1_10_0']],
  ['LogServiceCollection', ['LogServiceCollection']],
  ['LogService', ['LogService', 'LogService.v1_8_0']],
  ['LogEntryCollection', ['LogEntryCollection']],
  ['LogEntry', ['LogEntry', 'LogEntry.v1_16_1']],
  ['TaskService', ['TaskService', 'TaskService.v1_2_1']],
  ['Task', ['Task', 'Task.v1_7_3']],
  ['VirtualMedia', ['VirtualMedia', 'VirtualMedia.v1_6_3']],
  ['EthernetInterface', ['EthernetInterface', 'EthernetInterface.v1_12_0']],
];

export function metadata(): string {
  const references = schemas
    .map(
      ([name, namespaces]) =>
        `  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/${name}_v1.xml">\n${namespaces.map((space) => `    <edmx:Include Namespace="${space}"/>`).join('\n')}\n  </edmx:Reference>`,
    )
    .join('\n');
  return `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
${references}
  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
      <EntityContainer Name="Service" Extends="ServiceRoot.v1_16_0.ServiceContainer"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
`;
}
