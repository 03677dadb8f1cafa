import type { ContextMember } from '@anneal/contracts/calls/context.ts';
import { describe, expect, it } from 'vitest';
import { roundKey, planRound, type KnownRun, type RoundConfig } from './round.ts';

const member = (name: string, state: ContextMember['state'] = 'up', roles = ['compute']): ContextMember => ({
  name,
  host: name,
  roles,
  state,
  address: null,
  addresses: [],
  facts: {},
});
const first: RoundConfig = { name: 'first', digest: 'f' };
const second: RoundConfig = { name: 'second', digest: 's' };
const version = 3;
const idOf = (config: RoundConfig, host: string): string => `${host}/${config.name}`;

function round(
  known: Record<string, Partial<KnownRun>>,
  { members = [member('a')], configs = [first, second], fence = 1 } = {},
) {
  const runs = new Map(
    Object.entries(known).map(([id, run]): [string, KnownRun] => [
      id,
      { id, status: 'COMPLETE', key: roundKey(version, first), fence: 1, taken: false, reason: 'why', seen: 1, ...run },
    ]),
  );
  const plan = planRound({ version, fence, members, configs, runs, idOf });
  return { ...plan, start: plan.start.map(({ id }) => id) };
}

describe('a round', () => {
  it('C1: starts the first config on each member that is up, and the next one when that is complete', () => {
    const members = [member('a'), member('b')];
    const plan = round({ 'b/first': {} }, { members });
    expect(plan).toMatchObject({ start: ['a/first', 'b/second'], pending: ['a', 'b'], failures: [] });
  });

  it('C1: ends the row of a member at the first config that failed', () => {
    const plan = round({ 'a/first': { status: 'FAILED' } });
    expect(plan.start).toEqual([]);
    expect(plan.pending).toEqual([]);
    expect(plan.failures).toEqual([
      { member: 'a', host: 'a', config: 'first', deployment_id: 'a/first', reason: 'why' },
    ]);
  });

  it('C2, C3: replaces an older run that waits, and awaits an older run that the host has taken', () => {
    const old = { status: 'IN_PROGRESS', key: roundKey(2, first) } as const;
    const configs = [first];
    expect(round({ 'a/first': old }, { configs })).toMatchObject({ start: ['a/first'], pending: ['a'] });
    expect(round({ 'a/first': { ...old, taken: true } }, { configs })).toMatchObject({ start: [], pending: ['a'] });
    const newest = { ...old, key: roundKey(3, first) };
    expect(round({ 'a/first': newest }, { configs })).toMatchObject({ start: [], pending: ['a'] });
  });

  it('C4: repeats a failed run for a new version, a changed config and a new request', () => {
    const configs = [first];
    const failed = { status: 'FAILED' } as const;
    expect(round({ 'a/first': failed }, { configs, fence: 2 }).start).toEqual(['a/first']);
    expect(round({ 'a/first': { ...failed, key: roundKey(2, first) } }, { configs }).start).toEqual(['a/first']);
    const changed = { ...first, digest: 'g' };
    expect(round({ 'a/first': failed }, { configs: [changed] }).start).toEqual(['a/first']);
  });

  it('starts nothing on a silent member, and cancels what waits there', () => {
    const members = [member('a', 'silent')];
    const plan = round({ 'a/first': { status: 'IN_PROGRESS' } }, { members });
    expect(plan).toMatchObject({ start: [], cancel: ['a/first'], remove: [], pending: [] });
  });

  it('removes the runs of members and configs that have left, and selects members by role', () => {
    const members = [member('head', 'up', ['head']), member('c1')];
    const configs = [{ ...first, roles: ['head'] }, second];
    const plan = round({ 'c1/first': {}, 'gone/second': { status: 'IN_PROGRESS', taken: true } }, { members, configs });
    expect(plan).toMatchObject({
      start: ['head/first', 'c1/second'],
      cancel: ['gone/second'],
      remove: ['c1/first', 'gone/second'],
    });
  });
});
