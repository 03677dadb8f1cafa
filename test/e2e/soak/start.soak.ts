/** The gateway dies while the server starts: when it was seen ready, and the supervisor has not spoken to it yet. */
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { findRabbitmq } from '../../backends/rabbitmq.ts';
import { findBackends, startDistributed, type Distributed, type ServiceProcess } from './distributed.ts';
import { isAlive } from '../server.ts';

const backends = await findBackends(findRabbitmq);

describe.skipIf(!backends)('a start on RabbitMQ and MongoDB', () => {
  let server: Distributed;
  beforeAll(async () => {
    server = await startDistributed({ ...backends!, lab: 0 });
  });
  afterAll(() => server?.dispose(), 60_000);

  const said = (text: string): number => server.log().split(text).length - 1;
  const until = (is: () => boolean, what: string): Promise<unknown> =>
    eventually(is, { what, last: () => server.output() });

  it('continues when the gateway dies before its supervisor has spoken to it', async () => {
    await until(() => said('Anneal listens at') === 1, 'the first greeting');
    const before = await server.processes();
    await server.kill();
    await until(() => !before.some(({ pid }) => isAlive(pid)), 'the old processes ending');
    // The client of the test may meet the dead gateway too.
    const started = server.start().catch(() => undefined);
    const find = (wanted: string): Promise<ServiceProcess> =>
      eventually(
        async () =>
          (await server.processes()).find(
            ({ name, pid }) => name === wanted && pid && !before.some((old) => old.pid === pid),
          ),
        { what: `${wanted} being started`, last: () => server.output() },
      );
    // The start waits for the last process, which makes the moment of the death certain.
    const last = await find('notification');
    process.kill(last.pid, 'SIGSTOP');
    await until(() => said('Waiting for notification to be ready') > 0, 'the wait for the last process');
    process.kill((await find('gateway')).pid, 'SIGKILL');
    process.kill(last.pid, 'SIGCONT');
    await started;
    await until(() => said('Anneal listens at') === 2, 'the greeting');
  });
});
