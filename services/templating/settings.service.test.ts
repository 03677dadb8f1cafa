/** Another value of a setting changes what the service compiles, and when. */
import { resourceTypeList, templateCompile, type CompileQuestion } from '@anneal/contracts/calls/templating.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { defaultEvaluation } from '@anneal/hot/limits.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { templatingService } from './service.ts';

const project = 'p1';
let context: TestContext;
let service: RunningService;
afterEach(async () => {
  await service.stop();
  await context.dispose();
});

/** Only the limits of the test end a template. */
const unlimited = { ...defaultEvaluation, elements: -1, memory: -1, work: Number.MAX_SAFE_INTEGER };
async function open(settings: Record<string, string>): Promise<void> {
  context = await createTestContext({ name: 'templating', evaluationLimits: unlimited });
  const given = Object.entries(settings).map(([name, value]) => [`ANNEAL_TEMPLATING_${name}`, value] as const);
  service = await templatingService.start(context, readSettings(templatingService.settings, Object.fromEntries(given)));
}
function ask(template: string): Promise<unknown> {
  const data: CompileQuestion = {
    project,
    stack_id: 's',
    stack_name: 's',
    template,
    environments: [],
    files: {},
    parameters: {},
  };
  const message = context.mint(templateCompile, { data, project });
  return context.bus.request({
    queue: requestsQueue('templating'),
    call: templateCompile,
    message,
    timeoutMs: 120_000,
  });
}
const evaluated = (expression: string): string => `
heat_template_version: 2018-08-31
conditions: {c: {equals: [1, {yaql: {expression: "${expression}", data: {}}}]}}
`;
const endless = evaluated('generate(0, true, $ + 1).len()');

it('WORKER_MEMORY_MIB: a template may take this memory', async () => {
  await open({ WORKER_MEMORY_MIB: '32', COMPILE_SECONDS: '600' });
  const large = evaluated('range(0, 8000000).toList().len()');
  await expect(ask(large)).rejects.toThrow('more than 32 MiB of memory (ANNEAL_TEMPLATING_WORKER_MEMORY_MIB)');
});

it('MAX_RESOURCES: a stack may have so many resources', async () => {
  const template = `
heat_template_version: 2018-08-31
resources: {a: {type: OS::Heat::None}, b: {type: OS::Heat::None}, c: {type: OS::Heat::None}}
`;
  await open({ MAX_RESOURCES: '2' });
  await expect(ask(template)).rejects.toThrow(
    /resources per stack, 2 \(the limit is ANNEAL_TEMPLATING_MAX_RESOURCES\)/,
  );
});

it('MAX_DEPTH: nested stacks have so many levels', async () => {
  const resource = '{type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: OS::Heat::None}}}';
  await open({ MAX_DEPTH: '0' });
  const nested = ask(`heat_template_version: 2018-08-31\nresources: {g: ${resource}}`);
  await expect(nested).rejects.toThrow('Recursion depth exceeds 0 (the limit is ANNEAL_TEMPLATING_MAX_DEPTH)');
});

describe('WORKERS, WAITING and COMPILE_SECONDS: so many are compiled, so many wait, and each takes this time', () => {
  it.each([
    [1, 1],
    [2, 0],
  ])('with %d workers, %d of three templates is refused at once', async (workers, refused) => {
    await open({ WORKERS: String(workers), WAITING: '1', COMPILE_SECONDS: '0.2' });
    const answers = await Promise.all([endless, endless, endless].map((each) => ask(each).catch(String)));
    const naming = (text: string) => answers.filter((each) => String(each).includes(text));
    expect(naming('(ANNEAL_TEMPLATING_WAITING)')).toHaveLength(refused);
    expect(naming('more than 0.2 s of time (ANNEAL_TEMPLATING_COMPILE_SECONDS)')).toHaveLength(3 - refused);
  });
});

// With the default, a list is answered while a template is compiled: templating.service.test.ts.
it('CONCURRENCY: so many requests are answered at a time', async () => {
  await open({ CONCURRENCY: '1', COMPILE_SECONDS: '0.2' });
  const order: string[] = [];
  const compiled = ask(endless).catch(() => order.push('compiled'));
  const message = context.mint(resourceTypeList, { data: {}, project });
  const listed = context.bus.request({ queue: requestsQueue('templating'), call: resourceTypeList, message });
  await Promise.all([compiled, listed.then(() => order.push('listed'))]);
  expect(order).toEqual(['compiled', 'listed']);
});
