import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

describe('the API of Mistral', () => {
  it.each([
    ['POST', '/executions', { workflow_name: 'w', bogus: 1 }],
    ['POST', '/executions', { workflow_name: 'w', params: { bogus: 1 } }, 'params.bogus'],
    [
      'POST',
      '/cron_triggers',
      { name: 'c', workflow_name: 'w', workflow_params: '{"bogus":1}' },
      'workflow_params.bogus',
    ],
    ['PUT', '/executions/run-x', { state: 'PAUSED', bogus: 1 }],
    ['PUT', '/tasks/run-x.1', { state: 'RUNNING', bogus: 1 }],
    ['PUT', '/action_executions/run-x.1.1.0', { state: 'SUCCESS', bogus: 1 }],
    ['POST', '/cron_triggers', { name: 'c', workflow_name: 'w', bogus: 1 }],
    ['GET', '/workflows?bogus=1', undefined],
    ['GET', '/workflows/w?bogus=1', undefined],
    ['GET', '/executions?bogus=1', undefined],
    ['GET', '/cron_triggers?bogus=1', undefined],
    ['POST', '/environments', { name: 'e', variables: {}, bogus: 1 }],
    ['GET', '/actions?bogus=1', undefined],
    ['GET', '/executions/run-x/report?bogus=1', undefined],
    ['DELETE', '/executions/run-x?bogus=1', undefined],
  ])('refuses an unknown field: %s %s', async (method, path, body, field = 'bogus') => {
    const { status, json, text } = await gateway.call(method, `/workflow/v2${path}`, body);
    expect([status, text]).toEqual([400, expect.stringContaining(`"path":"${field}"`)]);
    expect(json).toMatchObject({ faultcode: 'Client', faultstring: expect.stringContaining('bogus') as unknown });
  });

  it('refuses input that is no JSON text of a map, a wrong time and a namespace', async () => {
    const refused = async (method: string, path: string, body?: object): Promise<string> => {
      const { status, text } = await gateway.call(method, `/workflow/v2${path}`, body);
      expect(status, text).toBe(400);
      return text;
    };
    expect(await refused('POST', '/executions', { workflow_name: 'w', input: '[1]' })).toContain('JSON text of a map');
    const cron = { name: 'c', workflow_name: 'w', first_execution_time: 'soon' };
    expect(await refused('POST', '/cron_triggers', cron)).toContain('YYYY-MM-DD HH:MM');
    expect(await refused('GET', '/workflows/w?namespace=x')).toContain('namespaces are not served');
    expect(await refused('GET', '/executions?nulls=id')).toContain('can only be root_execution_id');
    expect(await refused('POST', '/cron_triggers', { ...cron, first_execution_time: '2026-02-31 10:00' })).toContain(
      'first_execution_time: must be YYYY-MM-DD HH:MM in UTC',
    );
    for (const path of ['/executions', '/cron_triggers']) {
      expect(await refused('POST', path, { name: 'c' })).toContain('workflow_name or workflow_id is required');
    }
  });

  it('names every mistake in the query of a list, before it looks for the objects', async () => {
    const query = 'sort_dirs=asc,up&sort_keys=size&fields=id,size&limit=0&size=1';
    const { status, json } = await gateway.call('GET', `/workflow/v2/executions/run-x/tasks?${query}`);
    expect([status, json]).toMatchObject([
      400,
      { mistakes: ['limit', 'sort_keys.0', 'sort_dirs.1', 'fields.1', 'size'].map((path) => ({ path })) },
    ]);
  });

  it('documents each field of the rows of a list as a filter', async () => {
    const { json } = await gateway.call('GET', '/workflow/openapi.json');
    expect(json).toMatchObject({
      paths: {
        '/v2/environments': {
          get: {
            parameters: expect.arrayContaining([
              expect.objectContaining({ name: 'variables', schema: { $ref: '#/components/schemas/Filter' } }),
            ]) as unknown,
          },
        },
      },
    });
  });

  it('refuses definitions that are no text', async () => {
    for (const kind of ['workflows', 'actions']) {
      const { status, text } = await gateway.call('POST', `/workflow/v2/${kind}`, { version: '2.0' });
      expect([status, text]).toEqual([400, expect.stringContaining(`must be the text of ${kind}, with Content-Type`)]);
    }
  });

  it('names the form of the id of a task and of an action when an id has another form', async () => {
    for (const path of ['/tasks/none', '/action_executions/none', '/action_executions/.1']) {
      const { status, json } = await gateway.call('GET', `/workflow/v2${path}`);
      expect([status, json]).toMatchObject([404, { faultstring: expect.stringContaining('<execution>.<number>') }]);
    }
  });

  it('needs a token, and names its versions without one', async () => {
    expect((await fetch(`${gateway.url}/workflow/v2/workflows`)).status).toBe(401);
    expect(await (await fetch(`${gateway.url}/workflow/`)).json()).toMatchObject([{ id: 'v2.0', status: 'CURRENT' }]);
  });
});
