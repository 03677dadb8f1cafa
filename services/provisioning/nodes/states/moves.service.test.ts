import { AnnealError } from '@anneal/contracts/errors.ts';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { nodeView, withoutWarning, withWarning, type Boot, type NodeDocument } from '../../documents/node.ts';
import { afterPowerFailure } from './driver.ts';
import { identityChange, requireOwnMachine, sameMachine } from '../../documents/faults.ts';
import { identityFault } from '../../documents/identity.ts';
import { acceptedMachine, changePower, lateFailure, move, type MoveContext } from './moves.ts';
import { isHopeless } from './steps.ts';

const file = new URL('../../testdata/nodes-without-claims.json', import.meta.url);
const [stored] = (JSON.parse(await readFile(file, 'utf8')) as { nodes: NodeDocument[] }).nodes;
const rest = {
  target: null,
  work: null,
  fault: null,
  fault_since: null,
  last_error: null,
  power_target: null,
} as const;
const node = (change: Partial<NodeDocument>): NodeDocument => ({ ...stored, ...rest, ...change }) as NodeDocument;
const now = Date.parse('2026-01-01T00:00:00.000Z');
const moment = (cleanOnProvide = false): MoveContext => ({
  now,
  newId: () => 'work-1',
  budgets: {
    bmcMs: 1_000,
    bootMs: 20_000,
    cleanMs: 300_000,
    stepsMs: 7_000,
    stallMs: 5_000,
    totalMs: 60_000,
    cleanOnProvide,
  },
});
const bmc = { last_contact: null, failures: 0, last_error: null, breaker: 'closed', next_try: null } as const;
const go = (from: NodeDocument, verb: Parameters<typeof move>[1], clean = false) =>
  move(from, verb, { moment: moment(clean), reason: 'asked' });
const work = { id: 'w', step: 'verify', since: '2026-01-01', attempts: 0, next_at: 0, deadline: 0 } as const;

describe('a verb', () => {
  it.each([
    ['manageable', 'inspect', 'inspecting', 'inspect', 1_000],
    ['available', 'deploy', 'deploying', 'await slot', 1_000],
    ['deploying', 'done', 'wait call-back', 'await host', 20_000],
    ['deleting', 'done', 'cleaning', 'await slot', 300_000],
    ['active', 'rescue', 'rescuing', 'prepare boot', 20_000],
    ['active', 'rebuild', 'deploying', 'await slot', 1_000],
    ['manageable', 'adopt', 'adopting', 'verify', 1_000],
  ] as const)('takes a node that is %s, by %s, to %s with its step and time', (state, verb, to, step, budget) => {
    expect(go(node({ state }), verb)).toMatchObject({
      state: to,
      reason: 'asked',
      work: { id: 'work-1', step, attempts: 0, since: new Date(now).toISOString(), deadline: now + budget },
    });
  });

  it('that the state does not allow is refused with the verbs that it allows', () => {
    const error = () => go(node({ state: 'active', name: 'n1' }), 'inspect');
    expect(error).toThrow(
      'Cannot apply "inspect" to node n1 because it is active; possible now: rebuild, rescue, service, deleted.',
    );
    // The end of work and the acceptance of a machine are no verbs of an operator.
    expect(() => go(node({ state: 'enroll' }), 'deploy')).toThrow('possible now: manage, provide.');
  });

  it('continues towards the target of the node in the same write, and ends there', () => {
    const towards = node({ state: 'verifying', target: 'available', properties: {} });
    expect(go(towards, 'done')).toMatchObject({ state: 'inspecting', target: 'available' });
    const inspected = { ...towards, properties: { inspected_at: 'now' } };
    expect(go(inspected, 'done')).toMatchObject({ state: 'available', target: null, work: null });
    expect(go(inspected, 'done', true)).toMatchObject({ state: 'cleaning', target: 'available' });
  });

  it('that fails or aborts drops the target', () => {
    const towards = node({ state: 'inspecting', target: 'available' });
    expect(go(towards, 'fail')).toMatchObject({ state: 'inspect failed', target: null });
    expect(go(towards, 'abort')).toMatchObject({ state: 'inspect failed', target: null });
  });

  it('sets the fault of a failed cleaning, and clears it afterwards', () => {
    expect(go(node({ state: 'cleaning' }), 'fail')).toMatchObject({
      fault: 'clean failure',
      fault_since: new Date(now).toISOString(),
    });
    expect(go(node({ state: 'cleaning' }), 'abort')).not.toHaveProperty('fault');
    expect(go(node({ state: 'clean failed', fault: 'clean failure' }), 'clean')).toMatchObject({ fault: null });
    expect(go(node({ state: 'clean failed', fault: 'power failure' }), 'clean')).not.toHaveProperty('fault');
  });

  it('for a soft change of power has twice the time', () => {
    expect(changePower('power on', moment()).work?.deadline).toBe(now + 1_000);
    expect(changePower('soft power off', moment(), 60_000).work?.deadline).toBe(now + 60_000);
    expect(changePower('soft power off', moment()).work?.deadline).toBe(now + 2_000);
    expect(changePower('soft rebooting', moment()).work?.deadline).toBe(now + 2_000);
  });
});

