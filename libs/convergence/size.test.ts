import { describe, expect, it } from 'vitest';
import { jsonBytes, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { Tools } from './protocol.ts';
import {
  successResponse,
  newSimulatedStack,
  simulatedPlan,
  toolsAt,
  type DesiredResource,
} from './simulation/model.ts';
import { weigh } from './size.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';

const limit = (bytes: number, setting: string) => ({ bytes, setting });
const sizes = { value: limit(1000, 'VALUE'), resource: limit(2000, 'RESOURCE'), stack: limit(5000, 'STACK') };
/** `resolved`: the properties of every resource. */
const tools = (resolved: { properties: JsonObject; metadata?: Json }): Tools => ({
  ...toolsAt(0),
  sizes,
  resolve: () => ({ ok: true, ...resolved }),
});
const wish: DesiredResource = { requires: [], value: 1, kind: 1 };
const small = tools({ properties: { value: 1 } });

function create(names: readonly string[], given: Tools): State {
  const state = loadState({ stack: newSimulatedStack('s'), resources: [], plan: emptyPlan() });
  const plan = simulatedPlan(Object.fromEntries(names.map((name) => [name, wish])));
  step(state, [{ kind: 'create', id: 'create', plan }], given);
  return state;
}
const only = (state: State) => [...state.resources.values()][0]!;
const respond = (state: State, more: Partial<ResourceResponse>): void => {
  const response = { ...successResponse(only(state)), ...more };
  step(state, [{ kind: 'response', id: 'answer', response }], small);
};
const text = (bytes: number): string => 'x'.repeat(bytes);

describe('an evaluated value of a resource', () => {
  it.each([
    [
      'a property',
      { properties: { value: text(1001) } },
      /Property value of resource a has 1003 bytes.*1000 \(VALUE\)/,
    ],
    ['metadata', { properties: {}, metadata: { note: text(1001) } }, /The metadata of resource a .*\(VALUE\)/],
    [
      'all properties together',
      { properties: { a: text(900), b: text(900), c: text(900) } },
      /The properties of resource a .*2000 \(RESOURCE\)/,
    ],
  ])('Z1: fails its resource when it is too large: %s', (_, resolved, message) => {
    const state = create(['a'], tools(resolved));
    expect(state.stack).toMatchObject({ action: 'CREATE', status: 'FAILED' });
    expect(only(state).failure).toMatchObject({ code: 'TooLarge', message: expect.stringMatching(message) as string });
    expect(only(state).properties).toEqual({});
  });

  it('Z1: fails the resource that exceeds the limit of the stack', () => {
    const state = create(['a', 'b', 'c', 'd', 'e', 'f', 'g'], tools({ properties: { value: text(900) } }));
    const failed = [...state.resources.values()].filter(({ failure }) => failure?.code === 'TooLarge');
    expect(failed.map(({ failure }) => failure?.message)).toEqual([
      expect.stringMatching(/With resource f the resources of the stack have \d+ bytes; the limit is 5000 \(STACK\)/),
    ]);
    expect(state.bytes).toBeLessThanOrEqual(5000);
  });

  it('is measured only up to the limit when it contains itself many times', () => {
    let value: Json = [text(10)];
    for (let level = 0; level < 60; level += 1) value = [value, value];
    const state = create(['a'], tools({ properties: { value } }));
    expect(only(state).failure?.code).toBe('TooLarge');
  });
});

describe('an answer of a provider', () => {
  it.each([
    ['attributes', { attributes: { output: text(1001) } }, /Attribute output of resource a .*\(VALUE\)/],
    ['a snapshot', { snapshot: { data: text(2001) } }, /The snapshot of resource a .*\(RESOURCE\)/],
    ['drift', { drift: [{ property: 'p', expected: 1, actual: text(2001) }] }, /The differences .*\(RESOURCE\)/],
  ])('Z1: fails its resource when it is too large, and keeps the physical id: %s', (_, more, message) => {
    const state = create(['a'], small);
    respond(state, { physical_id: 'made', ...more });
    expect(only(state)).toMatchObject({ status: 'FAILED', physical_id: 'made', attributes: {}, snapshot: null });
    expect(only(state).failure?.message).toMatch(message);
  });

  it('Z2: completes a deletion, whatever it contains', () => {
    const state = create(['a'], small);
    respond(state, {});
    step(state, [{ kind: 'delete', id: 'delete' }], small);
    respond(state, { attributes: { output: text(5000) } });
    expect(state.stack).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  });

  it('keeps the reason of a failure, and drops oversized facts', () => {
    const state = create(['a'], small);
    const details = { log: text(100_000) };
    respond(state, { status: 'failed', error: { code: 'ResourceFailed', message: 'no room', details } });
    expect(only(state).failure).toEqual({ code: 'ResourceFailed', message: 'no room' });
  });
});

describe('the weight of a stack', () => {
  it('is the sum of its resources after every change', () => {
    const state = create(['a', 'b'], tools({ properties: { value: text(300) } }));
    const sum = (): number => [...state.resources.values()].reduce((bytes, resource) => bytes + weigh(resource), 0);
    expect(state.bytes).toBe(sum());
    respond(state, {});
    expect(state.bytes).toBe(sum());
    step(state, [{ kind: 'delete', id: 'delete' }], small);
    expect(state.bytes).toBe(sum());
  });

  it('counts text in bytes and is close to the stored size', () => {
    const value = { name: 'é'.repeat(1000), list: [1, true, null, 'text'], map: { a: {}, b: [] } };
    const written = Buffer.byteLength(JSON.stringify(value));
    expect(Math.abs(jsonBytes(value) - written)).toBeLessThan(40);
  });
});
