import type { Bus } from '@anneal/bus/port.ts';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import {
  type CompileAnswer,
  type CompileQuestion,
  type CompileNestedQuestion,
  questionAbandoned,
  resourceTypeList,
  templateCheck,
  templateCompile,
  templateCompileNested,
  templateValidate,
} from '@anneal/contracts/calls/templating.ts';
import { sourcesDiffer, type NestedSources } from '@anneal/hot/tree/sources.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { templatingService } from './service.ts';

let context: TestContext;
let service: RunningService;
const queue = requestsQueue('templating');
const project = 'p1';

beforeEach(async () => {
  context = await createTestContext({ name: 'templating' });
  // The limits of work end a compilation, not the time, of which a busy machine has little.
  const settings = { ANNEAL_TEMPLATING_COMPILE_SECONDS: '600' };
  service = await templatingService.start(context, readSettings(templatingService.settings, settings));
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

  it('returns equal hashes for equal requests', async () => {
    const question = { template, parameters: { secret: 'hush' } };
    expect(await ask(question)).toEqual(await ask(question));
  });

  it('warns of accepted but suspicious input', async () => {
    const unused = 'heat_template_version: 2018-08-31\nconditions: {c: {equals: [{get_param: missing}, 1]}}\n';
    expect((await ask({ template: unused })).warnings).toMatchObject([{ code: 'UnknownParameter', line: 2 }]);
  });

  it('applies a PATCH to the current values of the stack', async () => {
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

  it('drops stored parameters that the new template does not have', async () => {
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

  it('refuses a date that has passed when a client asks, and compiles a stack in its accepted parent all the same', async () => {
    const schema = '{type: string, constraints: [{custom_constraint: expiration}]}';
    const expiring = `heat_template_version: 2018-08-31\nparameters: {until: ${schema}}\n`;
    const parameters = { until: '2001-01-01T00:00:00Z' };
    expect((await refusal({ template: expiring, parameters })).message).toContain('Expiration time is out of date.');
    const [files, environment] = await Promise.all(
      [{ 'inner.yaml': expiring }, {}].map((value) => context.store.blobs.put(JSON.stringify(value))),
    );
    const data: CompileNestedQuestion = {
      project,
      stack_id: 'child',
      stack_name: 's-one-1',
      resource: 'one',
      type: 'inner.yaml',
      files: files ?? '',
      environment: environment ?? '',
      properties: parameters,
      depth: 1,
      resources_outside: 0,
      facade: { metadata: {}, deletion_policy: 'Delete', update_policy: {} },
    };
    const message = context.mint(templateCompileNested, { data, project });
    await expect(context.bus.request({ queue, call: templateCompileNested, message })).resolves.toBeDefined();
  });

  it('lists every mistake, and its message is the first one', async () => {
    const error = await refusal({ template: `${template}outputs: {o: {value: {get_resource: w}}}\n` });
    expect(error.code).toBe('InvalidTemplate');
    expect(error.message).toBe('The Parameter (secret) was not provided. (and 1 more)');
    expect(error.mistakes?.map(({ path, line }) => [path, line])).toEqual([
      ['parameters.secret', 4],
      ['outputs.o.value.get_resource', 10],
    ]);
  });

  it('checks an unfinished template: every mistake with its place, and nothing is refused', async () => {
    const check = (text: string) =>
      context.bus.request({
        queue,
        call: templateCheck,
        message: context.mint(templateCheck, { data: questionOf({ template: text }), project }),
      });
    const wrong = await check('heat_template_version: 2018-08-31\nresources:\n  a: {type: Nothing}\n  b: {typ: x}\n');
    expect(wrong.mistakes.map(({ line, path }) => [line, path.split('.').slice(0, 2).join('.')])).toEqual(
      expect.arrayContaining([
        [3, 'resources.a'],
        [4, 'resources.b'],
      ]),
    );
    expect(wrong).toMatchObject({ parameters: {}, outline: null });
    const good = await check(
      'heat_template_version: 2018-08-31\nparameters: {secret: {type: string, hidden: true}}\nresources:\n' +
        '  a: {type: OS::Heat::Value, properties: {value: {get_param: secret}}}\n' +
        '  b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, value]}}}\n',
    );
    expect(good).toMatchObject({
      mistakes: [],
      parameters: { secret: { Type: 'String', NoEcho: 'true' } },
      outline: { critical_path: ['a', 'b'], edges: [{ from: 'a', to: 'b' }], resources: 2 },
    });
  });

  it('validates without values, and hides hidden parameters', async () => {
    const answer = await context.bus.request({
      queue,
      call: templateValidate,
      message: context.mint(templateValidate, { data: questionOf({ template }), project }),
    });
    expect(answer).toMatchObject({
      Description: 'No description',
      Parameters: { secret: { Type: 'String', NoEcho: 'true' }, size: { Type: 'Number', Default: 2 } },
    });
  });

  it('describes the parameters of nested stacks in the form of Heat when the client asks for them', async () => {
    const inside = (resources: string) =>
      `heat_template_version: 2018-08-31\nparameters: {w: {type: number, default: 0}}\nresources: ${resources}\n`;
    const files = {
      'one.yaml': inside('{n: {type: two.yaml, properties: {w: 5}}}'),
      'two.yaml': inside('{v: {type: OS::Heat::Value, properties: {value: {get_param: w}}}}'),
    };
    const asked = questionOf({ template: inside('{n: {type: one.yaml, properties: {w: 1}}}'), files });
    const validate = (show_nested?: boolean) =>
      context.bus.request({
        queue,
        call: templateValidate,
        message: context.mint(templateValidate, {
          data: { ...asked, ...(show_nested !== undefined && { show_nested }) },
          project,
        }),
      });
    const w = { Type: 'Number', Description: '', NoEcho: 'false', Label: 'w', Default: 0 };
    const described = (value: number) => ({
      Description: 'No description',
      Parameters: { w: { ...w, Value: value } },
    });
    const answer = await validate(true);
    expect(answer['NestedParameters']).toEqual({
      n: { Type: 'one.yaml', ...described(1), NestedParameters: { n: { Type: 'two.yaml', ...described(5) } } },
    });
    // As in Heat, the registry names the templates that the root stack uses as types.
    expect(answer['Environment']).toMatchObject({ resource_registry: { 'one.yaml': 'one.yaml', resources: {} } });
    for (const not of [false, undefined]) expect(await validate(not)).not.toHaveProperty('NestedParameters');
  });

  it('sends the long list of types only to a caller that has another version', async () => {
    const list = (known?: string) =>
      context.bus.request({
        queue,
        call: resourceTypeList,
        message: context.mint(resourceTypeList, { data: known === undefined ? {} : { known } }),
      });
    const { types, version = '' } = await list();
    expect(types.length).toBeGreaterThan(50);
    expect(await list(version)).toEqual({ types: [], version, unchanged: true });
    const data = { provider: 'a', queue: 'mine', types: [{ type: 'My::Type', properties: {}, attributes: {} }] };
    await context.bus.send({ queue, messages: [context.mint(providerAnnounced, { data })] });
    await expect.poll(async () => (await list(version)).types.length).toBe(types.length + 1);
  });

  it('knows the types that a provider announced, and refuses another provider for the same types', async () => {
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

describe('a nested stack', () => {
  const files = {
    'member.yaml': `
heat_template_version: 2018-08-31
parameters:
  name: {type: string}
  password: {type: string, default: none}
  size: {type: number, default: 1}
resources:
  v: {type: OS::Heat::Value, properties: {value: [{get_param: name}, {get_param: password}, {get_param: size}]}}
outputs:
  all: {value: {get_attr: [v, value]}}
`,
    'script.sh': 'echo',
    'unused.sh': 'echo nothing',
  };
  const around = `
heat_template_version: 2018-08-31
resources:
  one: {type: My::Member, properties: {name: {get_file: script.sh}}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: My::Member, properties: {name: '%index%'}}}
outputs:
  a: {value: {get_attr: [one, all, 0]}}
  b: {value: {get_attr: [group, attributes, all]}}
`;
  const environment = { resource_registry: { 'My::Member': 'member.yaml' }, parameter_defaults: { size: 7 } };
  const rootWith = (more: { files?: Record<string, string>; environment?: JsonObject } = {}) =>
    ask({ template: around, files: more.files ?? files, environments: [more.environment ?? environment] });
  const nestedOf = async (hash: string): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      Object.values(((await read(hash)) as Plan).resources).map(({ name, nested }) => [name, nested?.digest]),
    );
  const askNested = async (more: Partial<CompileNestedQuestion>): Promise<CompileAnswer> => {
    const root = await rootWith();
    const data: CompileNestedQuestion = {
      project,
      stack_id: 'child',
      stack_name: 's-one-1',
      environment: root.environment,
      files: root.files,
      resource: 'one',
      type: 'My::Member',
      properties: { name: 'n' },
      facade: { metadata: {}, deletion_policy: 'Delete', update_policy: {} },
      depth: 1,
      resources_outside: 0,
      ...more,
    };
    return context.bus.request({
      queue,
      call: templateCompileNested,
      message: context.mint(templateCompileNested, { data, project }),
    });
  };

  it('is listed in the plan of its parent, with the outputs that are read', async () => {
    const plan = (await read((await rootWith()).plan)) as Plan;
    expect(plan.resources['one']).toMatchObject({
      type: 'My::Member',
      nested: { kind: 'template', type: 'My::Member', reads: [['all', 0]] },
    });
    expect(plan.resources['group']?.nested).toMatchObject({ kind: 'group', reads: [['attributes', 'all']] });
  });

  it('has other sources exactly when a source that it has read differs', async () => {
    const before = await rootWith();
    const { used } = (await read((await askNested({})).plan)) as Plan;
    const names = ['default password', 'default size', 'file member.yaml', 'type OS::Heat::Value'];
    expect(used).toEqual(names);
    const differs = async (more: Parameters<typeof rootWith>[0]): Promise<boolean> => {
      const after = await rootWith(more);
      const [one, other] = await Promise.all([before, after].map(async ({ sources = '' }) => read(sources)));
      return sourcesDiffer(used ?? [], one as NestedSources, other as NestedSources);
    };
    expect(await differs({ files: { ...files, 'unused.sh': 'other', 'script.sh': 'other' } })).toBe(false);
    const registry = (entry: Record<string, string>) => ({
      environment: { ...environment, resource_registry: { ...environment.resource_registry, ...entry } },
    });
    expect(await differs(registry({ 'My::Other': 'script.sh' }))).toBe(false);
    expect(await differs(registry({ 'OS::Heat::V*': 'My::V*' }))).toBe(true);
    expect(await differs({ files: { ...files, 'member.yaml': `${files['member.yaml']}\n# more` } })).toBe(true);
    expect(await differs({ environment: { ...environment, parameter_defaults: { size: 8 } } })).toBe(true);
  });

  it('is described in the plan of its parent by its file and by what is read of it', async () => {
    const before = await nestedOf((await rootWith()).plan);
    expect(before['one']).toBeTypeOf('string');
    const same = await rootWith({ environment: { ...environment, parameter_defaults: { size: 8 } } });
    expect(await nestedOf(same.plan)).toEqual(before);
    const moved = { 'My::Member': 'moved.yaml' };
    const other = await rootWith({
      files: { ...files, 'moved.yaml': files['member.yaml'] },
      environment: { ...environment, resource_registry: moved },
    });
    expect((await nestedOf(other.plan))['one']).not.toBe(before['one']);
  });

  it('is compiled with its properties as parameters and the defaults of the environment', async () => {
    const answer = await askNested({});
    const plan = (await read(answer.plan)) as Plan;
    expect(plan.parameters).toMatchObject({
      name: { value: 'n' },
      password: { value: 'none' },
      size: { value: 7 },
      'OS::stack_name': { value: 's-one-1' },
    });
    expect(await read(answer.environment)).toEqual({ parameter_defaults: { size: 7 } });
    expect(plan.passed).toEqual(['name']);
  });

  it('keeps a secret property secret', async () => {
    const answer = await askNested({ properties: { name: 'n', password: context.secrets.seal('hush') } });
    const texts = await Promise.all(
      [answer.plan, answer.environment, answer.template].map((hash) => context.store.blobs.getText(hash)),
    );
    expect(texts.join('')).not.toContain('hush');
    const { password } = ((await read(answer.plan)) as Plan).parameters;
    expect(password?.hidden).toBe(true);
    expect(context.secrets.open(password?.value ?? null)).toBe('hush');
  });

  it('hides a default that its parent hides, even if its own template does not', async () => {
    const root = await ask({
      template: `${template}  one: {type: My::Member, properties: {name: n}}\n`,
      parameters: { secret: 'hush' },
      files: { 'member.yaml': files['member.yaml'].replaceAll('password', 'secret') },
      environments: [{ ...environment, parameter_defaults: { secret: 'hush', size: 7 } }],
    });
    const answer = await askNested({ environment: root.environment, files: root.files });
    const texts = await Promise.all([answer.plan, answer.environment].map((hash) => context.store.blobs.getText(hash)));
    expect(texts.join('')).not.toContain('hush');
    const plan = (await read(answer.plan)) as Plan;
    expect(plan.parameters['secret']?.hidden).toBe(true);
    expect(context.secrets.open(plan.parameters['secret']?.value ?? null)).toBe('hush');
    expect(await read(answer.environment)).toMatchObject({ parameter_defaults: { size: 7 } });
  });

  it('of a group uses the values of its members unchanged, whatever they look like', async () => {
    const shapes = [
      { get_file: 'script.sh' },
      { get_param: 'nothing' },
      { get_param: 'secret_1' },
      { get_attr: ['0', 'value'] },
      { $sealed: 'x' },
      { yaql: { expression: '1', data: 1 } },
    ];
    const properties = { value: [...shapes, context.secrets.seal('hush')] };
    const answer = await askNested({
      resource: 'group',
      type: 'OS::Heat::ResourceGroup',
      template: {
        heat_template_version: '2015-04-30',
        resources: { '0': { type: 'OS::Heat::Value', properties, metadata: { shapes } } },
      },
    });
    const plan = (await read(answer.plan)) as Plan;
    expect(plan.resources['0']?.metadata).toEqual({ kind: 'literal', value: { shapes } });
    const value = plan.resources['0']?.properties['value'];
    expect(value?.kind === 'list' && value.items.slice(0, -1)).toEqual(
      shapes.map((shape) => ({ kind: 'literal', value: shape })),
    );
    const secret = Object.values(plan.parameters).find(({ hidden }) => hidden);
    expect(context.secrets.open(secret?.value ?? null)).toBe('hush');
  });

  it('of a group is compiled from the template of its members, with their secrets as hidden parameters', async () => {
    const member = (name: string) => ({
      type: 'My::Member',
      properties: { name, password: context.secrets.seal('hush') },
    });
    const answer = await askNested({
      resource: 'group',
      type: 'OS::Heat::ResourceGroup',
      template: { heat_template_version: '2015-04-30', resources: { '0': member('0'), '1': member('1') } },
    });
    const text = await context.store.blobs.getText(answer.plan);
    expect(text).not.toContain('hush');
    const plan = JSON.parse(text ?? '') as Plan;
    expect(Object.keys(plan.resources)).toEqual(['0', '1']);
    expect(plan.resources['0']?.nested).toMatchObject({ kind: 'template', digest: expect.any(String) });
    expect(await read(answer.environment)).toMatchObject({ resource_registry: environment.resource_registry });
  });

  it('is refused with every mistake, when too deep, and with too many resources', async () => {
    await expect(askNested({ properties: { size: 'x', other: 1 } })).rejects.toMatchObject({
      code: 'InvalidTemplate',
      mistakes: [{ code: 'UnknownProperty' }, { code: 'MissingProperty' }, { code: 'WrongPropertyType' }],
    });
    await expect(askNested({ depth: 6 })).rejects.toMatchObject({ mistakes: [{ code: 'TooDeep' }] });
    await expect(askNested({ resources_outside: 20_000 })).rejects.toMatchObject({
      mistakes: [{ code: 'TooManyResources' }],
    });
  });
});

describe('the limits of an evaluation', () => {
  const long = `
heat_template_version: 2018-08-31
outputs: {o: {value: {yaql: {expression: 'range(300)', data: {}}}}}`;
  /** A long text runs in a worker. */
  const places = [
    ['in the thread of the service', long],
    ['in a worker', `${long}\n#${'x'.repeat(20_000)}`],
  ] as const;

  it.each(places)('are named in the refusal: %s', async (_, text) => {
    const setting = 'Collection length exceeds 200 elements (the limit is ANNEAL_YAQL_LIMIT_ITERATORS)';
    expect((await refusal({ template: text })).message).toContain(setting);
  });

  it.each(places)('are those of the operator: %s', async (_, text) => {
    await service.stop();
    await context.dispose();
    const evaluationLimits = { elements: 10_000, memory: 1_000_000, work: 5_000_000 };
    context = await createTestContext({ name: 'templating', evaluationLimits });
    service = await templatingService.start(context, readSettings(templatingService.settings, {}));
    expect(await ask({ template: text })).toHaveProperty('plan');
  });
});

describe('an expensive template', () => {
  const patterns = (count: number): string =>
    [
      'heat_template_version: 2018-08-31',
      'parameters:',
      ...Array.from(
        { length: count },
        (_, index) => `  p${index}: {type: string, constraints: [{allowed_pattern: "(a*)*(a*)*b"}]}`,
      ),
    ].join('\n');
  const given = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, 'a'.repeat(300)]));

  it.each<[what: string, asked: Partial<CompileQuestion>, expected: object]>([
    [
      'twenty patterns that never match',
      { template: patterns(20), parameters: given(20) },
      {
        mistakes: expect.arrayContaining([
          expect.objectContaining({ message: expect.stringContaining('takes too much work') as string }),
        ]) as unknown,
      },
    ],
    [
      'a sequence without end',
      {
        template: `
heat_template_version: 2018-08-31
outputs: {o: {value: {yaql: {expression: "generate(0, true, $ + 1).len()", data: {}}}}}`,
      },
      { code: 'InvalidTemplate' },
    ],
  ])('is refused while others are answered: %s', async (_, asked, expected) => {
    const order: string[] = [];
    const message = context.mint(templateCompile, { data: questionOf(asked), project });
    const question = context.bus.request({ queue, call: templateCompile, message, timeoutMs: 120_000 });
    const refused = question.catch((error: unknown) => {
      order.push('refused');
      return error;
    });
    const listed = context.bus
      .request({ queue, call: resourceTypeList, message: context.mint(resourceTypeList, { data: {}, project }) })
      .then(() => order.push('listed'));
    await expect(refused).resolves.toMatchObject(expected);
    await listed;
    expect(order).toEqual(['listed', 'refused']);
  });

  it('is refused before a group above the limit of a stack is expanded', async () => {
    const large = `
heat_template_version: 2018-08-31
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: 100000, resource_def: {type: OS::Heat::None}}}`;
    await expect(ask({ template: large })).rejects.toMatchObject({
      code: 'InvalidTemplate',
      message:
        'You have reached the maximum resources per stack, 20000 (the limit is ANNEAL_TEMPLATING_MAX_RESOURCES): with the 100000 members of g it has 100001.',
    });
  });

  it('is dropped when its requester disconnects or stops waiting, and the worker takes the next one', async () => {
    const large = (text: string): string => `${text}\n#${'x'.repeat(20_000)}`;
    const endless = large(patterns(40));
    const askFor = async (timeoutMs: number): Promise<{ id: string; answer: Promise<unknown> }> => {
      const data = questionOf({ template: endless, parameters: given(40) });
      const message = context.mint(templateValidate, { data, project });
      return { id: message.id, answer: context.bus.request({ queue, call: templateValidate, message, timeoutMs }) };
    };
    const late = await askFor(50);
    await expect(late.answer).rejects.toMatchObject({ code: 'TimedOut' });
    const gone = await askFor(60_000);
    const refused = expect(gone.answer).rejects.toMatchObject({
      code: 'DeadlineExceeded',
      message: 'The work was dropped, because the requester disconnected.',
    });
    // Publish repeatedly, because the question may arrive after the first of these messages.
    const stop = setInterval(() => {
      void context.bus.publish([context.mint(questionAbandoned, { data: { question: gone.id } })]);
    }, 20);
    await refused.finally(() => clearInterval(stop));
    const next = await ask({ template: large(template), parameters: { secret: 'x' } });
    expect(next.resource_count).toBe(1);
  });

  it('has the same result in a worker as in the thread of the service', async () => {
    const small = await ask({ template, parameters: { secret: 'x' } });
    const inWorker = await ask({ template: `${template}\n#${'x'.repeat(20_000)}`, parameters: { secret: 'x' } });
    expect(inWorker).toEqual(small);
  });
});