describe('a machine whose cleaning fails', () => {
  const boot = (change: Partial<Boot>) =>
    ({ purpose: 'clean', exchanged_at: null, commanded_at: 'T0', ...change }) as Boot;
  const fail = (change: Partial<Boot>, code: 'BmcUnreachable' | 'IdentityMismatch' = 'BmcUnreachable') =>
    move(node({ state: 'cleaning', boot: boot(change) }), 'fail', {
      moment: moment(),
      reason: 'no report',
      failure: { code, message: 'no report' },
    });

  it('is turned off when it may run the system of its disk', () => {
    expect(fail({})).toMatchObject({
      state: 'clean failed',
      power_target: 'power off',
      work: { step: 'change power' },
      last_error: { message: 'no report' },
    });
  });

  it.each([
    ['was never turned on', fail({ commanded_at: null })],
    ['runs the ramdisk, which may still erase', fail({ exchanged_at: 'T1' })],
    ['is another machine', fail({}, 'IdentityMismatch')],
  ])('stays as it is when it %s', (_why, moved) => {
    expect(moved).toMatchObject({ state: 'clean failed', power_target: null, work: null });
  });

  it('keeps the error of the cleaning when its power cannot be changed', () => {
    const failed = node({ state: 'clean failed', last_error: { code: 'ResourceFailed', message: 'no report' } });
    const once = afterPowerFailure(failed, { code: 'BmcUnreachable', message: 'no answer' });
    expect(once).toEqual({
      code: 'ResourceFailed',
      message: 'no report Also, its power could not be changed: no answer',
    });
    expect(afterPowerFailure({ ...failed, last_error: once }, once)).toEqual(once);
  });
});

describe('the failure of late work', () => {
  const boot = (change: Partial<Boot>) =>
    ({ powered_at: 'T0', fetched_at: null, exchanged_at: null, ...change }) as Boot;
  it.each([
    [{}, 'never fetched'],
    [{ fetched_at: 'T1' }, 'or its BMC fetched the boot image at T1'],
    [{ fetched_at: 'T1', exchanged_at: 'T2' }, 'exchanged its boot secret at T2'],
    [
      { exchanged_at: 'T2', report: { status: 'written' as const, message: '' }, disk: { at: 'T3', tries: 1 } },
      'it wrote its image, was started from its disk at T3, then sent nothing',
    ],
  ])('of a host whose boot has %j says how far it came', (change, reason) => {
    const silent = node({ work: { ...work, step: 'await host' }, boot: boot(change), instance_info: { name: 'web' } });
    const failure = lateFailure(silent, moment());
    expect(failure).toMatchObject({ code: 'HostSilent', details: { host: 'web' } });
    expect(failure.message).toContain(reason);
  });

  it('of a machine that did not report its cleaning says how far it came', () => {
    const silent = node({ state: 'cleaning', work: { ...work, step: 'await report' }, boot: boot({}) });
    expect(lateFailure(silent, moment()).message).toMatch(
      /did not report in time that it is clean: powered on at T0, .* never fetched/,
    );
  });

  it('of a step that an operator asked for names it, and the task of the BMC that it waited for', () => {
    const steps = [{ interface: 'raid', step: 'create_configuration', args: {} }] as const;
    const plan = { steps, at: 0, memo: { task: '/redfish/v1/TaskService/Tasks/7' } };
    const late = lateFailure(node({ work: { ...work, step: 'run steps' }, plan, last_error: null }), moment());
    expect(late.message).toContain(
      'step 1 of 1 (raid.create_configuration, which waits for the task /redfish/v1/TaskService/Tasks/7 of its BMC)',
    );
  });

  it('has the reason of the last attempt, else the step', () => {
    const last = { code: 'BmcUnreachable', message: 'No answer.' };
    expect(lateFailure(node({ work: { ...work, attempts: 3 }, last_error: last }), moment())).toMatchObject({
      code: 'BmcUnreachable',
      message: 'Step "verify" failed after 3 attempts since 2026-01-01. No answer.',
    });
    // An error from before this work explains nothing.
    expect(lateFailure(node({ work, last_error: last }), moment())).toMatchObject({ code: 'DeadlineExceeded' });
  });
});

