/** The conformance of the bus on a real NATS server. `nats/` has what takes longer: a server that dies, lost connections, many processes. */
import { topologyConformance } from '@anneal/bus/conformance/topology.ts';
import { busConformance } from '@anneal/bus/conformance/conformance.ts';
import { afterAll, describe } from 'vitest';
import { natsForTests } from './nats-place.ts';

const { server, harness } = natsForTests;

describe.skipIf(server === undefined)('the bus on a real NATS server', () => {
  afterAll(() => server?.stop());
  busConformance('NATS JetStream', { ...harness, quick: true });
  topologyConformance('NATS JetStream', harness);
});
