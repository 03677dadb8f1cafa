/**
 * A small world around the core, under virtual time: a plan language in which a property is a constant or the attribute of
 * another resource, and providers that are slow, fail, answer twice, late, out of order, or never.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { Tools } from '@anneal/convergence/protocol.ts';
import { newStack as blankStack, type ResourceDocument, type StackDocument } from '@anneal/convergence/state.ts';

/** mulberry32: the whole run follows from one number. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export interface Wish {
  readonly requires: readonly string[];
  /** A change of it updates in place. */
  readonly value: number;
  /** A change of it replaces. */
  readonly kind: number;
}

export function planOf(wishes: Readonly<Record<string, Wish>>): Plan {
  const resources = Object.entries(wishes).map(([name, wish]): [string, PlanResource] => [
    name,
    {
      name,
      type: 'Test',
      properties: {
        value: { kind: 'literal', value: wish.value },
        kind: { kind: 'literal', value: wish.kind },
        from: {
          kind: 'list',
          // Every second requirement is one of order alone, as with depends_on.
          items: wish.requires
            .filter((_, index) => index % 2 === 0)
            .map((required) => ({
              kind: 'call',
              function: 'get_attr',
              arguments: { kind: 'literal', value: required },
            })),
        },
      },
      requires: [...wish.requires].sort(),
    },
  ]);
  return {
    format: 1,
    template_version: '2021-04-16',
    description: '',
    parameters: {},
    resources: Object.fromEntries(resources),
    outputs: {},
  };
}

export function toolsAt(now: number, options: { replaceFailed?: boolean } = {}): Tools {
  return {
    now,
    graceMs: 5000,
    serves: () => true,
    limit: 1000,
    newId: (input, count) => `${input}/${count}`,
    replaceFailed: () => options.replaceFailed ?? true,
    resolve: ({ resource, peer }) => {
      const properties: JsonObject = {};
      for (const [name, expression] of Object.entries(resource.properties)) {
        if (expression.kind === 'literal') properties[name] = expression.value;
        else if (expression.kind === 'list') {
          properties[name] = expression.items.map((item): Json => {
            const source =
              item.kind === 'call' && item.arguments.kind === 'literal' ? (item.arguments.value as string) : '';
            const found = peer(source);
            if (found?.status !== 'COMPLETE')
              throw new Error(`C1: ${resource.name} reads ${source}, which is not complete`);
            return found.attributes['output'] ?? null;
          });
        }
      }
      return { ok: true, properties };
    },
    compare: ({ before, after }) => {
      const changed = ['value', 'kind', 'from'].filter(
        (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
      );
      if (changed.length === 0) return { verdict: 'same' };
      return { verdict: changed.includes('kind') ? 'replace' : 'update', changed };
    },
  };
}

export const newStack = (id: string): StackDocument =>
  blankStack({
    id,
    name: id,
    live_name: `p/${id}`,
    project: 'p',
    owner: 'o',
    created_at: new Date(0).toISOString(),
    timeout_minutes: null,
    on_failure: 'keep',
    tags: [],
    target: { plan: '0', template: '', environment: '', files: '', description: '' },
  });

/** What a provider answers when all is well. */
export function goodResponse(resource: ResourceDocument): ResourceResponse {
  const request = resource.request;
  if (!request) throw new Error(`${resource.id} waits for nothing`);
  return {
    resource_id: resource.id,
    stack_id: resource.stack_id,
    action: request.action,
    fence: request.fence,
    status: 'complete',
    physical_id: `physical ${resource.id}`,
    attributes: {
      output: JSON.stringify([resource.id, request.properties['value'] ?? null, request.properties['from'] ?? null]),
    },
  };
}
