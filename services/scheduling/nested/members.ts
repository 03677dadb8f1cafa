/**
 * Computes the members of a group from its previous state and its new properties. Pure.
 *
 * M1 A member keeps its name as long as it lives; names that removal policies removed are never used again.
 * M2 A scaling group keeps the size that a policy gave it, until its own properties request another.
 * M3 When a group shrinks, the highest number is removed first. Where names have no numbers, failed members are removed
 *    first, then the oldest, or those that the group's own order names. Protected members stay.
 * M4 Members of the warm pool are in the template, and in no output of it. The rules of the pool: `groups/warm.ts`.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { type Json, jsonBytes, type JsonObject, sameJson } from '@anneal/contracts/json.ts';
import type { PlanRolling } from '@anneal/contracts/plan.ts';
import { batchesOf } from '@anneal/hot/groups/change.ts';
import { chainMembers } from '@anneal/hot/groups/chain.ts';
import { deploymentDefinition, deploymentNames } from '@anneal/hot/groups/deployments.ts';
import { groupKind, type GroupKind } from '@anneal/hot/groups/kind.ts';
import { type GroupMember, memberTemplate, type PropertyReader } from '@anneal/hot/groups/member.ts';
import { memberNames, nextSkipped, numberedDefinition } from '@anneal/hot/groups/numbered.ts';
import { firstSize, instanceDefinition, scalingDefinition, wrongSizes } from '@anneal/hot/groups/scaling.ts';
import { noCooldown } from '../groups/cooldown.ts';
import { orderOf } from '../groups/facts.ts';
import { keptScaling } from '../groups/scaling-state.ts';
import { victimsIn } from '../groups/victims.ts';
import { filledPool, poolSize, takenFrom, type PoolMember } from '../groups/warm.ts';
import type { GroupState } from '../groups/kept.ts';
import { rollingOf, type Rolling } from './rolling-policy.ts';
import type { SizeLimit } from '@anneal/convergence/size-limits.ts';

/**
 * The bytes of a member in addition to its definition: less than its document has. A number of members that cannot fit is
 * refused before their names are made.
 */
const memberBytes = 512;

export interface ExistingMember {
  readonly name: string;
  readonly reference: Json;
  readonly created_at: string;
  readonly failed: boolean;
  /** It was created with success. */
  readonly ready: boolean;
}

export interface MembersQuestion {
  readonly type: string;
  /** The properties with secrets opened. */
  readonly properties: JsonObject;
  readonly updatePolicy: Json;
  /** The reads of the group in the template around it. */
  readonly reads: readonly (readonly Json[])[];
  /** The previous inputs and state of the group; undefined when it is new. */
  readonly before: { readonly properties: JsonObject; readonly state: GroupState } | undefined;
  readonly existing: readonly ExistingMember[];
  /** The size that a scaling policy requests. */
  readonly size?: number | undefined;
  /** The members that leave, when they were chosen; other members stay. */
  readonly leaving?: readonly string[];
  /** New members are created, and none comes from the warm pool. */
  readonly fresh?: boolean;
  /** The members exist, and the warm pool stays as it is, because an adoption creates nothing. */
  readonly adopts?: boolean;
  readonly configuration: GroupState['configuration'];
  /** The reference of the group. */
  readonly reference: string;
  /** The time that the action may take, in seconds. */
  readonly withinSeconds: number;
  /** The size limit of a stack. */
  readonly limit: SizeLimit;
  /** Returns an unused name; the same count gives the same name. */
  readonly newName: (count: number) => string;
}

export interface MembersAnswer {
  readonly template: JsonObject;
  readonly rolling: PlanRolling | undefined;
  readonly state: GroupState;
}

