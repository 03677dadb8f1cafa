/** The bus on a real NATS server that dies or loses connections, and between processes. */
import { busRestartConformance } from '@anneal/bus/conformance/restart.ts';
import { activeConformance } from '@anneal/bus/conformance/active.ts';
import { afterAll, describe } from 'vitest';
import { lostConnectionConformance } from '../lost-connection.ts';
import { natsForTests } from '../nats-place.ts';

const { server, harness } = natsForTests;

describe.skipIf(server === undefined)('the bus on a real NATS server', () => {
  afterAll(() => server?.stop());
  if (server?.mayBeKilled === true) busRestartConformance('NATS JetStream', harness, server);
  lostConnectionConformance('NATS JetStream', harness);
  activeConformance('NATS JetStream', harness);
});
