/** Pages of the hosts of a project. */
import type { PageRequest } from '@anneal/contracts/page.ts';
import { findPage, type StoredPage } from '@anneal/store/page.ts';
import type { ConfigurationCollections, HostDocument } from '../collections.ts';
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
    columns: { status: statusOf, last_seen: lastSeen, server: serverOf },
    textsOf: (host: HostDocument) => [host.name, host.status, serverOf(host)],
    isWanted: where === undefined ? undefined : compileSelection(where),
  };
  return findPage(hosts, list, page);
}

const statusOf = ({ status }: HostDocument): string => status;
const lastSeen = ({ last_seen_at: seen }: HostDocument): string | number => seen ?? '';
const serverOf = ({ collector: at }: HostDocument): string => (at ? `${at.stack_name}/${at.resource_name}` : '');
