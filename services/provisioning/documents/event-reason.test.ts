import type { Origin } from '@anneal/contracts/origin.ts';
import { describe, expect, it } from 'vitest';
import type { NodeDocument, NodeWork } from './node.ts';
import { faultReason, originOfNode, powerReason } from './event-reason.ts';

const work = (step: NodeWork['step']): NodeWork => ({
  id: 'w',
  step,
  since: '2030-01-01T00:00:00.000Z',
  attempts: 0,
  next_at: 0,
  deadline: 0,
});
const nodeWith = (fields: Partial<NodeDocument>): NodeDocument =>
  ({ state: 'active', power: 'power on', work: null, fault: null, last_error: null, ...fields }) as NodeDocument;
const on = nodeWith({});
const off = nodeWith({ power: 'power off' });
const failure = { code: 'BmcUnreachable', message: 'the BMC does not answer' };

describe('the reason of an event of a node', () => {
  it('states whether the power changed by a command, by work, or outside', () => {
    expect(powerReason(on, off)).toBe('power turned off outside');
    expect(powerReason(off, on)).toBe('power turned on outside');
    expect(powerReason(nodeWith({ work: work('change power') }), off)).toBe('power turned off as requested');
    const deploying = nodeWith({ state: 'deploying', work: work('power off') });
    expect(powerReason(deploying, off)).toBe('power turned off while the node is deploying (power off)');
    expect(powerReason(nodeWith({ power: null }), on)).toBe('power read: power on');
    expect(powerReason(on, nodeWith({ power: null, last_error: failure }))).toBe(
      'power unknown: the BMC does not answer',
    );
  });

  it('states what the fault is, and when it is over', () => {
    const broken = nodeWith({ fault: 'power failure', last_error: failure });
    expect(faultReason(on, broken)).toBe('power failure: the BMC does not answer');
    expect(faultReason(broken, on)).toBe('power failure is over');
  });
});

describe('the origin of an event of a node', () => {
  const origin: Origin = {
    root: { stack_id: 's', stack_name: 'web' },
    path: 'server',
    tags: ['prod'],
    actor: { kind: 'user', id: 'u', name: 'alice' },
    cause: { kind: 'request', id: 'req-1', reason: null },
  };
  const held = nodeWith({ origin });

  it('is the server that holds the node, also in the event of its release, with who asked and why', () => {
    const reason = 'deployed for web/server';
    expect(originOfNode(undefined, held, { reason })).toEqual({ ...origin, cause: { ...origin.cause, reason } });
    expect(originOfNode(held, nodeWith({ origin: null }), { reason: 'released' })).toMatchObject({
      root: origin.root,
      path: 'server',
      actor: origin.actor,
    });
  });

  it('names the system for a change that it noticed, and no stack for a free node', () => {
    expect(originOfNode(held, held, { reason: 'power turned off outside', noticed: true })).toEqual({
      ...origin,
      actor: { kind: 'system', id: '', name: 'anneal' },
      cause: { kind: 'system', id: null, reason: 'power turned off outside' },
    });
    expect(originOfNode(on, off, { reason: 'r' })).toMatchObject({ root: null, path: '', tags: [] });
  });
});
