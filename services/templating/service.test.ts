import type { Bus } from '@anneal/bus/port.ts';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import {
  type CompileAnswer,
  type CompileQuestion,
  resourceTypeList,
  templateCompile,
  templateValidate,
} from '@anneal/contracts/templating.ts';
import { readSettings } from '@anneal/runtime/settings.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import type { RunningService } from '@anneal/runtime/service.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { templatingService } from './service.ts';

let context: TestContext;
let service: RunningService;
const queue = requestsQueue('templating');
const project = 'p1';

beforeEach(async () => {
  context = await createTestContext({ name: 'templating' });
  service = await templatingService.start(context, readSettings(templatingService.settings, {}));
});
afterEach(async () => {
  await service.stop();
  await context.dispose();
});

const template = `
heat_template_version: 2018-08-31
parameters:
  secret: {type: string, hidden: true}
  size: {type: number, default: 2, immutable: true}
resources:
  v:
    type: OS::Heat::Value
    properties: {value: [{get_param: secret}, {get_param: size}]}
`;
const questionOf = (more: Partial<CompileQuestion>): CompileQuestion => ({
  project,
  stack_name: 's',
  stack_id: 'id',
  environments: [],
  files: {},
  parameters: {},
  ...more,
});

const ask = async (more: Partial<CompileQuestion>): Promise<CompileAnswer> =>
  (context.bus satisfies Bus).request({
    queue,
    call: templateCompile,
    message: context.mint(templateCompile, { data: questionOf(more), project }),
  });
const refusal = async (more: Partial<CompileQuestion>): Promise<AnnealError> =>
  ask(more).then(
    () => expect.fail('it was accepted'),
    (error: unknown) => error as AnnealError,
  );
const read = async (hash: string): Promise<unknown> => JSON.parse((await context.store.blobs.getText(hash)) ?? 'null');

describe('the templating service', () => {
  it('stores plan, template, environment and files, with hidden values sealed', async () => {
    const answer = await ask({ template, parameters: { secret: 'hush' }, files: { a: 'A' } });
    expect(answer.resource_count).toBe(1);
    const texts = await Promise.all([answer.plan, answer.environment].map((hash) => context.store.blobs.getText(hash)));
    expect(texts.join('')).not.toContain('hush');
    const plan = (await read(answer.plan)) as Plan;
    expect(context.secrets.open(plan.parameters['secret']?.value ?? null)).toBe('hush');
    expect(await read(answer.files)).toEqual({ a: 'A' });
    expect(await read(answer.template)).toMatchObject({ heat_template_version: '2018-08-31' });
  });

  it('gives the same hashes for the same question', async () => {
    const question = { template, parameters: { secret: 'hush' } };
    expect(await ask(question)).toEqual(await ask(question));
  });

  it('starts a PATCH from what the stack has', async () => {
    const first = await ask({ template, parameters: { secret: 'hush' }, files: { a: 'A' } });
    const existing = {
      template: first.template,
      environment: first.environment,
      files: first.files,
      clear_parameters: [],
    };
    const second = await ask({ existing, files: { b: 'B' }, previous_plan: first.plan });
    expect(await read(second.files)).toEqual({ a: 'A', b: 'B' });
    expect(((await read(second.plan)) as Plan).parameters['secret']).toEqual(
      ((await read(first.plan)) as Plan).parameters['secret'],
    );
    const cleared = await refusal({ existing: { ...existing, clear_parameters: ['secret'] } });
    expect(cleared.message).toBe('The Parameter (secret) was not provided.');
  });

  it('drops stored parameters that the new template has no more', async () => {
    const first = await ask({ template, parameters: { secret: 'hush' } });
    const existing = {
      template: first.template,
      environment: first.environment,
      files: first.files,
      clear_parameters: [],
    };
    await expect(ask({ existing, template: 'heat_template_version: rocky' })).resolves.toBeDefined();
  });

  it('refuses another value of an immutable parameter', async () => {
    const first = await ask({ template, parameters: { secret: 'hush' } });
    const error = await refusal({ template, parameters: { secret: 'hush', size: 3 }, previous_plan: first.plan });
    expect(error.message).toBe('The following parameters are immutable and may not be updated: size');
  });

  it('names every mistake and speaks with the first', async () => {
    const error = await refusal({ template: `${template}outputs: {o: {value: {get_resource: w}}}\n` });
    expect(error.code).toBe('InvalidTemplate');
    expect(error.message).toBe('The Parameter (secret) was not provided. (and 1 more)');
    expect(error.mistakes?.map(({ path, line }) => [path, line])).toEqual([
      ['parameters.secret', 4],
      ['outputs.o.value.get_resource', 10],
    ]);
  });

  it('validates without values, and hides what is hidden', async () => {
    const answer = await context.bus.request({
      queue,
      call: templateValidate,
      message: context.mint(templateValidate, { data: questionOf({ template }), project }),
    });
    expect(answer).toMatchObject({
      Description: 'No description',
      Parameters: { secret: { Type: 'String', NoEcho: 'true' }, size: { Type: 'Number', Default: 2, Value: 2 } },
    });
  });

  it('knows the types of a provider that has announced itself, however often, and lets no other take them', async () => {
    const announce = (provider: string, description: string) =>
      context.mint(providerAnnounced, {
        data: {
          provider,
          queue: 'mine',
          types: [
            { type: 'My::Type', description, properties: {}, attributes: {} },
            { type: 'OS::Heat::Value', description, properties: {}, attributes: {} },
          ],
        },
      });
    await context.bus.send({ queue, messages: [announce('a', 'one'), announce('a', 'one'), announce('b', 'two')] });
    const list = async () =>
      (
        await context.bus.request({
          queue,
          call: resourceTypeList,
          message: context.mint(resourceTypeList, { data: {} }),
        })
      ).types;
    await expect
      .poll(async () => (await list()).find(({ type }) => type === 'My::Type'))
      .toMatchObject({ provider: 'a', description: 'one' });
    expect((await list()).find(({ type }) => type === 'OS::Heat::Value')?.provider).toBe('anneal.scheduling');
  });
});
