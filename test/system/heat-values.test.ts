/** Values as a client of Heat sends and reads them: whole floats in every document, and no parameter of Anneal's own. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import { login, password } from '@anneal/gateway/testing/test-gateway.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';

let context: TestContext;
const running: RunningService[] = [];
let root: string;
let token: string;
beforeAll(async () => {
  context = await createTestContext({ name: 'gateway' });
  running.push(await templatingService.start(context, readSettings(templatingService.settings, {})));
  running.push(await schedulingService.start(context, readSettings(schedulingService.settings, {})));
  running.push(await startIdentity(context, password));
  const settings = readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: '0' });
  const gateway = (await gatewayService.start(context, settings)) as RunningService & { url: string };
  running.push(gateway);
  const path = `${gateway.url}/identity/v3/auth/tokens`;
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(login()) });
  token = answer.headers.get('x-subject-token') ?? '';
  const { token: found } = (await answer.json()) as { token: { project: { id: string } } };
  root = `${gateway.url}/orchestration/v1/${found.project.id}/stacks`;
});
afterAll(async () => {
  for (const service of running.toReversed()) await service.stop();
  await context.dispose();
});

/** The body is text, because JSON.stringify would write 1 for 1.0. */
async function call(method: string, url: string, body?: string): Promise<JsonObject> {
  const headers = { 'x-auth-token': token, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const answer = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as JsonObject;
}

interface Shown {
  readonly stack: {
    readonly id: string;
    readonly stack_status: string;
    readonly stack_status_reason: string;
    readonly parameters: Readonly<Record<string, string>>;
    readonly outputs: readonly { readonly output_key: string; readonly output_value: unknown }[];
  };
}
async function settled(name: string): Promise<Shown['stack'] & { readonly values: Record<string, unknown> }> {
  let last: unknown;
  return eventually(
    async () => {
      const { stack } = (await call('GET', `${root}/${name}`)) as unknown as Shown;
      last = stack;
      const values = Object.fromEntries(stack.outputs.map((output) => [output.output_key, output.output_value]));
      return stack.stack_status.endsWith('COMPLETE') ? { ...stack, values } : undefined;
    },
    { what: `the end of the action of ${name}`, last: () => last },
  );
}

/** The values of a template, with whole floats by text, in each function that makes text. */
const template = (defaults: string): string => `{
  "heat_template_version": "2018-08-31",
  "parameters": {
    "ratio": {"type": "number"${defaults}},
    "name": {"type": "string", "default": 2.0},
    "map": {"type": "json", "default": {"x": 3.0, "n": 12345678901234567890}}
  },
  "resources": {
    "v": {"type": "OS::Heat::Value", "properties": {"value":
      {"str_replace": {"template": "ratio=R", "params": {"R": {"get_param": "ratio"}}}}}}
  },
  "outputs": {
    "resource": {"value": {"get_attr": ["v", "value"]}},
    "joined": {"value": {"list_join": [",", [{"get_param": "name"}, "a"]]}},
    "map": {"value": {"str_replace": {"template": "M", "params": {"M": {"get_param": "map"}}}}},
    "literal": {"value": {"str_replace": {"template": "L", "params": {"L": 4.0}}}},
    "yaql": {"value": {"yaql": {"expression": "str($.data)", "data": {"get_param": "ratio"}}}}
  }
}`;
const values = {
  resource: 'ratio=1.0',
  joined: '2.0,a',
  map: '{"n": 12345678901234567890, "x": 3.0}',
  literal: '4.0',
  yaql: '1.0',
};
const parameters = { ratio: '1.0', name: '2.0', map: '{"x": 3.0, "n": 12345678901234567890}' };

it.each<[where: string, name: string, body: string]>([
  ['a default', 'default', `"template": ${template(', "default": 1.0')}`],
  ['a parameter', 'parameter', `"template": ${template('')}, "parameters": {"ratio": 1.0}`],
  ['an environment', 'environment', `"template": ${template('')}, "environment": {"parameters": {"ratio": 1.0}}`],
  [
    'parameter_defaults',
    'defaults',
    `"template": ${template('')}, "environment": {"parameter_defaults": {"ratio": 1.0, "map": {"x": 3.0, "n": 12345678901234567890}}}`,
  ],
  ['a template as text', 'text', `"template": ${JSON.stringify(template(', "default": 1.0'))}`],
])('a whole float stays one in %s, also after an update that keeps it', async (_, name, body) => {
  await call('POST', root, `{"stack_name": "${name}", "timeout_mins": 60.0, ${body}}`);
  const created = await settled(name);
  expect(created.values).toEqual(values);
  expect(created.parameters).toMatchObject(parameters);
  await call('PATCH', `${root}/${name}/${created.id}`, '{"tags": "again"}');
  const updated = await settled(name);
  expect(updated.values).toEqual(values);
  expect(updated.parameters).toMatchObject(parameters);
});

it('a whole float of an environment reaches a nested stack', async () => {
  const files = JSON.stringify({ 'inner.yaml': template(', "default": 7') });
  const outer = `{
    "heat_template_version": "2018-08-31",
    "resources": {"n": {"type": "inner.yaml"}},
    "outputs": {"resource": {"value": {"get_attr": ["n", "resource"]}}}
  }`;
  const environment = '{"parameter_defaults": {"ratio": 1.0}}';
  await call(
    'POST',
    root,
    `{"stack_name": "outer", "template": ${outer}, "files": ${files}, "environment": ${environment}}`,
  );
  const stack = await settled('outer');
  expect(stack.values).toEqual({ resource: 'ratio=1.0' });
  const { resource } = (await call('GET', `${root}/outer/${stack.id}/resources/n`)) as unknown as {
    resource: { physical_resource_id: string };
  };
  expect((await settled(resource.physical_resource_id.split('/').at(-1) ?? '')).parameters).toMatchObject(parameters);
});

it('the stack of a group shows no parameter of its own, and its export still has the secret', async () => {
  const definition = '{"type": "OS::Heat::Value", "properties": {"value": {"get_param": "password"}}}';
  const body = `{
    "stack_name": "grouped",
    "parameters": {"password": "hush"},
    "template": {
      "heat_template_version": "2018-08-31",
      "parameters": {"password": {"type": "string", "hidden": true}},
      "resources": {"g": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": ${definition}}}},
      "outputs": {"values": {"value": {"get_attr": ["g", "value"]}}}
    }
  }`;
  await call('POST', root, body);
  const stack = await settled('grouped');
  expect(stack.values).toEqual({ values: ['hush'] });
  const { resource } = (await call('GET', `${root}/grouped/${stack.id}/resources/g`)) as unknown as {
    resource: { physical_resource_id: string };
  };
  const group = await settled(resource.physical_resource_id.split('/').at(-1) ?? '');
  expect(Object.keys(group.parameters).sort()).toEqual(['OS::project_id', 'OS::stack_id', 'OS::stack_name']);
  const at = `${root}/${resource.physical_resource_id.split('/').slice(-2).join('/')}`;
  const shown = await call('GET', `${at}/template`);
  expect(shown).not.toHaveProperty('parameters');
  expect(shown['resources']).toEqual({ '0': { type: 'OS::Heat::Value', properties: { value: '******' } } });
  expect(await call('GET', `${at}/environment`)).toMatchObject({ parameters: {} });
  expect(JSON.stringify(await call('GET', `${root}/grouped/${stack.id}/export`))).toContain('hush');
});
