/** The controllers of a system. A system may have several: its BMC, that of its enclosure, a service. */
import { linkIn } from './conversation/links.ts';
import { linkedBodies, collectionMembers, within, type DocumentReader } from './reading.ts';

type Body = Readonly<Record<string, unknown>>;

/** The types of managers, the one that serves a single system first. Others come last. */
const types = ['BMC', 'ManagementController'];
const rankOf = ({ ManagerType: type }: Body): number => {
  const at = types.findIndex((each) => each === type);
  return at >= 0 ? at : type === undefined || type === null ? types.length : types.length + 1;
};

/** The managers that the controller shows, the BMC first. */
export async function managersOf(client: DocumentReader, system: Body): Promise<Body[]> {
  const { ManagedBy: named } = within(system, 'Links');
  const links = Array.isArray(named) ? (named as unknown[]) : [];
  const found = links.length > 0 ? await linkedBodies(client, links) : await listedManagers(client, linkIn(system));
  return found.toSorted((one, other) => rankOf(one) - rankOf(other));
}

/** Those in the list of the controller that name the system, or no system, for a system that names no manager. */
async function listedManagers(client: DocumentReader, path: string | undefined): Promise<Body[]> {
  const [root = {}] = await linkedBodies(client, [{ '@odata.id': '/redfish/v1/' }]);
  const [list = {}] = await linkedBodies(client, [root['Managers']]);
  const managers = await linkedBodies(client, collectionMembers(list));
  return managers.filter((manager) => {
    const { ManagerForServers: servers } = within(manager, 'Links');
    if (!Array.isArray(servers) || servers.length === 0) return true;
    return servers.some((server) => path !== undefined && plain(linkIn(server)) === plain(path));
  });
}

const plain = (path: string | undefined): string => (path ?? '').replace(/\/+$/, '');
