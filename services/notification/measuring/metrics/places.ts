/**
 * Where a host is: the labels that the server gives to its measurements. They come from the stack, so no host can forge
 * them.
 */
import { hostShow } from '@anneal/contracts/calls/hosts.ts';
import { warmLabel, type Labels } from '@anneal/contracts/calls/measuring.ts';
import { stackResources, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import { stackShow, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { ignoreNotFound } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import { hasMembers } from '@anneal/hot/groups/kind.ts';
import type { ServiceQuestion } from '../../service-questions.ts';

/** A host or a stack that moves (a joined host that a server takes) has its new labels after this time. */
const rememberedMs = 60_000;
const mostRemembered = 20_000;
const mostDepth = 20;
/** Labels that a template gives in the metadata of a server, as `metering.NAME`. */
const mostMetering = 5;
const meteringName = /^metering\.([A-Za-z_][\w.:-]{0,63})$/;

/** The position of a stack in its tree. */
export interface StackPlace {
  readonly root: Pick<StackView, 'id' | 'name'>;
  /** The resources from the root to this stack: `['workers', '0']`. */
  readonly path: readonly string[];
  /** The innermost group around the stack, or the stack itself. `depth`: the length of its path. */
  readonly group: { readonly id: string; readonly name: string; readonly depth: number } | null;
  /** It is in a member that waits in the warm pool of its group. */
  readonly warm?: true;
}

export class Places {
  readonly #ask: ServiceQuestion;
  readonly #now: () => number;
  readonly #remembered = new Recent<{ until: number; value: Promise<unknown> }>(mostRemembered);

  constructor(options: { ask: ServiceQuestion; now: () => number }) {
    this.#ask = options.ask;
    this.#now = options.now;
  }

  /** The labels of a host. @throws AnnealError NotFound for a host that does not exist */
  host(project: string, id: string): Promise<Labels> {
    return this.#remember(`host\n${project}\n${id}`, async () => {
      const { name, server } = await this.#ask('configuration', hostShow, {
        project,
        data: { project, host: id },
      });
      const own = { host: id, host_name: name };
      if (!server) return own;
      const place = await this.stack(project, server.stack_id);
      if (!place) return own;
      const resource = await this.#resource(project, server.stack_id, server.resource_name);
      const where = resource?.warm ? { ...place, warm: true as const } : place;
      return { ...meteringOf(resource), ...labelsOf(where, server.resource_name), ...own };
    });
  }

  /** The place of a stack. Undefined for a stack that does not exist. */
  stack(project: string, id: string): Promise<StackPlace | undefined> {
    return this.#remember(`stack\n${project}\n${id}`, async () => {
      const shown = await this.#stack(project, id);
      return shown && this.#placeOf(project, shown);
    });
  }

  async #placeOf(project: string, stack: StackView): Promise<StackPlace | undefined> {
    const { parent, parent_resource: name } = stack;
    if (parent === null || name === null || stack.depth > mostDepth) {
      return { root: { id: stack.id, name: stack.name }, path: [], group: null };
    }
    const above = await this.stack(project, parent);
    if (!above) return undefined;
    const path = [...above.path, name];
    const resource = await this.#resource(project, parent, name);
    const isGroup = hasMembers(resource?.type ?? '');
    const warm = resource?.warm && { warm: true as const };
    return {
      ...above,
      ...warm,
      path,
      group: isGroup ? { id: stack.id, name: stack.name, depth: path.length } : above.group,
    };
  }

  #stack(project: string, stack: string): Promise<StackView | undefined> {
    const data = { project, stack, outputs: false };
    return this.#ask('scheduling', stackShow, { project, data }).catch(ignoreNotFound);
  }

  async #resource(project: string, stack: string, name: string): Promise<ResourceView | undefined> {
    const data = { project, stack, name, detail: true };
    const found = await this.#ask('scheduling', stackResources, { project, data }).catch(ignoreNotFound);
    return found?.resources.find((each) => each.name === name);
  }

  async #remember<T>(key: string, find: () => Promise<T>): Promise<T> {
    const known = this.#remembered.get(key);
    const now = this.#now();
    if (known && known.until > now && known.until <= now + rememberedMs) return known.value as Promise<T>;
    const value = find();
    this.#remembered.set(key, { until: now + rememberedMs, value });
    value.catch(() => this.#remembered.delete(key));
    return value;
  }
}

/** The labels of a server in a stack. */
export function labelsOf({ root, path, group, warm }: StackPlace, server: string): Labels {
  const below = [...path, server];
  return {
    stack: root.id,
    stack_name: root.name,
    server: below.join('/'),
    ...(group && {
      group: path.slice(0, group.depth).join('/'),
      group_id: group.id,
      group_name: group.name,
      member: below[group.depth] ?? server,
    }),
    ...(warm && { [warmLabel]: 'true' }),
  };
}

/** The labels that the template gives in the metadata of the server: `metering.role: web` is the label `role`. */
export function meteringOf(resource: Pick<ResourceView, 'properties'> | undefined): Labels {
  const metadata = resource?.properties?.['metadata'];
  if (!isObject(metadata)) return {};
  const given = Object.entries(metadata).flatMap(([name, value]) => {
    const [, label] = meteringName.exec(name) ?? [];
    return label !== undefined && typeof value === 'string' && value.length <= 255 ? [[label, value] as const] : [];
  });
  return Object.fromEntries(given.slice(0, mostMetering));
}
