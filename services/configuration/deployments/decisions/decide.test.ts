/** Walks `run-states.ts`: every input in every state, and every exception. */
import { stoppedReason, type HostRequest, type HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { describe, expect, it } from 'vitest';
import type { DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';
import { emptyConfig } from '../../configs/derive.ts';
import { decideRun, type RunDecision } from './decide.ts';
import type { RunDocument, RunInput, RunInputKind, RunInputOf } from './run-inputs.ts';
import { runEffects, runStates, runTransitions, stateOfRun, type RunEffect, type RunState } from './run-states.ts';

const start = Date.parse('2030-01-01T00:00:00.000Z');
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();
const tools = {
  now: start + 60_000,
  secrets: createSecrets([new Uint8Array(32)]),
  gatewayUrl: 'http://anneal',
  queueTimeoutMs: 600_000,
};
const web = { id: 'host-1', name: 'web', project: 'p' };
const thief = { id: 'host-2', name: 'thief', project: 'p' };

const outputs = [{ name: 'port', type: 'String', error_output: false }];
const request: HostRequest = {
  id: 'run-1',
  deployment_id: 'dep-1',
  name: 'dep',
  group: 'script',
  config: 'true',
  action: 'CREATE',
  inputs: [],
  outputs,
  options: {},
  timeout: 300,
  deadline: at(3600),
  creation_time: at(0),
};

const inQueue: DeploymentState = {
  name: 'dep',
  host_id: web.id,
  host_name: web.name,
  group: 'script',
  action: 'CREATE',
  status: 'IN_PROGRESS',
  reason: 'Waits in the queue of web',
  config: { ...emptyConfig, outputs },
  input_values: {},
  actions: ['CREATE'],
  waits_for_answer: true,
  applied: null,
  digest: 'digest',
  depends_on: [],
  waiting_for: [],
  request,
  output_values: {},
  status_code: null,
  stdout: '',
  stderr: '',
  created_at: at(0),
  queued_at: at(0),
  started_at: null,
  finished_at: null,
  deadline: at(3600),
  failure: null,
};

const run = (deployment: Partial<DeploymentState> = {}, more: Partial<RunDocument> = {}): RunDocument => ({
  id: 'dep-1',
  project: 'p',
  stack_id: 'stack',
  stack_name: 'stack',
  type: 'OS::Heat::OrderedConfig',
  name: 'dep',
  kind: 'deployment',
  fence: 1,
  action: 'create',
  asker: {} as RunDocument['asker'],
  response: null,
  config: null,
  status: deployment.status ?? 'IN_PROGRESS',
  host_id: web.id,
  run_id: 'run-1',
  removed_at: null,
  outbox: [],
  unsent: false,
  ...more,
  deployment: { ...inQueue, ...deployment },
});
const answered = { resource_id: 'dep-1' } as NonNullable<RunDocument['response']>;

const inState: Readonly<Record<RunState, RunDocument>> = {
  waiting: run({ waiting_for: ['first', 'second'] }, { awaits: 'several:stack' }),
  queued: run(),
  accepted: run({ accepted_at: at(1) }),
  running: run({ accepted_at: at(1), started_at: at(2) }),
  ended: run({ status: 'COMPLETE', status_code: 0, finished_at: at(3) }, { response: answered }),
};

const before = (status: 'COMPLETE' | 'FAILED', id = 'first', fence = 1): RunInputOf<'released'>['by'] => ({
  id,
  fence,
  name: id,
  status,
  response: null,
  deployment: { ...inQueue, name: id, status, reason: 'it broke' },
});
const response: HostResponse = {
  id: 'run-1',
  status_code: 0,
  stdout: 'out',
  stderr: '',
  truncated: false,
  outputs: {},
};
const failure = { code: 'InvalidMessage', message: 'in no accepted form' };
const place = { host: undefined, message: undefined, isFirst: true };

/** Each with the facts that give it the effect of the table. */
const inputs: { readonly [K in RunInputKind]: RunInputOf<K> } = {
  put: { kind: 'put' },
  released: { kind: 'released', by: before('COMPLETE') },
  blocked: { kind: 'blocked', by: before('FAILED') },
  taken: { kind: 'taken', accepted_at: at(1) },
  collected: { kind: 'collected' },
  started: { kind: 'started', host: web, progress: { id: 'run-1', progress: 'started', at: at(2) } },
  rebooting: {
    kind: 'rebooting',
    host: web,
    progress: { id: 'run-1', progress: 'started', reboot: { number: 1 } },
  },
  reset: { kind: 'reset' },
  answered: { kind: 'answered', host: web, response },
  refused: { kind: 'refused', host: web, failure },
  'asked again': { kind: 'asked again' },
  'claimed again': { kind: 'claimed again' },
  reported: { kind: 'reported', status: 'COMPLETE', reason: undefined, change: { output_values: { port: '1' } } },
  due: { kind: 'due', place, dueAt: tools.now, isOver: true },
  cancelled: { kind: 'cancelled', fence: 1, comesLater: false, isHeld: false },
  withdrawn: { kind: 'withdrawn', fence: 1, comesLater: false, isHeld: false },
  replaced: { kind: 'replaced' },
  overtaken: { kind: 'overtaken' },
  unneeded: { kind: 'unneeded' },
  'host deleted': { kind: 'host deleted', host: web },
};
const kinds = Object.keys(inputs) as RunInputKind[];

/** The run with the facts that give the input the effect of the table. */
function prepared(state: RunState, kind: RunInputKind): RunDocument {
  const document = inState[state];
  const change: Partial<DeploymentState> =
    kind === 'blocked' && state !== 'waiting'
      ? { after: [{ id: 'first', fence: 1 }] }
      : kind === 'asked again'
        ? { collected: true, request: withoutSignal }
        : kind === 'rebooting'
          ? { request: withReboots }
          : kind === 'reset'
            ? { reboot: { number: 1, since: at(1), until: at(9), over: false } }
            : {};
  const recall = kind === 'claimed again' && { cancelled: 1 };
  return frozen({ ...document, ...recall, deployment: { ...document.deployment, ...change } });
}
const withReboots: HostRequest = { ...request, options: { reboot: 'after' } };
const withoutSignal: HostRequest = {
  ...request,
  inputs: [{ name: 'deploy_signal_transport', type: 'String', value: 'NO_SIGNAL' }],
};

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}

/** The effect, from what the decision contains. */
function seen(document: RunDocument, decision: RunDecision): RunEffect {
  const { run: next, events, queue, lookAt, settles } = decision;
  const steps = events.map(({ step }) => step);
  if (next && stateOfRun(next) === 'ended' && stateOfRun(document) !== 'ended')
    return queue === 'stop' ? 'stops' : 'ends';
  if (next && next.deployment.reboot !== document.deployment.reboot) return 'reboots';
  if (steps.includes('started')) return 'starts';
  if (steps.includes('accepted')) return 'accepts';
  if (next && next.deployment.waiting_for.length < document.deployment.waiting_for.length) return 'releases';
  if (next) return 'notes';
  if (settles) return 'repeats';
  if (queue === 'put') return 'offers';
  return lookAt === undefined ? 'nothing' : 'waits';
}

describe('every input in every state', () => {
  for (const kind of kinds) {
    it.each(runStates)(`${kind}: has the effect of the table in the state "%s"`, (state) => {
      const document = prepared(state, kind);
      expect(stateOfRun(document)).toBe(state);
      const decision = decideRun(document, frozen(inputs[kind]), tools);
      expect(decision.effect).toBe(runTransitions[kind].in[state]);
      expect(seen(document, decision)).toBe(decision.effect);
      expect(decideRun(document, inputs[kind], tools)).toEqual(decision);
    });
  }

  it('leads to every effect', () => {
    const cells = kinds.flatMap((kind) => Object.values(runTransitions[kind].in));
    expect(Object.keys(runEffects).filter((effect) => !cells.includes(effect as RunEffect))).toEqual([]);
  });

  it.each(kinds)('%s: R1: never changes the id of the run, its fence or its request', (kind) => {
    for (const state of runStates) {
      const document = prepared(state, kind);
      const { run: next } = decideRun(document, inputs[kind], tools);
      if (!next) continue;
      expect([next.run_id, next.fence, next.deployment.request]).toEqual([
        document.run_id,
        document.fence,
        document.deployment.request,
      ]);
    }
  });
});

interface Case {
  readonly kind: RunInputKind;
  readonly when: string;
  readonly document: RunDocument;
  readonly input: RunInput;
  readonly effect: RunEffect;
}
const exception = <K extends RunInputKind>(
  kind: K,
  when: string,
  { document = inState.queued, ...facts }: Partial<RunInputOf<K>> & { document?: RunDocument },
  effect: RunEffect = 'nothing',
): Case => ({ kind, when, document, input: { ...inputs[kind], ...facts }, effect });

const exceptions: readonly Case[] = [
  exception('released', 'the run does not wait for this deployment', {
    document: inState.waiting,
    by: before('COMPLETE', 'third'),
  }),
  exception('released', 'the run does not wait for this deployment', {
    // It waits for a newer request of it.
    document: run({ waiting_for: ['first'], after: [{ id: 'first', fence: 2 }] }),
    by: before('COMPLETE'),
  }),
  exception('blocked', 'the run does not come after this request of the deployment', { by: before('FAILED') }),
  exception('collected', 'that is recorded', { document: run({ collected: true }) }),
  exception('started', 'another host sends it', { host: thief }),
  exception('started', 'it reports no start', { progress: { id: 'run-1', progress: 'accepted' } }),
  exception('rebooting', 'another host sends it', { host: thief }),
  ...[{ number: 1 }, { number: 2 }, { number: 1, over: true }].map((reboot) =>
    exception('rebooting', 'that is recorded, or a later one', {
      document: run({ started_at: at(1), reboot: { number: 2, since: at(1), until: at(9), over: false } }),
      progress: { id: 'run-1', progress: 'started', reboot },
    }),
  ),
  exception('rebooting', 'its config may not have this reboot', {}),
  exception('rebooting', 'its config may not have this reboot', {
    document: run({ request: withReboots }),
    progress: { id: 'run-1', progress: 'started', reboot: { number: 4 } },
  }),
  exception('reset', 'its host does not reboot, or was reset before', { document: inState.running }),
  exception('answered', 'another host sends it', { host: thief }),
  exception('answered', 'another host sends it', { document: inState.running, host: thief }),
  exception('refused', 'another host sends it', { host: thief }),
  exception('asked again', 'its collector has not received it, or sends an answer', {}),
  exception('asked again', 'its collector has not received it, or sends an answer', {
    document: run({ collected: true }),
  }),
  exception('claimed again', 'the engine has not recalled it', {}),
  exception('due', 'its limit is not over', { isOver: false, dueAt: tools.now + 1 }, 'waits'),
  exception('cancelled', 'it is of another request', { fence: 2 }),
  exception('cancelled', 'it is of another request', { document: inState.ended, fence: 2 }),
  exception('cancelled', 'its request was answered when it was queued', { document: run({}, { response: answered }) }),
  exception(
    'cancelled',
    'its host holds the request, behind others that have not ended',
    { comesLater: true, isHeld: true },
    'notes',
  ),
  exception('cancelled', 'others come before it', { comesLater: true }, 'ends'),
  exception('withdrawn', 'it is of another request', { fence: 2 }),
  exception('withdrawn', 'its request was answered when it was queued', { document: run({}, { response: answered }) }),
  exception(
    'withdrawn',
    'its host holds the request, behind others that have not ended',
    { comesLater: true, isHeld: true },
    'notes',
  ),
  exception('withdrawn', 'its host may have begun it', { isHeld: true }),
];

describe('the exceptions of the table', () => {
  it.each(exceptions)('$kind, when $when: $effect', ({ document, input, effect }) => {
    const decision = decideRun(frozen(document), frozen(input), tools);
    expect(decision.effect).toBe(effect);
    expect(seen(document, decision)).toBe(effect);
  });

  it('all have a case', () => {
    const known = exceptions.map(({ kind, when }) => `${kind}: ${when}`);
    const all = kinds.flatMap((kind) => (runTransitions[kind].except ?? []).map(({ when }) => `${kind}: ${when}`));
    expect(all.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('all orders of four inputs', () => {
  const order = (state: RunState): number => runStates.indexOf(state);
  const isFinal = (decision: RunDecision): boolean =>
    decision.response !== undefined && decision.response.status !== 'in progress';

  it('R3: end a run at most once, answer the engine once, and never lead back', () => {
    let walked = 0;
    const walk = (document: RunDocument, depth: number, ends: number): void => {
      walked += 1;
      for (const kind of depth === 0 ? [] : kinds) {
        const decision = decideRun(document, inputs[kind], tools);
        const { effect, run: next = document } = decision;
        const hasEnded = effect === 'ends' || effect === 'stops';
        const final = decision.events.filter(({ step }) => step !== 'started' && step !== 'accepted');
        expect(final).toHaveLength(hasEnded ? 1 : 0);
        expect(isFinal(decision)).toBe(hasEnded && document.response === null);
        expect(ends + (hasEnded ? 1 : 0)).toBeLessThan(2);
        expect(order(stateOfRun(next))).toBeGreaterThanOrEqual(order(stateOfRun(document)));
        if (stateOfRun(document) === 'ended' && next !== document) expect(effect).toBe('notes');
        const changed = next !== document;
        if (changed) walk(hasEnded ? { ...next, response: answered } : next, depth - 1, ends + (hasEnded ? 1 : 0));
      }
    };
    walk(run({ waiting_for: ['first'] }, { awaits: 'first' }), 4, 0);
    walk(run({}, { response: answered }), 4, 0);
    walk(run({ after: [{ id: 'first', fence: 1 }] }, { cancelled: 1 }), 4, 0);
    expect(walked).toBeGreaterThan(100);
  });
});

describe('an end', () => {
  const endOf = (input: RunInput, document = inState.running): RunDecision & { run: RunDocument } => {
    const decision = decideRun(document, input, tools);
    if (!decision.run) throw new Error(`${input.kind} has not ended the run.`);
    return { ...decision, run: decision.run };
  };

  it('by an answer keeps its values and the time of the acceptance', () => {
    const input: RunInput = {
      ...inputs.answered,
      accepted_at: at(1),
      response: { ...response, outputs: { port: '80', other: '1' }, started_at: at(2), finished_at: at(3) },
    };
    const { run: ended, events, response: sent } = endOf(input, inState.queued);
    expect(ended.deployment).toMatchObject({
      status: 'COMPLETE',
      applied: 'digest',
      output_values: { port: '80' },
      accepted_at: at(1),
      started_at: at(2),
      finished_at: at(3),
    });
    expect(events.map(({ step, deployment }) => [step, deployment.status])).toEqual([
      ['started', 'IN_PROGRESS'],
      ['completed', 'COMPLETE'],
    ]);
    expect(sent).toMatchObject({ status: 'complete', attributes: { port: '80', deploy_stdout: 'out' } });
  });

  it('by an answer names the declared outputs that the config has not written', () => {
    const reasonOf = (written: HostResponse['outputs']) =>
      endOf({ ...inputs.answered, response: { ...response, outputs: written } }).run.deployment.reason;
    expect(reasonOf({ port: '80' })).toBe('Outputs received');
    expect(reasonOf({})).toBe('Outputs received, except port: the config has not written it');
  });

  it('by an answer names the line ends of Windows when the script failed or wrote too little, sealed or not', () => {
    const text = '#!/bin/sh\r\nset -e\r\n';
    for (const config of [text, tools.secrets.seal(text)]) {
      const document = run({ request: { ...request, config: config as string } });
      const reasonOf = (status_code: number, written: HostResponse['outputs']) =>
        endOf({ ...inputs.answered, response: { ...response, status_code, outputs: written } }, document).run
          .deployment;
      expect(reasonOf(2, {})).toMatchObject({
        reason: expect.stringMatching(/status code: 2, likely because of its script: line 1 ends with CRLF/),
        failure: { message: expect.stringContaining('CRLF'), details: { script_fault: expect.any(String) } },
      });
      expect(reasonOf(0, {}).reason).toMatch(/has not written it, likely because of its script: line 1 ends with CRLF/);
      expect(reasonOf(0, { port: '80' }).reason).toBe('Outputs received');
    }
  });

  it('by the report of a client names the line ends of Windows, too', () => {
    const document = run({ request: { ...request, config: '#!/bin/sh\r\n' } });
    const reasonOf = (reason: string | undefined) =>
      endOf({ ...inputs.reported, status: 'FAILED', reason, change: {} }, document).run.deployment.reason;
    expect(reasonOf('It failed.')).toMatch(/^It failed, likely because of its script: line 1 ends with CRLF/);
    expect(reasonOf(undefined)).toMatch(/^A client reported a failure, likely because of its script: line 1 ends/);
  });

  it('by the answer to a DELETE removes the deployment', () => {
    const document = run({ action: 'DELETE' }, { action: 'delete' });
    expect(endOf(inputs.answered, document).run.removed_at).toBe(tools.now);
    const failed: RunInput = { ...inputs.answered, response: { ...response, status_code: 1 } };
    expect(endOf(failed, document).run.removed_at).toBeNull();
  });

  it('by the deletion of its host completes a DELETE, and fails every other action', () => {
    expect(endOf(inputs['host deleted']).run.status).toBe('FAILED');
    expect(endOf(inputs['host deleted'], run({ action: 'DELETE' }, { action: 'delete' })).run.status).toBe('COMPLETE');
  });

  it('by a recall skips the run, and by a cancellation of its turn fails it', () => {
    expect(endOf(inputs.cancelled, inState.waiting).run.status).toBe('SKIPPED');
    const { run: stopped, queue } = endOf(inputs.cancelled);
    expect([stopped.status, stopped.deployment.failure?.code, queue]).toEqual(['FAILED', 'Superseded', 'stop']);
  });

  it('by its limit names the phase', () => {
    const message = { taken_at: start } as MessageDocument;
    const host = { status: 'up', first_seen_at: at(0), last_seen_at: at(1) } as HostDocument;
    const reasons = [
      endOf({ ...inputs.due, place: { host, message, isFirst: true } }, inState.queued),
      endOf({ ...inputs.due, place: { host, message, isFirst: true } }, run({ started_at: at(2), deadline: at(332) })),
      endOf(inputs.due, inState.waiting),
      endOf({ ...inputs.due, place: { host, message: {} as MessageDocument, isFirst: false } }, inState.queued),
      endOf(inputs.due, inState.queued),
    ].map(({ run: ended }) => ended.deployment.reason);
    expect(reasons).toEqual([
      expect.stringContaining('reported neither a start nor an answer'),
      expect.stringContaining('it ran longer than 300 s'),
      expect.stringContaining('it still waited for first, second'),
      expect.stringContaining('it still waited behind other requests'),
      expect.stringContaining('has not taken the request within 600 s'),
    ]);
  });

  it('releases the keys by which others find the run', () => {
    const { run: ended } = endOf(
      inputs.due,
      run({ waiting_for: ['first'] }, { awaits: 'first', unwaited: 'stack:dep' }),
    );
    expect([ended.awaits, ended.unwaited, ended.deployment.waiting_for]).toEqual([null, null, []]);
  });
});

describe('an answer that the run does not wait for', () => {
  const judged = (document: RunDocument, given: Partial<HostResponse>, host = web) =>
    decideRun(document, { kind: 'answered', host, response: { ...response, ...given } }, tools).unexpected?.kind;
  const accepted = run({ status: 'COMPLETE', status_code: 0, stdout: 'out' });

  it('is judged by the accepted one', () => {
    expect(judged(accepted, {})).toBeUndefined();
    expect(judged(accepted, { stdout: 'other' })).toBe('contradicting');
    expect(judged(accepted, { status_code: 143, error: stoppedReason })).toBeUndefined();
    expect(judged(run({ status: 'FAILED' }), {})).toBe('late');
    expect(judged(accepted, {}, thief)).toBe('foreign');
    expect(judged(inState.running, {}, thief)).toBe('foreign');
  });
});

it('the start of a script sets its limit, which counts from the clock of the service', () => {
  const { run: running, lookAt, response: sent } = decideRun(inState.queued, inputs.started, tools);
  expect(lookAt).toBe(tools.now + 330_000);
  expect(running?.deployment).toMatchObject({ started_at: at(2), deadline: at(390), reason: 'Runs on web' });
  expect(sent).toEqual({ status: 'in progress', message: 'dep runs on web' });
});

it('the last deployment that a run waits for has its request put into the queue', () => {
  const first = decideRun(inState.waiting, inputs.released, tools);
  expect([first.queue, first.lookAt, first.run?.awaits]).toEqual([undefined, start + 3_600_000, 'second']);
  const last = decideRun(first.run ?? inState.waiting, { kind: 'released', by: before('COMPLETE', 'second') }, tools);
  expect([last.queue, last.lookAt, last.run?.awaits]).toEqual(['put', undefined, null]);
});