describe('another machine at the address of a node', () => {
  const mismatch = new AnnealError('IdentityMismatch', 'Another machine.', { details: { reported: { uuid: 'u2' } } });

  it('is a fault that keeps the time of its first sight', () => {
    expect(identityChange(node({}), mismatch, new Date(now))).toMatchObject({
      fault: identityFault,
      fault_since: new Date(now).toISOString(),
      foreign: { uuid: 'u2' },
      power: null,
    });
    const known = node({ fault: identityFault, fault_since: 'T0' });
    expect(identityChange(known, mismatch, new Date(now))).toMatchObject({ fault_since: 'T0' });
    expect(identityChange(node({}), new AnnealError('BmcUnreachable', 'away'), new Date(now))).toBeUndefined();
    expect(identityChange(node({}), new Error('IdentityMismatch'), new Date(now))).toBeUndefined();
  });

  it('forbids work on the node until an operator accepts it, which forgets the machine before', () => {
    expect(() => requireOwnMachine(node({ fault: identityFault }), 'deployed')).toThrow('so it is not deployed');
    requireOwnMachine(node({ fault: 'power failure' }), 'deployed');
    const foreign = { uuid: 'u2' } as NodeDocument['identity'];
    const accepted = acceptedMachine(node({ foreign, properties: { inspected_at: 'T0', rack: 3 }, facts: { a: 1 } }));
    expect(accepted).toMatchObject({ identity: foreign, foreign: null, fault: null, facts: {}, instance_id: null });
    expect(accepted.properties).toEqual({ rack: 3 });
  });

  it('that has a node already is refused with the name of that node', () => {
    const holder = { id: 'i1', name: 'first', address: 'https://10.0.0.1', system_id: null };
    expect(sameMachine('second', holder, null).message).toContain(
      'Node second is the same machine as node first (https://10.0.0.1),',
    );
    expect(sameMachine('second', undefined, null).message).toContain('same machine as another node,');
  });
});

describe('the error of a step', () => {
  const refused = (status: number, method = 'GET') =>
    new AnnealError('BmcUnreachable', 'refused', { details: { status, method } });
  it.each([
    ['a defect', node({}), new Error('bug'), false],
    ['a final error', node({}), new AnnealError('Conflict', 'no'), true],
    ['an absent controller', node({}), new AnnealError('BmcUnreachable', 'away'), false],
    ['the first 500 to a POST', node({ work }), refused(500, 'POST'), false],
    ['the second 500 to a POST', node({ work: { ...work, attempts: 1 } }), refused(500, 'POST'), true],
    ['a 404 while verifying', node({ state: 'verifying' }), refused(404), true],
    ['a 404 while deploying', node({ state: 'deploying' }), refused(404), false],
  ])('%s', (_what, at, error, hopeless) => {
    expect(isHopeless(at, error)).toBe(hopeless);
  });
});

describe('the conditions of a node', () => {
  const status = (change: Partial<NodeDocument>) =>
    Object.fromEntries(
      nodeView(node(change), { bmc }).conditions.map(({ type, status: value, reason }) => [type, [value, reason]]),
    );

  it.each([
    [
      { identity: null, power: null },
      { Identity: ['Unknown', 'NotVerified'], Reachable: ['Unknown', 'NotRead'] },
    ],
    [{ fault: identityFault }, { Identity: ['False', 'AnotherMachine'] }],
    [{ fault: 'power failure' }, { Reachable: ['False', 'BmcUnreachable'] }],
    [{ power: 'power on' }, { Reachable: ['True', 'PowerRead'] }],
    [{ work }, { Stalled: ['False', 'Progressing'] }],
    [{ work: { ...work, attempts: 1 } }, { Stalled: ['True', 'Retrying'] }],
  ] as const)('follow from %j', (change, conditions) => {
    expect(status(change as Partial<NodeDocument>)).toMatchObject(conditions);
  });

  it('keep one warning of each type, with the time of the first', () => {
    const warning = { type: 'BootsFromDisk', status: 'False', reason: 'Refused', message: '', since: 'T0' } as never;
    const warned = node({ warnings: withWarning(node({}), warning) });
    const again = withWarning(warned, { ...(warning as object), message: 'again', since: 'T9' } as never);
    expect(again).toEqual([{ ...(warning as object), message: 'again', since: 'T0' }]);
    expect(withoutWarning(warned, 'BootsFromDisk')).toEqual([]);
    expect(withoutWarning(warned, 'Stalled')).toHaveLength(1);
  });

  it('hide the secrets of the node and of its boot', () => {
    const secret = node({
      password: 'pw',
      username: 'admin',
      instance_info: { user_data: 'x', metadata: {}, name: 'a' },
    });
    expect(nodeView(secret, { bmc })).toMatchObject({
      driver_info: { redfish_username: 'admin', redfish_password: '******' },
      instance_info: { user_data: '******', metadata: '******', name: 'a' },
    });
  });
});
