/** Pages of the hosts of a project. */
import type { PageRequest } from '@anneal/contracts/page.ts';
import { findPage, type StoredPage } from '@anneal/store/page.ts';
import type { ListedRow } from '@anneal/store/port.ts';
import { listedHostPaths, type ConfigurationCollections, type HostDocument } from '../collections.ts';
import { compileSelection } from './select.ts';

/** @param where an expression that a host must fulfil */
export async function pageOfHosts(
  hosts: ConfigurationCollections['hosts'],
  { project, where }: { project?: string | undefined; where?: string | undefined },
  page: PageRequest,
): Promise<StoredPage<HostDocument>> {
  const list = {
    where: { project: project ?? '' },
    natural: { name: 'name', orderBy: ['name', 'created_at'] },
    paths: ['name', 'status', 'last_seen_at', ...listedHostPaths],
    columns: { status: statusOf, last_seen: lastSeen, server: serverOf },
    textsOf: (host: Host) => [String(host['name']), statusOf(host), serverOf(host)],
    isWanted: where === undefined ? undefined : compileSelection(where),
  };
  return findPage(hosts, list, page);
}

type Host = ListedRow['values'];
const statusOf = ({ status }: Host): string => String(status);
const lastSeen = ({ last_seen_at: seen }: Host): string | number => seen ?? '';
/** The server of a stack that the host was made for. */
const serverOf = ({ 'collector.stack_name': stack, 'collector.resource_name': name }: Host): string =>
  typeof stack === 'string' ? `${stack}/${name}` : '';
