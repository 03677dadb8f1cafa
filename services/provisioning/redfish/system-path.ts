/** Finds the path of a node's system when the operator gave none. The caller remembers it. */
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { linkIn } from './conversation/links.ts';
import type { RedfishAnswer } from './conversation/transport.ts';

/** @param refuse creates the error. It is `fatal` when a retry cannot help. */
export async function findSystem(
  client: { get(path: string, what?: string): Promise<RedfishAnswer> },
  wanted: string | null,
  refuse: (why: string, fatal: boolean) => AnnealError,
): Promise<string> {
  if (wanted?.startsWith('/')) return wanted;
  const { body: root } = await client.get('/redfish/v1/');
  const path = linkIn(root, 'Systems') ?? '/redfish/v1/Systems';
  const { body: systems, problem } = await client.get(path, 'its list of systems (Systems)');
  const { Members: listed } = systems;
  if (!Array.isArray(listed)) throw refuse(problem ?? `${path} does not contain a list of Members`, false);
  const members = listed.flatMap((member) => linkIn(member) ?? []);
  const some = members.slice(0, 20).join(', ') || 'none';
  if (wanted !== null) {
    const found = members.find((member) => member.replace(/\/+$/, '').endsWith(`/${wanted}`));
    if (found !== undefined) return found;
    throw refuse(`it has no system ${wanted}; it has ${some}`, false);
  }
  const [only] = members;
  if (only !== undefined && members.length === 1) return only;
  throw refuse(`it has ${members.length} systems; choose one with redfish_system_id: ${some}`, members.length > 1);
}
