/** Computes the response of a nested stack to the stack around it: the attributes that the outer template reads. */
import { AnnealError, toFailure, hasCode } from '@anneal/contracts/errors.ts';
import { jsonBytes, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { StackView } from '@anneal/contracts/calls/stacks.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { responseOf } from '@anneal/convergence/nested.ts';
import type { Effect } from '@anneal/convergence/protocol.ts';
import {
  isLeaving,
  isWarm,
  newestFirst,
  representative,
  type ResourceDocument,
  type StackDocument,
} from '@anneal/convergence/documents.ts';
import { type GroupMembers, readGroup } from '@anneal/hot/groups/attribute.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';
import { stackTypeOf } from '@anneal/hot/types/stack-types.ts';
import { readInside } from '@anneal/hot/nested/inside.ts';
import { allUsed } from '@anneal/hot/tree/sources.ts';
import { type PartialValue, unknown } from '@anneal/hot/evaluate/unknown.ts';
import { walk } from '@anneal/hot/evaluate/attribute-path.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { serversInside, serversKey } from '../groups/member-events.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { fromKept, type StoredNestedRequest } from '../groups/kept.ts';
import { readsKey, type NestedRead } from '../engine/reads.ts';

export type NestedAnswer = Extract<Effect, { kind: 'answer' }>;

export interface AnswerParameters {
  readonly effect: NestedAnswer;
  readonly stack: StackDocument;
  readonly plan: Plan;
  readonly resources: Iterable<ResourceDocument>;
  readonly evaluation: Evaluation;
  readonly secrets: Secrets;
}

export function nestedResponse(parameters: AnswerParameters): ResourceResponse {
  const { effect, stack } = parameters;
  const response = responseOf(effect, stack);
  if (stack.deleted_at !== null) return response;
  // The readers of what is being deleted see what it was, until it is gone: its machine may still work.
  if (response.action === 'delete') return response;
  try {
    return { ...response, attributes: attributesOf(parameters), used: usedBy(parameters) };
  } catch (error) {
    if (!hasCode(error, 'TooLarge')) throw error;
    // A failed response already carries its own error.
    if (response.status === 'failed') return response;
    return { ...response, status: 'failed', error: toFailure(error) };
  }
}

function attributesOf({ stack, plan, resources, evaluation, secrets }: AnswerParameters): JsonObject {
  const kept = fromKept(stack.group);
  if (!kept) return {};
  const byName = new Map<string, ResourceDocument[]>();
  for (const resource of resources) {
    const list = byName.get(resource.name);
    if (list) list.push(resource);
    else byName.set(resource.name, [resource]);
  }
  const shown = (name: string): ResourceDocument | undefined => representative(byName.get(name) ?? []);
  const leaving = new Map(
    [...resources]
      .filter(
        (resource) => isLeaving(resource) && (shown(resource.name) !== resource || !hasPlace(kept, plan, resource)),
      )
      .map((resource) => [`${resource.name} ${resource.id}`, resource]),
  );
  const peer = (key: string): ResourceDocument | undefined => leaving.get(key) ?? shown(key);
  const reader = readerOf({ evaluation, secrets, peer, stack });
  const attributes =
    kept.kind === 'group'
      ? groupAttributes({ kept, group: stack.parent?.resource_name ?? stack.name, peer, leaving, reader, plan })
      : stackAttributes({ kept, stack, outputs: evaluation.outputs({ plan, stack, peer }), peer, reader });
  const servers = kept.shows_servers ? serversInside(resources) : [];
  return servers.length > 0 ? { ...attributes, [serversKey]: servers } : attributes;
}

/** The sources that the stack and the stacks in it were compiled from. */
function usedBy({ plan, resources }: AnswerParameters): string[] {
  const inside = [...resources].filter(({ nested, action }) => nested !== null && action !== 'DELETE');
  return allUsed([plan.used, ...inside.map(({ used }) => used)]);
}

/** A resource inside has an error in place of the value. */
class Unreadable extends Error {}

function valueOrProblem(read: () => Json): Omit<NestedRead, 'path'> {
  try {
    return { value: read() };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { value: null, problem: error.message };
  }
}

/** Reads resources, and notes whether a value was secret. */
interface Reader {
  reference(name: string): PartialValue;
  /** @throws Unreadable */
  attribute(name: string, attribute: string, path: readonly Json[]): PartialValue;
  /** Runs a read, and seals its value when a secret went into it. @throws AnnealError TooLarge */
  seal(read: () => PartialValue): Json;
}

function readerOf({
  evaluation,
  secrets,
  peer,
  stack: { name: stack, project },
}: {
  evaluation: Evaluation;
  secrets: Secrets;
  peer: (name: string) => ResourceDocument | undefined;
  stack: StackDocument;
}): Reader {
  let isSecret = false;
  let bytes = 0;
  const { resource: limit } = evaluation.sizes;
  const open = (value: PartialValue | undefined): PartialValue => {
    if (value === undefined || value === unknown) return null;
    const opened = secrets.open<Json>(value as Json);
    if (opened !== value) isSecret = true;
    return opened;
  };
  return {
    reference(name) {
      const resource = peer(name);
      return resource ? open(evaluation.referenceTo(resource, project)) : null;
    },
    attribute(name, attribute, path) {
      const resource = peer(name);
      if (!resource) return null;
      const found = evaluation.attributeOf(resource, [attribute, ...path]);
      if (found.problem !== undefined) throw new Unreadable(found.problem);
      return walk(open(found.value), found.rest);
    },
    seal(read) {
      isSecret = false;
      const value = read();
      const known = value === unknown ? null : (value as Json);
      bytes += jsonBytes(known, limit.bytes);
      if (bytes > limit.bytes) {
        const message = `The outputs that are read of ${stack} have ${bytes} bytes or more; the limit is ${limit.bytes} (${limit.setting}).`;
        throw new AnnealError('TooLarge', message);
      }
      return isSecret ? secrets.seal(known) : known;
    },
  };
}

const memberNames = ({ members }: StoredNestedRequest, plan: Plan): readonly string[] =>
  members?.names ?? Object.keys(plan.resources);

const hasPlace = (kept: StoredNestedRequest, plan: Plan, { name }: ResourceDocument): boolean =>
  memberNames(kept, plan).includes(name);

function groupAttributes({
  kept,
  group,
  peer,
  leaving,
  reader,
  plan,
}: {
  kept: StoredNestedRequest;
  group: string;
  /** By the name of a member, or the key of one that leaves. */
  peer: (key: string) => ResourceDocument | undefined;
  leaving: ReadonlyMap<string, ResourceDocument>;
  reader: Reader;
  plan: Plan;
}): JsonObject {
  const { type, members: state } = kept;
  const kind = groupKind(type);
  const isByAge = kind === 'scaling' || kind === 'instances';
  const names = memberNames(kept, plan).filter((name) => {
    const resource = peer(name);
    return !isByAge || (resource !== undefined && resource.status !== 'FAILED');
  });
  const age = (name: string): string => `${peer(name)?.created_at ?? ''} ${name}`;
  const members: GroupMembers = {
    names: isByAge ? names.toSorted((a, b) => (age(a) < age(b) ? -1 : 1)) : names,
    // A member of the warm pool was never in service.
    leaving: [...leaving]
      .filter(([, resource]) => !isWarm(resource))
      .toSorted(([, a], [, b]) => newestFirst(b, a))
      .map(([key, { name }]) => ({ key, name })),
    reference: (key) => reader.reference(key),
    attribute: (key, attribute, path) => {
      if (!leaving.has(key)) return reader.attribute(key, attribute, path);
      // A member that is half deleted may have lost the attribute.
      const found = valueOrProblem(() => reader.attribute(key, attribute, path) as Json);
      return found.value;
    },
  };
  const skipped = state?.skipped ?? [];
  const read = ([attribute, ...path]: readonly Json[]): Omit<NestedRead, 'path'> => {
    if (typeof attribute !== 'string') return { value: null };
    return valueOrProblem(() =>
      reader.seal(() => {
        const found = readGroup({ group, type, members, skipped, attribute, path });
        if ('value' in found) return found.value;
        throw new Unreadable(found.problem);
      }),
    );
  };
  const plain = {
    numbered: ['refs', 'refs_map', 'removed_rsrc_list'],
    chain: ['refs'],
    scaling: ['current_size', 'refs', 'refs_map'],
    instances: ['InstanceList'],
    deployments: ['deploy_stdouts', 'deploy_stderrs', 'deploy_status_codes'],
  }[kind ?? 'numbered'];
  const reads = kept.reads.map((path): NestedRead => ({ path, ...read(path) }));
  return withReads(toRecord(plain.map((name) => [name, read([name]).value])), reads);
}

function stackAttributes({
  kept,
  stack,
  outputs,
  peer,
  reader,
}: {
  kept: StoredNestedRequest;
  stack: StackDocument;
  outputs: NonNullable<StackView['outputs']>;
  peer: (name: string) => ResourceDocument | undefined;
  reader: Reader;
}): JsonObject {
  const isStack = kept.kind === 'stack';
  const named = (prefix: string): JsonObject => toRecord(outputs.map(({ key, value }) => [`${prefix}${key}`, value]));
  if (isStack && stackTypeOf(kept.type)?.outputs === 'map') return { stack_name: stack.name, outputs: named('') };
  const prefix = isStack ? 'Outputs.' : '';
  const owner = stack.parent?.resource_name ?? stack.name;
  const failed = outputs.flatMap(({ key, error }): NestedRead[] =>
    error === undefined
      ? []
      : [{ path: [`${prefix}${key}`], value: null, problem: `Error in ${owner} output ${key}: ${error}` }],
  );
  if (isStack) return withReads(named(prefix), failed);
  const reads = kept.reads.flatMap(([attribute, ...path]): NestedRead[] => {
    if (typeof attribute !== 'string') return [];
    const inner = readInside(attribute, (name) => peer(name) !== undefined);
    if (!inner) return [];
    const { resource } = inner;
    const [first, ...rest] = [...inner.path, ...path];
    const read = (): PartialValue => {
      if (first === undefined) return reader.reference(resource);
      return typeof first === 'string' ? reader.attribute(resource, first, rest) : null;
    };
    return [{ path: [attribute, ...path], ...valueOrProblem(() => reader.seal(read)) }];
  });
  const { [readsKey]: output, ...others } = named(prefix);
  if (output !== undefined) reads.push({ path: [readsKey], value: output });
  return withReads(others, [...failed, ...reads]);
}

const withReads = (attributes: JsonObject, reads: readonly NestedRead[]): JsonObject => ({
  ...attributes,
  ...(reads.length > 0 && { [readsKey]: reads as unknown as Json }),
});
