/**
 * Finds hosts by a name that a person typed or that a template states. Names of queues are exact (`queues.ts`), because
 * a client may have another queue whose name differs only in the case of letters.
 *
 * N1 A host with exactly this name is meant, whatever others there are.
 * N2 Without one, the case of letters does not count, as in DNS.
 * N3 When hosts with several such names exist, none is meant: the caller gets an error that names them.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { areSimilarHostNames, hostNameKey, hostNameProblem, spellingOf } from '@anneal/contracts/host-name.ts';
import type { ListedRow } from '@anneal/store/port.ts';
import type { ConfigurationCollections, HostDocument } from '../collections.ts';

type Hosts = Pick<ConfigurationCollections, 'hosts'>;
interface HostName {
  readonly project: string;
  readonly name: string;
}

/** Finds a host by id, or the newest host that the name means. @throws AnnealError InvalidRequest (N3) */
export async function findHost(
  collections: Hosts,
  { project, host }: { project?: string | undefined; host: string },
): Promise<HostDocument | undefined> {
  const found = await findExactly(collections, { project, host });
  if (found || project === undefined) return found;
  const spelling = await otherSpelling(collections, { project, name: host }, () => true);
  return spelling === undefined ? undefined : newestNamed(collections, { project, name: spelling });
}

/** The id that the deployments for a host have in the store; without such a host, those that wait for one (`waitingIds`). */
export async function idsFor(collections: Hosts, named: { project: string; host: string }): Promise<string[]> {
  const found = await findHost(collections, named);
  return found ? [found.id] : waitingIds(named.host);
}

/** The ids that deployments have while no host has their name. Those of 0.1.0 have the name as it was typed. */
export const waitingIds = (name: string): string[] => [...new Set([hostNameKey(name), name])];

/** Finds a host by id, or the newest host with exactly that name. */
export async function findExactly(
  collections: Hosts,
  { project, host }: { project?: string | undefined; host: string },
): Promise<HostDocument | undefined> {
  const byId = await collections.hosts.get(host);
  if (byId && (project === undefined || byId.project === project)) return byId;
  return project === undefined ? undefined : newestNamed(collections, { project, name: host });
}

/** The joined hosts that a name means, oldest first. @throws AnnealError InvalidRequest (N3) */
export async function joinedHosts({ hosts }: Hosts, { project, name }: HostName): Promise<HostDocument[]> {
  const named = async (spelling: string): Promise<HostDocument[]> =>
    (await hosts.find({ where: { project, name: spelling }, orderBy: ['created_at'] })).filter((host) =>
      isJoined(host),
    );
  const exact = await named(name);
  if (exact.length > 0) return exact;
  const spelling = await otherSpelling({ hosts }, { project, name }, isJoined);
  return spelling === undefined ? [] : named(spelling);
}

/** The names of the joined hosts that no server uses and whose name resembles this one. Reads no other hosts. */
export async function similarFreeHosts({ hosts }: Hosts, { project, name }: HostName): Promise<string[]> {
  const rows = await hosts.rows({ where: { joined: true, project }, orderBy: ['name'] }, [
    'name',
    'taken_by',
    ...joinedPaths,
  ]);
  const free = rows.flatMap(({ values }) => (values['taken_by'] === null && isJoined(values) ? [nameIn(values)] : []));
  return [...new Set(free)].filter((other) => other !== name && areSimilarHostNames(name, other));
}

/** @throws AnnealError InvalidRequest for a text that is no name of a host */
export function checkHostName(name: string): void {
  const problem = hostNameProblem(name);
  if (problem === undefined) return;
  throw new AnnealError('InvalidRequest', `Cannot create host ${JSON.stringify(name)}: ${problem}.`, {
    mistakes: [{ code: 'InvalidName', path: 'host', message: problem, found: name }],
  });
}

/**
 * Adds the key to hosts of 0.1.0, which have none; until then only their exact name finds them. Each start looks. Remove
 * it when 0.1 can no longer be upgraded directly.
 */
export async function keyEarlierNames({ hosts }: Hosts): Promise<void> {
  for (;;) {
    const earlier = await hosts.find({ where: { name_key: null }, limit: 500 });
    if (earlier.length === 0) return;
    await hosts.bulk(
      earlier.map((host) => ({
        kind: 'replace',
        document: { ...host, name_key: hostNameKey(host.name) },
        version: host.version,
      })),
    );
  }
}

const joinedPaths = ['joined', 'status'];
type Row = ListedRow['values'];
/** A row has 1 for true. */
const isJoined = ({ joined, status }: Pick<HostDocument, 'joined' | 'status'> | Row): boolean =>
  (joined === true || joined === 1) && status !== 'deleting';
const nameIn = ({ name }: Row): string => String(name);

async function newestNamed({ hosts }: Hosts, { project, name }: HostName): Promise<HostDocument | undefined> {
  const where = { project, name };
  const [newest] = await hosts.find({ where, orderBy: ['created_at'], descending: true, limit: 1 });
  return newest;
}

/** The other spelling of a name of which there is no host. @throws AnnealError InvalidRequest (N3) */
async function otherSpelling(
  { hosts }: Hosts,
  { project, name }: HostName,
  isMeant: (host: Row) => boolean,
): Promise<string | undefined> {
  const rows = await hosts.rows({ where: { name_key: hostNameKey(name), project } }, ['name', ...joinedPaths]);
  return spellingOf(
    name,
    rows.flatMap(({ values }) => (isMeant(values) ? [nameIn(values)] : [])),
  );
}
