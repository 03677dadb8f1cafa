import { describe, expect, it } from 'vitest';
import { outcomeIn, placesOf } from './task.ts';
import type { RedfishAnswer } from './transport.ts';

const answer = (change: Partial<RedfishAnswer>): RedfishAnswer => ({
  status: 200,
  body: {},
  problem: undefined,
  etag: undefined,
  location: undefined,
  retryAfterMs: undefined,
  token: undefined,
  ...change,
});
const task = { '@odata.id': '/t/1', '@odata.type': '#Task.v1_7_0.Task' };

describe('the places of a task', () => {
  it.each([
    [
      { status: 202, location: '/m/1' },
      { monitor: '/m/1', task: undefined },
    ],
    [
      { status: 202, location: '/m/1', body: task },
      { monitor: '/m/1', task: '/t/1' },
    ],
    [
      { status: 202, body: { ...task, TaskMonitor: '/m/1' } },
      { monitor: '/m/1', task: '/t/1' },
    ],
    [
      { status: 202, body: { '@odata.id': '/t/1' } },
      { monitor: '/t/1', task: undefined },
    ],
    [
      { status: 200, body: task },
      { monitor: '/t/1', task: undefined },
    ],
    [{ status: 202 }, undefined],
    [{ status: 201, location: '/made' }, undefined],
    [{ status: 204 }, undefined],
  ])('of %j are %j', (change, places) => {
    expect(placesOf(answer(change))).toEqual(places);
  });
});

describe('the outcome of a task', () => {
  it.each(['Completed', 'CompletedWithWarnings', 'completed'])('is done when it is %s', (TaskState) => {
    expect(outcomeIn(answer({ body: { TaskState } }))).toMatchObject({ kind: 'done' });
  });

  it.each(['New', 'Running', 'Interrupted', 'Cancelling', 'Service', 'Queued', null, 7])(
    'is not known while it is %s, also when the standard lacks that word',
    (TaskState) => {
      expect(outcomeIn(answer({ body: { TaskState } }))).toMatchObject({ kind: 'running' });
    },
  );

  it('of a monitor is its final answer, and 202 before', () => {
    expect(outcomeIn(answer({ status: 202, retryAfterMs: 7 }))).toEqual({ kind: 'running', retryAfterMs: 7 });
    expect(outcomeIn(answer({ status: 204 }))).toMatchObject({ kind: 'done' });
    expect(outcomeIn(answer({ status: 201, body: { Id: 'made' } }))).toMatchObject({ kind: 'done' });
  });

  it.each(['Exception', 'Killed', 'Cancelled'])('that is %s has its problems as the reason', (TaskState) => {
    const Messages = [
      { MessageId: 'TaskEvent.1.0.TaskStarted', Message: 'The task has started.', MessageSeverity: 'OK' },
      { MessageId: 'Base.1.18.GeneralError', Message: 'The file cannot be read.', MessageSeverity: 'Critical' },
      { MessageId: 'Vendor.1.0.NoRoute', MessageArgs: ['10.0.0.1'], Severity: 'Warning' },
    ];
    expect(outcomeIn(answer({ body: { TaskState, Messages } }))).toEqual({
      kind: 'failed',
      why: `ended as ${TaskState}: The file cannot be read. NoRoute 10.0.0.1`,
    });
    expect(outcomeIn(answer({ body: { TaskState } }))).toMatchObject({ why: `ended as ${TaskState}: no reason given` });
  });
});
