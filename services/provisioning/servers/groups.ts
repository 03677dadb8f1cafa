/**
 * OS::Nova::ServerGroup: its rule, and the places that its servers hold.
 *
 * G1 A server reserves its place in the document of the group before it claims a node there. The reservation is written over the
 *    places that it was decided on, so two servers never get places that contradict the rule, in whichever processes
 *    they are placed.
 * G2 A server has at most one place in its group. A process that dies between reservation and claim leaves one, which the
 *    next attempt of the same server moves, and the deletion of the server removes.
 * G3 Two processes that place one server at the same time claim one node (N3 of `records.ts`), but may move or remove the
 *    place. So the server reserves the place of its node again until its machine is turned on, and releases a node without.
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change, insertOnce } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import type { NodeDocument } from '../documents/node.ts';
import { objectOf, textOf, type ServerDocument } from './document.ts';
import { ruleAllows, domainIn, type GroupDomain, type GroupPolicy, type PlaceRule } from '../nodes/slots/place-rule.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

interface GroupDocument extends Document {
  readonly name: string;
  readonly project: string;
  readonly policy: GroupPolicy;
  readonly domain: GroupDomain;
  readonly most: number;
  /** The domain of each server, by the id of the server. */
  readonly places: Readonly<Record<string, string>>;
}

export class ServerGroups {
  readonly #secrets: Secrets;
  readonly #collection: Collection<GroupDocument>;

  private constructor(secrets: Secrets, collection: Collection<GroupDocument>) {
    this.#secrets = secrets;
    this.#collection = collection;
  }

  static async open({ secrets, store }: Pick<ServiceContext, 'secrets' | 'store'>): Promise<ServerGroups> {
    return new ServerGroups(
      secrets,
      await store.collection<GroupDocument>({ name: 'provisioning_groups', indexes: [] }),
    );
  }

  /**
   * The rule of a group, for one of its servers.
   * @throws AnnealError NotFound for a group that does not exist in the project.
   */
  async rule(id: string, { id: server, project }: Pick<ServerDocument, 'id' | 'project'>): Promise<PlaceRule> {
    const group = await this.#collection.get(id);
    if (group?.project !== project) {
      throw new AnnealError(
        'NotFound',
        `Cannot place the server: scheduler_hints.group: there is no server group ${id} in project ${project}. Use the id, for example {get_resource: GROUP}.`,
      );
    }
    return ruleFor(group, server);
  }

  /** G1. False when the places of the other servers no longer allow this node. */
  async reserve(id: string, server: string, node: Pick<NodeDocument, 'id' | 'properties'>): Promise<boolean> {
    let isAllowed = false;
    await change(this.#collection, id, (group) => {
      const place = domainIn(node, group.domain);
      isAllowed = ruleAllows(ruleFor(group, server), place);
      if (!isAllowed || group.places[server] === place) return undefined;
      return { ...group, places: { ...group.places, [server]: place } };
    });
    await faultPoint('provisioning.group.reserved');
    return isAllowed;
  }

  /** Removes the place of a server. A repeat changes nothing. */
  async release(id: string, server: string): Promise<void> {
    await change(this.#collection, id, (group) => {
      const { [server]: held, ...places } = group.places;
      return held === undefined ? undefined : { ...group, places };
    });
  }

  /** The work of the type, by action. */
  get work(): Readonly<Record<'create' | 'delete' | 'check', ServerWork>> {
    return {
      create: (server, request) => this.#create(server, request),
      delete: async ({ id }) => {
        const group = await this.#collection.get(id);
        if (group) await this.#collection.remove(id);
        return { kind: 'complete', physical_id: id };
      },
      check: async ({ id }) => {
        if (await this.#collection.get(id)) return { kind: 'complete', physical_id: id };
        return { kind: 'failed', error: new AnnealError('ResourceFailed', `Server group ${id} no longer exists.`) };
      },
    };
  }

  async #create(
    { id, hostname, project }: ServerDocument,
    { data }: Parameters<ServerWork>[1],
  ): Promise<ServerDecision> {
    const properties = openProperties(this.#secrets, data.properties);
    const { policies } = properties;
    const rules = objectOf(properties, 'rules');
    const most = numberOf(rules['max_server_per_host']);
    const group = {
      id,
      name: textOf(properties, 'name') || hostname,
      project,
      policy: ((Array.isArray(policies) ? policies[0] : undefined) ?? 'anti-affinity') as GroupPolicy,
      domain: (textOf(rules, 'domain') || 'rack') as GroupDomain,
      most: most ?? 1,
    };
    // A repeat keeps the places of the servers that already belong to the group.
    await insertOnce(this.#collection, { ...group, places: {} });
    const { policy, domain, most: max_server_per_host } = group;
    const show = { id, name: group.name, project_id: project, policy, rules: { domain, max_server_per_host } };
    return { kind: 'complete', physical_id: id, attributes: { show } };
  }
}

function ruleFor({ name, policy, domain, most, places }: GroupDocument, server: string): PlaceRule {
  const others = Object.entries(places).flatMap(([id, place]) => (id === server ? [] : [place]));
  return { name, policy, domain, most, others };
}