export function membersOf(question: MembersQuestion): MembersAnswer {
  const { type, properties, before, configuration } = question;
  const kind = groupKind(type) ?? 'numbered';
  const wrong = wrongSizes(properties);
  if (wrong !== undefined) throw new AnnealError('InvalidRequest', wrong);
  refuseTooLarge(kind, question);
  const { names, skipped, warm = [] } = namesOf(kind, question);
  const rolling = rollingOf({ type, kind, properties, updatePolicy: question.updatePolicy, creates: !before });
  const changes = before !== undefined && definitionChanged(kind, question, before);
  const temporary =
    rolling && changes
      ? temporaryNames(kind, question, { names, skipped, rolling, current: before.state.names.length })
      : [];
  const all = [...names, ...temporary];
  const scaling = keptScaling(before?.state.scaling, [...names, ...warm]);
  if (rolling && (changes || !before)) refuseTooLong(rolling, all.length, question);
  const defined = (name: string): GroupMember => ({ name, definition: define(kind, question, name) });
  const members = kind === 'chain' ? chainMembers({ properties }) : all.map(defined);
  return {
    template: memberTemplate({ type, members, warm: warm.map(defined), reads: question.reads.filter(isRead) }),
    rolling:
      rolling && (changes || !before)
        ? planOf(rolling, { kind, names, temporary, before: new Set(before?.state.names) })
        : undefined,
    state: {
      names,
      ...(warm.length > 0 && { warm }),
      skipped,
      cooldown: before?.state.cooldown ?? noCooldown,
      configuration,
      ...(scaling && { scaling }),
    },
  };
}

const isRead = (read: readonly Json[]): read is PropertyReader => typeof read[0] === 'string';

/** Refuses a policy whose pauses alone use up the time of the stack. */
function refuseTooLong({ batch, pause }: Rolling, members: number, { withinSeconds, before }: MembersQuestion): void {
  const batches = Math.ceil(members / Math.max(1, batch));
  if ((batches - 1) * pause < withinSeconds) return;
  const what = before ? 'update' : 'create';
  throw new AnnealError('InvalidRequest', `The current update policy will result in stack ${what} timeout.`);
}

/**
 * Refuses members that exceed the size limit of a stack. Their size is known early: they are copies of one definition.
 */
function refuseTooLarge(kind: GroupKind, question: MembersQuestion): void {
  const { properties, limit } = question;
  if (kind === 'chain') return;
  const count =
    kind === 'numbered'
      ? Number(properties['count'] ?? 1)
      : kind === 'deployments'
        ? deploymentNames(properties).length
        : sizeOf(kind, question) + poolSize(properties);
  const bytes = count * (memberBytes + jsonBytes(define(kind, question, '0'), limit.bytes));
  if (bytes <= limit.bytes) return;
  const message = `The ${count} members of the group have ${bytes} bytes; the limit of a stack is ${limit.bytes} (${limit.setting}).`;
  throw new AnnealError('TooLarge', message);
}

function namesOf(
  kind: GroupKind,
  question: MembersQuestion,
): { names: string[]; skipped: string[]; warm?: readonly string[] } {
  const { properties, before, existing } = question;
  if (kind === 'chain') return { names: chainMembers({ properties }).map(({ name }) => name), skipped: [] };
  if (kind === 'deployments') return { names: deploymentNames(properties), skipped: [] };
  if (kind === 'numbered') {
    const references = before && new Map(existing.map(({ name, reference }) => [name, reference]));
    const skipped = nextSkipped({ properties, skipped: new Set(before?.state.skipped), references });
    return { names: memberNames({ count: Number(properties['count'] ?? 1), skipped: new Set(skipped) }), skipped };
  }
  return { ...resize(question, sizeOf(kind, question)), skipped: [] };
}

function sizeOf(kind: GroupKind, { properties, before, size }: MembersQuestion): number {
  const number = (given: JsonObject, ...names: string[]): number | undefined => {
    const value = names.map((name) => given[name]).find((each) => typeof each === 'number');
    return typeof value === 'number' ? value : undefined;
  };
  const desired = (given: JsonObject): number | undefined =>
    number(given, 'desired_capacity', 'DesiredCapacity', 'Size') || undefined;
  const least = number(properties, 'min_size', 'MinSize') ?? 0;
  const most = number(properties, 'max_size', 'MaxSize') ?? Infinity;
  if (size !== undefined) return Math.min(Math.max(size, least), most);
  if (!before) return firstSize(kind, properties);
  const wanted = desired(properties);
  const asks = wanted !== undefined && wanted !== desired(before.properties);
  const isFixed = kind === 'instances' && number(properties, 'Size') !== undefined;
  const next = isFixed ? (number(properties, 'Size') ?? 0) : asks ? wanted : before.state.names.length;
  return Math.min(Math.max(next, least), most);
}

