/** The log of the serial console, in the form of OpenBMC. Older firmware, without HTTP boot, keeps none. */
import type { LabMachine } from '../machine.ts';
import { machineAt, bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound, RedfishError } from './errors.ts';
import { collection, link, redfishResource, systemPath } from './representation.ts';

/** As OpenBMC. */
const mostEntries = 1000;

interface EntryPath {
  Params: { id: string; entry: string };
}

export function consoleLogRoutes(endpoint: BmcEndpoint): void {
  const { app } = endpoint;
  const at = `${root}/Systems/:id/LogServices`;
  const machineOf = (request: Parameters<typeof machineAt>[1]): LabMachine => {
    const machine = machineAt(endpoint, request);
    if (!machine.state.httpBoot) throw notFound(bmcPath(request));
    return machine;
  };
  const pathOf = ({ state }: LabMachine): string => `${systemPath(state.name)}/LogServices`;
  app.get<ById>(at, (request) => {
    const path = pathOf(machineOf(request));
    return collection({ path, type: 'LogServiceCollection', name: 'Logs', members: [`${path}/HostLogger`] });
  });
  app.get<ById>(`${at}/HostLogger`, (request) => {
    const path = `${pathOf(machineOf(request))}/HostLogger`;
    return redfishResource(path, 'v1_8_0.LogService', {
      Id: 'HostLogger',
      Name: 'Serial console',
      ServiceEnabled: true,
      OverWritePolicy: 'WrapsWhenFull',
      LogEntryType: 'OEM',
      DateTime: new Date().toISOString(),
      Entries: link(`${path}/Entries`),
    });
  });
  app.get<ById>(`${at}/HostLogger/Entries`, (request) => {
    const machine = machineOf(request);
    const path = `${pathOf(machine)}/HostLogger/Entries`;
    const lines = machine.consoleLines();
    const query = request.query as Record<string, string>;
    const from = numberIn(query, '$skip') ?? 0;
    const count = Math.min(numberIn(query, '$top') ?? mostEntries, mostEntries);
    const next = from + count;
    return {
      ...collection({ path, type: 'LogEntryCollection', name: 'Lines', members: [] }),
      Members: lines.slice(from, next).map((line) => entryOf(path, line)),
      'Members@odata.count': lines.length,
      ...(next < lines.length && query['$top'] === undefined && { 'Members@odata.nextLink': `${path}?$skip=${next}` }),
    };
  });
  app.get<EntryPath>(`${at}/HostLogger/Entries/:entry`, (request) => {
    const machine = machineOf(request);
    const line = machine.consoleLines().find(({ id }) => id === request.params.entry);
    if (!line) throw notFound(bmcPath(request));
    return entryOf(`${pathOf(machine)}/HostLogger/Entries`, line);
  });
}

const entryOf = (path: string, { id, text }: { id: string; text: string }): object =>
  redfishResource(`${path}/${id}`, 'v1_16_1.LogEntry', {
    Id: id,
    Name: 'Line of the serial console',
    EntryType: 'Oem',
    OemRecordFormat: 'Line of the serial console',
    Severity: 'OK',
    Message: text,
  });

function numberIn(query: Record<string, string>, name: '$skip' | '$top'): number | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new RedfishError('QueryParameterValueTypeError', `${name} must be a number.`);
}
