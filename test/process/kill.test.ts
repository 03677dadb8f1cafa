/** A server that is killed while a host runs a script. `chaos/` kills it at random moments. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, deleted, settled, startServer, type TestServer } from '../e2e/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 4 });
});
afterAll(() => server?.dispose());

describe('kill -9 of the server', () => {
  it('during a slow script does not stop or repeat the script, and the stack completes after the restart', async () => {
    const trace = join(server.data, 'slow');
    const template = `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}
  slow:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      script: |
        #!/bin/sh
        echo started >> ${trace}
        while [ ! -e ${trace}.go ]; do sleep 0.1; done
        echo finished >> ${trace}
  next:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      depends_on: {get_resource: slow}
      script: echo next >> ${trace}
`;
    await server.client.stacks.create({ name: 'slow', bundle: bundle(template) });
    await eventually(async () => ((await readFile(trace, 'utf8').catch(() => '')) === 'started\n' ? true : undefined), {
      what: 'the slow script having started',
    });
    await server.kill();
    await server.start();
    await readFile(trace, 'utf8');
    await writeFile(`${trace}.go`, '');
    expect((await settled(server, 'slow', 90_000)).stack_status).toBe('CREATE_COMPLETE');
    expect(await readFile(trace, 'utf8')).toBe('started\nfinished\nnext\n');
    await server.client.stacks.delete({ stack: 'slow' });
    await deleted(server, 'slow');
  });
});
