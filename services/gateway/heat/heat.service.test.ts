/** The fields that unmodified Heat clients rely on, as recorded from a real Heat. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { openReplicas } from '@anneal/runtime/service/replica.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project, startTestGateway, type HttpAnswer, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
let root: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  root = `${gateway.url}/orchestration/v1/${project}`;
});
afterAll(() => gateway.stop());

const template = { heat_template_version: '2018-08-31', resources: { v: { type: 'OS::Heat::Value' } } };
const create = (name: string, more: object = {}) =>
  gateway.call('POST', `${root}/stacks`, {
    stack_name: name,
    disable_rollback: true,
    parameters: { size: '2' },
    template,
    files: { 'file:///env.yaml': '{"parameters": {"size": 2}}', 'file:///setup.sh': 'true' },
    environment: { parameters: { size: 2 } },
    environment_files: ['file:///env.yaml'],
    tags: 'blue,green',
    ...more,
  });
const created = async (name: string): Promise<string> => {
  const { status, json } = await create(name);
  expect(status).toBe(201);
  return (json as unknown as { stack: { id: string } }).stack.id;
};
const follow = async (method: string, path: string, body?: unknown): Promise<HttpAnswer> => {
  const first = await gateway.call(method, `${root}${path}`, body);
  expect(first.status).toBe(302);
  return gateway.call(method, first.headers.get('location') ?? '', body);
};

it.each([
  ['?show_nested=True', true],
  ['?show_nested=false', false],
  ['', false],
])('validate%s describes nested stacks: %s', async (query, isNested) => {
  const { json } = await gateway.call('POST', `${root}/validate${query}`, { template });
  expect(json).toHaveProperty('Parameters');
  expect('NestedParameters' in json).toBe(isNested);
});

it('has a content type without charset, as Heat has', async () => {
  for (const path of ['/stacks', '/stacks/none']) {
    const { headers } = await gateway.call('GET', `${root}${path}`);
    expect(headers.get('content-type')).toBe('application/json');
  }
});

it('the preview of a new stack has the parameters as text, and an id of no stack', async () => {
  const { json } = await gateway.call('POST', `${root}/stacks/preview`, { stack_name: 'later', template });
  expect(json['stack']).toMatchObject({
    id: 'None',
    parameters: { 'OS::stack_id': 'None', 'OS::stack_name': 'later', size: '2' },
  });
});

it('the attributes of a handle are open to users who may signal it; other sealed ones stay hidden', async () => {
  const id = await created('handles');
  const attributesOf = async (resource: string) => {
    const { json } = await gateway.call('GET', `${root}/stacks/handles/${id}/resources/${resource}`);
    return (json['resource'] as unknown as JsonObject)['attributes'];
  };
  expect(await attributesOf('handle')).toEqual({ signal: '{"token": "t"}' });
  expect(await attributesOf('secret')).toEqual({ value: '******' });
});

describe('a stack', () => {
  it('is created with 201, a Location and only its id and link', async () => {
    const { status, headers, json } = await create('made');
    const { id } = (json as unknown as { stack: { id: string } }).stack;
    const href = `${root}/stacks/made/${id}`;
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(href);
    expect(json).toEqual({ stack: { id, links: [{ href, rel: 'self' }] } });
    const question = gateway.behind.compiled.at(-1);
    expect(question).toMatchObject({
      project,
      stack_name: 'made',
      stack_id: id,
      template,
      parameters: { size: '2' },
      // The named files win, and the environment that the client merged is ignored.
      environments: ['{"parameters": {"size": 2}}'],
    });
  });

  it('waits at the hooks that a client adds to its merged environment, also when it names files', async () => {
    const resources = { a: { hooks: 'pre-create' }, b: { leaf: { hooks: 'pre-update' }, 'OS::X': 'y.yaml' } };
    await create('hooked', { environment: { parameters: { size: 3 }, resource_registry: { resources } } });
    expect(gateway.behind.compiled.at(-1)?.environments).toEqual([
      '{"parameters": {"size": 2}}',
      { resource_registry: { resources: { a: { hooks: 'pre-create' }, b: { leaf: { hooks: 'pre-update' } } } } },
    ]);
  });

  it('that is only previewed has no id and no parent', async () => {
    const { status, json } = await gateway.call('POST', `${root}/stacks/preview`, { stack_name: 'planned', template });
    expect(status).toBe(200);
    expect(json).toMatchObject({ stack: { id: 'None', parent: null, stack_name: 'planned', resources: [] } });
  });

  it('is requested over the bus without readable secrets', async () => {
    await gateway.call('POST', `${root}/stacks`, {
      stack_name: 'secretive',
      template,
      parameters: { size: '2', whisper: 'between us' },
      environment: { parameters: { whisper: 'only us' } },
    });
    const sent = gateway.behind.sent.at(-1) ?? '';
    expect(sent).toContain('secretive');
    expect(sent).not.toMatch(/between us|only us/);
    expect(gateway.behind.compiled.at(-1)).toMatchObject({
      parameters: { size: '2', whisper: 'between us' },
      environments: [{ parameters: { whisper: 'only us' } }],
    });
  });

  it('is shown with every field that Heat has', async () => {
    const id = await created('ref');
    const { json } = await follow('GET', '/stacks/ref');
    expect(json).toEqual({
      stack: {
        stack_name: 'ref',
        id,
        links: [{ href: `${root}/stacks/ref/${id}`, rel: 'self' }],
        creation_time: '2026-11-21T12:34:01Z',
        updated_time: null,
        deletion_time: null,
        notification_topics: [],
        parameters: {
          'OS::stack_id': id,
          'OS::project_id': project,
          'OS::stack_name': 'ref',
          size: '2',
          whisper: '******',
        },
        description: 'Reference stack',
        template_description: 'Reference stack',
        capabilities: [],
        disable_rollback: true,
        on_failure: 'keep',
        timeout_mins: null,
        stack_owner: 'admin',
        parent: null,
        stack_user_project_id: project,
        tags: ['blue', 'green'],
        stack_status: 'CREATE_IN_PROGRESS',
        stack_status_reason: 'Stack CREATE started',
        outputs: [
          { output_key: 'all', description: 'No description given', output_value: ['zPsSFWPa', '50c0XOYE'] },
          { output_key: 'value', description: 'The value', output_value: 'PpTN3d25oOLd' },
        ],
        failures: [],
        conditions: [],
      },
    });
    const bare = await follow('GET', `/stacks/${id}?resolve_outputs=False`);
    expect(bare.json['stack']).not.toHaveProperty('outputs');
  });

  it('is listed in rows, by name, tag and status', async () => {
    await created('listed');
    const { json } = await gateway.call('GET', `${root}/stacks?name=listed&tags=blue`);
    const { stacks } = json as unknown as { stacks: object[] };
    expect(stacks).toHaveLength(1);
    expect(Object.keys(stacks[0] ?? {}).sort()).toEqual(
      [
        'id',
        'links',
        'stack_name',
        'description',
        'stack_status',
        'stack_status_reason',
        'creation_time',
        'updated_time',
        'deletion_time',
        'stack_owner',
        'parent',
        'stack_user_project_id',
        'tags',
      ].sort(),
    );
    expect((await gateway.call('GET', `${root}/stacks?name=listed&tags=red`)).json).toEqual({ stacks: [] });
    const page = await gateway.call('GET', `${root}/stacks?limit=1&status=COMPLETE`);
    expect(page.json).toMatchObject({ links: [{ rel: 'next', href: expect.stringContaining('&marker=') }] });
  });

  it('with a hidden tag is listed only when the client asks for hidden stacks, and takes no place in a page', async () => {
    for (const name of ['seen-a', 'seen-b']) await create(name, { tags: 'page' });
    await create('unseen', { tags: 'page,data-processing-cluster' });
    const namesOf = async (query: string) => {
      const { json } = await gateway.call('GET', `${root}/stacks?tags=page${query}`);
      return (json as unknown as { stacks: { stack_name: string }[] }).stacks
        .map(({ stack_name }) => stack_name)
        .sort();
    };
    expect(await namesOf('')).toEqual(['seen-a', 'seen-b']);
    expect(await namesOf('&limit=2')).toEqual(['seen-a', 'seen-b']);
    expect(await namesOf('&show_hidden=true')).toEqual(['seen-a', 'seen-b', 'unseen']);
  });

  it('is listed in the requested order, page by page, with the total count', async () => {
    for (const name of ['order-b', 'order-c', 'order-a']) await create(name, { tags: 'order' });
    const listed = async (query: string) => {
      const { json } = await gateway.call('GET', `${root}/stacks?tags=order&${query}`);
      const { stacks, count } = json as unknown as { stacks: { id: string; stack_name: string }[]; count?: number };
      return { names: stacks.map(({ stack_name }) => stack_name), last: stacks.at(-1)?.id ?? '', count };
    };
    const first = await listed('sort_keys=stack_name&limit=2&with_count=true');
    expect(first).toMatchObject({ names: ['order-a', 'order-b'], count: 3 });
    expect(await listed(`sort_keys=stack_name&limit=2&marker=${first.last}`)).toMatchObject({ names: ['order-c'] });
    expect((await listed('sort_keys=stack_name&sort_dir=desc&limit=1')).names).toEqual(['order-c']);
    expect((await listed('sort_keys=stack_name&sort_dir=DESC&limit=1')).names).toEqual(['order-c']);
    expect((await listed('sort_keys=stack_name&marker=unknown&limit=1')).names).toEqual(['order-a']);
    expect((await gateway.call('GET', `${root}/stacks?sort_dir=up`)).json).toMatchObject({
      code: 400,
      error: { message: 'The query is not valid: sort_dir: must be one of asc, desc, not "up"' },
    });
    expect((await listed('owner_id=absent')).names).toEqual([]);
    expect((await listed('username=admin')).names).toHaveLength(3);
  });

  it.each(['-', '_'])('is listed by its tags, with the words of a filter joined by %j', async (joint) => {
    const [stem, marked] = [`tagged${joint === '-' ? 1 : 2}`, `mark${joint === '-' ? 1 : 2}`];
    await create(`${stem}-a`, { tags: `${marked},one` });
    await create(`${stem}-b`, { tags: `${marked},two` });
    const namesOf = async (filter: string) => {
      const query = `tags=${marked}&${filter.replaceAll('-', joint)}&sort_keys=stack_name`;
      const { json } = await gateway.call('GET', `${root}/stacks?${query}`);
      return (json as unknown as { stacks: { stack_name: string }[] }).stacks.map(({ stack_name }) => stack_name);
    };
    expect(await namesOf('tags-any=one,three')).toEqual([`${stem}-a`]);
    expect(await namesOf(`not-tags=${marked},one`)).toEqual([`${stem}-b`]);
    expect(await namesOf('not-tags-any=one,two')).toEqual([]);
  });

  it('is found by name or id for every method: 302 to its canonical address, with the query', async () => {
    const id = await created('found');
    const canonical = `${root}/stacks/found/${id}`;
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers } = await gateway.call(method, `${root}/stacks/found`);
      expect([status, headers.get('location')]).toEqual([302, canonical]);
    }
    for (const below of ['resources', 'events', 'template', 'environment', 'files', 'actions']) {
      const { status, headers } = await gateway.call('GET', `${root}/stacks/${id}/${below}?limit=1&sort_dir=desc`);
      expect([status, headers.get('location')]).toEqual([302, `${canonical}/${below}?limit=1&sort_dir=desc`]);
    }
    const arn = `arn:openstack:heat::${project}:stacks/found/${id}`;
    for (const name of [arn, encodeURIComponent(arn)]) {
      const { status, headers } = await gateway.call('GET', `${root}/stacks/${name}`);
      expect([status, headers.get('location')]).toEqual([302, canonical]);
    }
    for (const below of ['resources', 'resources/a%20b', 'resources/r/metadata']) {
      for (const name of [arn, encodeURIComponent(arn), arn.replaceAll('/', '%2f')]) {
        const { status, headers } = await gateway.call('GET', `${root}/stacks/${name}/${below}?limit=1`);
        expect([status, headers.get('location')]).toEqual([302, `${canonical}/${below}?limit=1`]);
      }
    }
    const post = await gateway.call('POST', `${root}/stacks/found/actions`, { check: null });
    expect([post.status, post.headers.get('location')]).toEqual([302, `${canonical}/actions`]);
  });

  it('is updated with 202; PUT clears omitted tags, PATCH keeps omitted fields', async () => {
    const id = await created('changed');
    const patched = await follow('PATCH', '/stacks/changed', {
      parameters: { size: '3' },
      template: null,
      files: {},
      environment: {},
    });
    expect(patched.status).toBe(202);
    expect(patched.json).toMatchObject({ code: '202 Accepted', title: 'Accepted' });
    expect(gateway.behind.compiled.at(-1)).toMatchObject({
      parameters: { size: '3' },
      environments: [],
      previous_plan: 'plan-hash',
      existing: { clear_parameters: [] },
    });
    const tags = async () => (await follow('GET', '/stacks/changed')).json['stack']?.['tags'];
    expect(await tags()).toEqual(['blue', 'green']);
    const put = await gateway.call('PUT', `${root}/stacks/changed/${id}`, { template, parameters: {} });
    expect(put.status).toBe(202);
    expect(gateway.behind.compiled.at(-1)).not.toHaveProperty('existing');
    expect(await tags()).toEqual([]);
    expect((await gateway.call('PUT', `${root}/stacks/changed/${id}`, {})).json).toMatchObject({
      error: { message: 'No template specified' },
    });
  });

  it('is deleted with 204, then no longer found by name but still by id', async () => {
    const id = await created('gone');
    expect((await follow('DELETE', '/stacks/gone')).status).toBe(204);
    expect((await gateway.call('GET', `${root}/stacks/gone`)).status).toBe(404);
    const { json } = await gateway.call('GET', `${root}/stacks/gone/${id}`);
    expect(json).toMatchObject({ stack: { stack_status: 'DELETE_COMPLETE' } });
    expect(json['stack']).not.toHaveProperty('outputs');
    expect((await gateway.call('DELETE', `${root}/stacks/gone/${id}`)).status).toBe(404);
  });

  it('has resources with links and only the requested detail', async () => {
    const id = await created('parts');
    const stackHref = `${root}/stacks/parts/${id}`;
    const row = {
      updated_time: '2026-11-21T12:34:01Z',
      creation_time: '2026-11-21T12:34:01Z',
      logical_resource_id: 'v',
      resource_name: 'v',
      physical_resource_id: 'parts-v-qs3iwuuvp2fa',
      resource_status: 'CREATE_COMPLETE',
      resource_status_reason: 'state changed',
      resource_type: 'OS::Heat::Value',
      links: [
        { href: `${stackHref}/resources/v`, rel: 'self' },
        { href: stackHref, rel: 'stack' },
      ],
      required_by: ['t'],
      started_at: '2026-11-21T12:34:01.250Z',
      finished_at: '2026-11-21T12:34:01.250Z',
    };
    expect((await follow('GET', '/stacks/parts/resources')).json).toEqual({ resources: [row] });
    expect((await gateway.call('GET', `${stackHref}/resources/v`)).json).toEqual({
      resource: { ...row, description: '', attributes: { value: 'x' }, failure: null, conditions: [] },
    });
    expect((await gateway.call('GET', `${stackHref}/resources?type=Value`)).json).toEqual({ resources: [row] });
    expect((await gateway.call('GET', `${stackHref}/resources?type=Other`)).json).toEqual({ resources: [] });
    expect((await gateway.call('GET', `${stackHref}/resources?colour=red`)).status).toBe(400);
    expect((await gateway.call('GET', `${stackHref}/resources/v/metadata`)).json).toEqual({ metadata: {} });
    const signal = await gateway.call('POST', `${stackHref}/resources/v/signal`, { status: 'SUCCESS' });
    expect([signal.status, signal.text]).toEqual([200, 'null']);
    expect(gateway.behind.signals.at(-1)).toEqual({ status: 'SUCCESS' });
  });

  it('has events that a waiting client can page through', async () => {
    const id = await created('watched');
    const stackHref = `${root}/stacks/watched/${id}`;
    const newest = await follow('GET', '/stacks/watched/events?limit=1&sort_dir=desc');
    expect(newest.json).toEqual({
      events: [
        {
          id: '00000000-0000-4000-8000-000000000004',
          links: [
            { href: `${stackHref}/resources/watched/events/00000000-0000-4000-8000-000000000004`, rel: 'self' },
            { href: `${stackHref}/resources/watched`, rel: 'resource' },
            { href: stackHref, rel: 'stack' },
          ],
          event_time: '2026-11-21T12:34:01Z',
          logical_resource_id: 'watched',
          resource_name: 'watched',
          physical_resource_id: id,
          resource_status: 'CREATE_COMPLETE',
          resource_status_reason: 'Stack CREATE completed successfully',
        },
      ],
    });
    const ids = async (query: string) => {
      const { json } = await gateway.call('GET', `${stackHref}/events${query}`);
      return (json as unknown as { events: { id: string }[] }).events.map((event) => event.id.at(-1));
    };
    expect(await ids('?sort_dir=asc')).toEqual(['1', '2', '3', '4']);
    expect(await ids('?sort_dir=asc&marker=00000000-0000-4000-8000-000000000002')).toEqual(['3', '4']);
    expect(await ids('?sort_dir=asc&resource_status=COMPLETE')).toEqual(['3', '4']);
    expect(await ids('')).toEqual(['4', '3', '2', '1']);
    const one = await gateway.call('GET', `${stackHref}/resources/v/events/00000000-0000-4000-8000-000000000003`);
    expect(one.json).toMatchObject({
      event: { resource_type: 'OS::Heat::Value', resource_properties: { value: 'x' }, resource_name: 'v' },
    });
    expect((await gateway.call('GET', `${stackHref}/resources/other/events`)).status).toBe(404);
  });

  it('has outputs, a template, files, and an environment without its hidden values', async () => {
    await created('read');
    expect((await follow('GET', '/stacks/read/outputs')).json).toEqual({
      outputs: [
        { output_key: 'all', description: 'No description given' },
        { output_key: 'value', description: 'The value' },
      ],
    });
    const location = (await gateway.call('GET', `${root}/stacks/read`)).headers.get('location') ?? '';
    expect((await gateway.call('GET', `${location}/outputs/value`)).json).toEqual({
      output: { output_key: 'value', description: 'The value', output_value: 'PpTN3d25oOLd' },
    });
    expect((await gateway.call('GET', `${location}/outputs/nope`)).json).toMatchObject({
      code: 404,
      error: { type: 'NotFound', message: 'Specified output key nope not found.' },
    });
    expect((await gateway.call('GET', `${location}/template`)).json).toEqual(template);
    // The environment file is missing, because it may hold secrets. It is kept merged and sealed.
    expect((await gateway.call('GET', `${location}/files`)).json).toEqual({ 'file:///setup.sh': 'true' });
    expect((await gateway.call('GET', `${location}/environment`)).json).toEqual({
      resource_registry: { resources: {} },
      parameters: { size: 2, whisper: '******' },
      parameter_defaults: {},
      event_sinks: [],
      encrypted_param_names: [],
    });
  });
});

describe('an error', () => {
  const explanation400 =
    'The server could not comply with the request since it is either malformed or otherwise incorrect.';

  it('has Heat’s form: 404 of a stack, a resource, an address', async () => {
    expect((await gateway.call('GET', `${root}/stacks/nosuch`)).json).toMatchObject({
      code: 404,
      title: 'Not Found',
      explanation: 'The resource could not be found.',
      error: { type: 'EntityNotFound', traceback: null, message: 'The Stack (nosuch) could not be found.' },
    });
    const id = await created('errors');
    expect((await gateway.call('GET', `${root}/stacks/other/${id}`)).json).toMatchObject({
      error: { message: 'The Stack (other) could not be found.' },
    });
    expect((await gateway.call('GET', `${root}/stacks/errors/${id}/resources/nosuch`)).json).toMatchObject({
      error: { type: 'ResourceNotFound', message: 'The Resource (nosuch) could not be found in Stack errors.' },
    });
    expect((await gateway.call('GET', `${root}/nothing`)).json).toEqual({
      message: 'The resource could not be found.<br /><br />\n\n\n',
      code: '404 Not Found',
      title: 'Not Found',
    });
    expect((await gateway.call('GET', '/orchestration/v9/x')).status).toBe(300);
  });

  it('is 400 with every mistake for a wrong template', async () => {
    const { status, json } = await create('bad', { template: { resources: { x: { type: 'OS::No::Such' } } } });
    expect(status).toBe(400);
    expect(json).toMatchObject({
      code: 400,
      title: 'Bad Request',
      explanation: explanation400,
      error: {
        type: 'StackValidationFailed',
        message: 'The Resource Type (OS::No::Such) could not be found.',
        code: 'InvalidTemplate',
        mistakes: [{ path: 'resources.x.type', nearest: 'OS::Heat::None' }],
      },
    });
  });

  it('is 400 and names the field for a wrong request', async () => {
    const message = async (answer: Promise<HttpAnswer>) => {
      const { status, json } = await answer;
      expect(status).toBe(400);
      return json['error']?.['message'];
    };
    expect(await message(create('9bad name'))).toBe(
      'Invalid stack name 9bad name must contain only alphanumeric or "_-." characters, must start with alpha and must be 255 characters or less.',
    );
    expect(await message(gateway.call('POST', `${root}/stacks`, { template }))).toBe('No stack name specified');
    expect(await message(gateway.call('POST', `${root}/stacks`, { stack_name: 'x' }))).toBe('No template specified');
    expect(await message(gateway.call('POST', `${root}/stacks`, '{not json'))).toContain('not valid JSON');
    const deep = `{"stack_name": "x", "template": {"a": "\\"[", "b": ${'['.repeat(20_000)}${']'.repeat(20_000)}}}`;
    expect(await message(gateway.call('POST', `${root}/stacks`, deep))).toContain('deeper than');
    expect(await message(create('x', { converge: true }))).toContain('converge');
    expect(await message(create('x', { timeout_mins: -1, files: [], disable_rollback: 'maybe' }))).toMatch(
      /files.*timeout_mins.*disable_rollback|files/,
    );
    const stack = `${root}/stacks/x/${'0'.repeat(32)}`;
    expect(await message(gateway.call('POST', `${stack}/actions`))).toBe('No action specified');
    expect(await message(gateway.call('POST', `${stack}/actions`, {}))).toBe('No action specified');
    expect(await message(gateway.call('POST', `${stack}/actions`, { check: null, resume: null }))).toBe(
      'Multiple actions specified',
    );
    expect(await message(gateway.call('POST', `${stack}/actions`, { fly: null }))).toBe('Invalid action fly specified');
    expect(await message(gateway.call('POST', `${stack}/actions`, []))).toBe('The request body must be a JSON object.');
    expect(await message(gateway.call('POST', `${stack}/snapshots`, { name: 1 }))).toBe('name must be a string.');
    const mark = (body: object) => message(gateway.call('PATCH', `${stack}/resources/r`, body));
    expect(await mark({})).toBe('mark_unhealthy is missing.');
    expect(await mark({ mark_unhealthy: 'maybe' })).toBe('mark_unhealthy must be true or false, not "maybe".');
    expect(await mark({ mark_unhealthy: 'True', force: true })).toBe('Unexpected parameters in body: force');
    expect(await message(gateway.call('POST', `${root}/software_configs`, { name: 'x'.repeat(256) }))).toContain(
      'name',
    );
    expect(await message(gateway.call('GET', `${root}/stacks?global_tenant=1`))).toBe(
      'The query is not valid: global_tenant: must be true or false, not "1"',
    );
  });

  it('is 409 for a name in use', async () => {
    await created('taken');
    expect((await create('taken')).json).toMatchObject({
      code: 409,
      title: 'Conflict',
      error: { type: 'StackExists', message: 'The Stack (taken) already exists.' },
    });
  });

  it('is 401 without a token, 403 in another project, 405 with another method', async () => {
    const anonymous = await gateway.call('GET', `${root}/stacks`, undefined, { 'x-auth-token': 'x' });
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get('www-authenticate')).toContain('Keystone uri=');
    expect(anonymous.json).toEqual({
      error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
    });
    const foreign = await gateway.call('GET', `/orchestration/v1/${'f'.repeat(32)}/stacks`);
    expect(foreign.json).toMatchObject({
      code: 403,
      error: { type: 'HTTPForbidden', message: 'Access was denied to this resource.' },
    });
    const wrong = await gateway.call('DELETE', `${root}/stacks`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect(wrong.json).toMatchObject({ code: 405, error: { type: 'HTTPMethodNotAllowed' } });
    expect((await gateway.call('HEAD', `${root}/stacks`)).status).toBe(405);
    expect((await gateway.call('OPTIONS', `${root}/stacks`)).status).toBe(204);
  });

  it('is 413 for a body over the limit', async () => {
    const { status, json } = await create('big', { files: { a: 'x'.repeat(1024 * 1024) } });
    expect(status).toBe(413);
    expect(json).toMatchObject({ error: { code: 'TooLarge' } });
  });
});

it('the API serves its versions, resource types and services', async () => {
  const versions = await gateway.call('GET', '/orchestration/', undefined, { 'x-auth-token': '' });
  expect(versions.status).toBe(300);
  expect(versions.json).toEqual({
    versions: [{ id: 'v1.0', status: 'CURRENT', links: [{ rel: 'self', href: `${gateway.url}/orchestration/v1/` }] }],
  });
  expect((await gateway.call('GET', `${root}/resource_types?with_description=False`)).json).toEqual({
    resource_types: ['OS::Heat::None', 'OS::Heat::Value'],
  });
  expect(
    (await gateway.call('GET', `${root}/resource_types?name=OS%3A%3AHeat%3A%3AV.%2A&with_description=True`)).json,
  ).toEqual({
    resource_types: [{ resource_type: 'OS::Heat::Value', description: 'A value.' }],
  });
  // Each of these keeps a backtracking matcher busy for seconds or longer.
  for (const name of ['(.|..)+x$', '(?:.*){20}x$', '(a|aa)+$', '.*.*.*.*.*.*.*.*x$', '((.{9}){9}){9}']) {
    const filtered = await gateway.call('GET', `${root}/resource_types?name=${encodeURIComponent(name)}`);
    expect([name, [200, 400].includes(filtered.status)]).toEqual([name, true]);
  }
  expect((await gateway.call('GET', `${root}/resource_types?name=%28`)).status).toBe(400);
  expect((await gateway.call('GET', `${root}/resource_types?support_status=DEPRECATED`)).json).toEqual({
    resource_types: [],
  });
  expect((await gateway.call('GET', `${root}/resource_types?version=5.0.0`)).json).toEqual({ resource_types: [] });
  expect((await gateway.call('GET', `${root}/resource_types?support_status=OLD`)).status).toBe(400);
  const fromType = `${root}/resource_types/OS%3A%3AHeat%3A%3AValue/template`;
  expect((await gateway.call('GET', `${fromType}?template_type=hot`)).json).toEqual({
    heat_template_version: '2016-10-14',
    description: 'Initial template of Value',
    parameters: { value: { type: 'json' } },
    resources: { Value: { type: 'OS::Heat::Value', properties: { value: { get_param: 'value' } } } },
    outputs: {
      value: { description: 'The value.', value: { get_attr: ['Value', 'value'] } },
      show: { description: 'Detailed information about resource.', value: { get_attr: ['Value', 'show'] } },
    },
  });
  expect((await gateway.call('GET', fromType)).json).toMatchObject({
    Parameters: { value: { Type: 'Json' } },
    Resources: { Value: { Properties: { value: { Ref: 'value' } } } },
    Outputs: { value: { Value: { 'Fn::GetAtt': ['Value', 'value'] } } },
  });
  expect((await gateway.call('GET', `${fromType}?template_type=toml`)).status).toBe(400);
  expect((await gateway.call('GET', `${root}/resource_types/OS%3A%3AHeat%3A%3AValue`)).json).toMatchObject({
    resource_type: 'OS::Heat::Value',
    properties: { value: { type: 'any', required: true, update_allowed: false, immutable: false } },
    attributes: { value: { type: 'any' }, show: { type: 'map' } },
    support_status: { status: 'SUPPORTED' },
  });
  expect((await gateway.call('GET', `${root}/template_versions`)).text).toContain('heat_template_version.2018-08-31');
  const functions = await gateway.call('GET', `${root}/template_versions/heat_template_version.rocky/functions`);
  expect(functions.text).toContain('get_attr');
  expect((await gateway.call('GET', `${root}/build_info`)).json).toEqual({
    api: { revision: 'unknown' },
    engine: { revision: 'unknown' },
  });
});

it('the list of services has a row for each service of each process, and for a service without a process', async () => {
  const documents = await openReplicas(gateway.context.store);
  const process_ = { pid: 7, release: '1.0.0', started_at: '2026-01-01T00:00:00.000Z', problems: {}, shards: [] };
  await documents.insert({ ...process_, id: 'one', machine: 'box', services: ['scheduling'] });
  await documents.insert({
    ...process_,
    id: 'two',
    machine: 'crate',
    services: ['scheduling', 'configuration'],
    problems: { configuration: 'it has not started yet' },
  });
  const services = await eventually(async () => {
    const { json } = await gateway.call('GET', `${root}/services`);
    const rows = (json as unknown as { services: Record<string, Json>[] }).services;
    return rows.some(({ engine_id: engine }) => engine === 'two') ? rows : undefined;
  });
  const rowsOf = (binary: string) => services.filter((each) => each['binary'] === binary);
  expect(rowsOf('anneal-scheduling')).toMatchObject([
    { host: 'box', hostname: 'box', engine_id: 'one', status: 'up', created_at: '2026-01-01T00:00:00.000000' },
    { host: 'crate', hostname: 'crate', engine_id: 'two', status: 'up', topic: 'anneal.scheduling.requests' },
  ]);
  expect(rowsOf('anneal-configuration')).toMatchObject([{ engine_id: 'two', status: 'down', report_interval: 5 }]);
  // A process of an earlier version takes its requests.
  expect(rowsOf('anneal-templating')).toMatchObject([{ host: 'templating', status: 'up', created_at: null }]);
  expect(rowsOf('anneal-notification')).toMatchObject([{ host: 'notification', status: 'down' }]);
  expect(new Set(services.map(({ id }) => id)).size).toBe(services.length);
});

it('the list has no stack with a tag that the setting hides', async () => {
  const other = await startTestGateway({ ANNEAL_GATEWAY_HIDDEN_STACK_TAGS: 'unseen,internal' });
  const path = `/orchestration/v1/${project}/stacks`;
  for (const [name, tags] of Object.entries({ a: 'internal', b: 'data-processing-cluster' }))
    await other.call('POST', path, { stack_name: name, template, parameters: { size: '2' }, tags });
  const { json } = await other.call('GET', path);
  expect(json).toMatchObject({ stacks: [{ stack_name: 'b' }] });
  await other.stop();
});

it('a service that does not answer causes a 503 with Retry-After and its name', async () => {
  const slow = await startTestGateway({
    ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS: '100',
    ANNEAL_GATEWAY_COMPILE_TIMEOUT_MS: '200',
  });
  try {
    await slow.behind.stop();
    const { status, headers, json } = await slow.call('GET', `/orchestration/v1/${project}/stacks`);
    expect(status).toBe(503);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(json).toMatchObject({ error: { code: 'Unavailable', message: expect.stringContaining('scheduling') } });
    const compiled = await slow.call('POST', `/orchestration/v1/${project}/validate`, { template });
    expect([compiled.status, compiled.text]).toEqual([
      503,
      expect.stringContaining('200 ms (ANNEAL_GATEWAY_COMPILE_TIMEOUT_MS)'),
    ]);
  } finally {
    await slow.stop();
  }
});
