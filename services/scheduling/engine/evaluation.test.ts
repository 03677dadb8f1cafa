import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { knownTypes } from '@anneal/hot/known.ts';
import { measuringTypes } from '@anneal/hot/types/measuring.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { createEvaluation } from './evaluation.ts';
import { defaultEvaluation } from '@anneal/hot/limits.ts';

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const moment = { now: 0, entropy: key(0), sources: new Map() };
const size = { bytes: 1024, setting: 'test' };

it('the evaluation finds no change in a property whose secret has an older key or format', () => {
  const secrets = createSecrets([key(2), key(1)]);
  const evaluation = createEvaluation({
    secrets,
    typeOf: () => undefined,
    sizes: { value: size, resource: size, stack: size },
    limits: defaultEvaluation,
  });
  const tools = evaluation.toolsAt({ moment, graceMs: 0, limit: 1 });
  const compare = (before: JsonObject, after: JsonObject) => tools.compare({ type: 'OS::Test', before, after }).verdict;
  const after = { password: secrets.seal('hunter2') };
  const ofFormat1 = { $sealed: '1.72cd6e84.VL_rYNZuOcMmAcF5gazCrNLVOMvsGd8rba1wYALUK9VymXjXIQ' };
  for (const sealed of [createSecrets([key(1)]).seal('hunter2'), ofFormat1]) {
    expect(compare({ password: sealed }, after)).toBe('same');
    expect(compare({ password: sealed }, { password: secrets.seal('other') })).not.toBe('same');
  }
});

describe('facts about a type', () => {
  const toolsFor = (types: readonly ResourceType[]) =>
    createEvaluation({
      secrets: createSecrets([key(1)]),
      typeOf: (type) => types.find((each) => each.type === type),
      sizes: { value: size, resource: size, stack: size },
      limits: defaultEvaluation,
    }).toolsAt({ moment, graceMs: 0, limit: 1 });

  it('come from the description that its provider announces', () => {
    const foreign: ResourceType = {
      type: 'Example::Machine',
      properties: {},
      attributes: {},
      failed_update: 'repair',
      name_limit: 20,
    };
    const tools = toolsFor([foreign]);
    expect(['Example::Machine', 'Example::Other'].map((type) => tools.replaceFailed(type))).toEqual([false, true]);
    expect(tools.nameLimit({ type: 'Example::Machine', nested: null })).toBe(20);
    expect(tools.nameLimit({ type: 'Example::Other', nested: null })).toBe(255);
    // A template that the environment maps to the type is not the type.
    expect(tools.nameLimit({ type: 'Example::Machine', nested: 'template' })).toBe(255);
  });

  it('repair machines, contexts, workflows, alarms and users after a failed update, and give machines names of at most 53 characters', () => {
    const tools = toolsFor(knownTypes);
    const kept = knownTypes.map(({ type }) => type).filter((type) => !tools.replaceFailed(type));
    const measuring = measuringTypes.map(({ type }) => type);
    expect(kept).toEqual(expect.arrayContaining(measuring));
    expect(kept.filter((type) => !measuring.includes(type)).toSorted()).toEqual([
      'Anneal::Context',
      'Anneal::Workflow::EventTrigger',
      'OS::Heat::DeployedServer',
      // A second object could not have the name of the failed one.
      'OS::Keystone::Group',
      'OS::Keystone::GroupRoleAssignment',
      'OS::Keystone::Project',
      'OS::Keystone::Role',
      'OS::Keystone::User',
      'OS::Keystone::UserRoleAssignment',
      'OS::Marconi::QueueServer',
      'OS::Mistral::Workflow',
      'OS::Nova::Server',
      'OS::Zaqar::MistralTrigger',
    ]);
    const short = kept.filter((type) => tools.nameLimit({ type, nested: null }) === 53);
    expect(short.toSorted()).toEqual(['OS::Heat::DeployedServer', 'OS::Nova::Server']);
  });
});