/** Removes the chosen members, or members in the order of M3, and adds members of the pool and new ones. */
function resize(question: MembersQuestion, size: number): { names: string[]; warm: readonly string[] } {
  const { before, leaving, newName, properties } = question;
  const current = [...(before?.state.names ?? [])];
  const safe = new Set(before?.state.scaling?.protected);
  const victims = leaving ?? victimsIn(orderOf(properties), { members: candidatesOf(question, current), safe });
  const gone = new Set(leaving ?? victims.slice(0, Math.max(0, current.length - size)));
  const stay = current.filter((name) => !gone.has(name));
  const need = Math.max(0, size - stay.length);
  const held = candidatesOf(question, before?.state.warm ?? []).filter(({ name }) => !gone.has(name));
  const taken = question.fresh === true ? [] : takenFrom(held, need);
  const come = Array.from({ length: need - taken.length }, (_, index) => newName(index));
  const left = held.filter(({ name }) => !taken.includes(name));
  let count = 0;
  // Negative counts, so that no other new member gets the same name.
  const pool = { size: poolSize(properties), newName: () => newName((count -= 1)) };
  const fills = question.size === undefined && question.adopts !== true;
  const warm = fills ? filledPool(left, pool) : left.map(({ name }) => name);
  return { names: [...stay, ...taken, ...come], warm };
}

function candidatesOf({ before, existing }: MembersQuestion, names: readonly string[]): PoolMember[] {
  const known = new Map(existing.map((member) => [member.name, member]));
  const { lost = {} } = before?.state.scaling ?? {};
  return names.map((name) => ({
    name,
    created_at: known.get(name)?.created_at ?? '9',
    failed: known.get(name)?.failed === true,
    ready: known.get(name)?.ready === true,
    unhealthy: lost[name] !== undefined,
  }));
}

function define(kind: GroupKind, question: MembersQuestion, name: string): JsonObject {
  const { type, properties, configuration, reference } = question;
  switch (kind) {
    case 'numbered':
      return numberedDefinition({ properties, name });
    case 'deployments':
      return deploymentDefinition({ type, properties, name });
    case 'scaling':
      return scalingDefinition(properties);
    case 'instances':
      return instanceDefinition({ properties, configuration: configuration ?? { properties: {} }, group: reference });
    case 'chain':
      return {};
  }
}

/** Whether the definition of the members changed. Only this change is rolled; a new size is applied at once. */
function definitionChanged(
  kind: GroupKind,
  { properties, configuration }: MembersQuestion,
  before: NonNullable<MembersQuestion['before']>,
): boolean {
  const part = (given: JsonObject): Json => {
    if (kind === 'numbered') return given['resource_def'] ?? null;
    if (kind === 'scaling') return given['resource'] ?? null;
    if (kind === 'instances') return [given['LaunchConfigurationName'] ?? null, given['Tags'] ?? null];
    const { servers: _, ...rest } = given;
    return rest;
  };
  const isSame = sameJson(part(before.properties), part(properties));
  return !isSame || (kind === 'instances' && !sameJson(before.state.configuration, configuration));
}

/** Names of members that exist only during a rolling change, so that enough members stay in service. */
function temporaryNames(
  kind: GroupKind,
  { newName }: MembersQuestion,
  group: { names: readonly string[]; skipped: readonly string[]; rolling: Rolling; current: number },
): string[] {
  const { names, skipped, rolling } = group;
  const target = names.length;
  if (kind === 'deployments' || target === 0) return [];
  const { batch: most, least } = rolling;
  const sizes = batchesOf({ target, current: group.current, most, least }).map(({ size }) => size);
  const more = Math.max(0, ...sizes) - Math.max(target, group.current);
  if (more <= 0) return [];
  if (kind !== 'numbered') return Array.from({ length: more }, (_, index) => newName(target + index));
  return memberNames({ count: target + more, skipped: new Set(skipped) }).slice(target);
}

function planOf(
  { batch, least, pause }: Rolling,
  {
    kind,
    names,
    temporary,
    before,
  }: { kind: GroupKind; names: readonly string[]; temporary: readonly string[]; before: ReadonlySet<string> },
): PlanRolling {
  // New members come first, from the lowest number. Then the existing ones: the highest number first, else the oldest.
  const there = names.filter((name) => before.has(name));
  return {
    members: [...names.filter((name) => !before.has(name)), ...(kind === 'numbered' ? there.toReversed() : there)],
    batch_size: Math.max(1, batch),
    min_in_service: Math.min(least, names.length),
    pause_seconds: pause,
    ...(temporary.length > 0 && { temporary: [...temporary] }),
  };
}
