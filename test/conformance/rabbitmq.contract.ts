/** The conformance of the bus on a real RabbitMQ. `rabbitmq/` has what takes longer: a broker that dies, lost connections, many processes. */
import { topologyConformance } from '@anneal/bus/conformance/topology.ts';
import { busConformance } from '@anneal/bus/conformance/conformance.ts';
import { afterAll, describe } from 'vitest';
import { rabbitmqForTests } from './rabbitmq-place.ts';

const { missing, server, harness } = rabbitmqForTests;

describe.skipIf(missing !== undefined)('RabbitMQ', () => {
  afterAll(() => server.stop());
  busConformance('RabbitMQ', { ...harness, quick: true });
  topologyConformance('RabbitMQ', harness);
});
