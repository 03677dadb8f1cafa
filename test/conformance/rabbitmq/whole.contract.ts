/** The whole conformance suite on a real RabbitMQ, with the tests that take many messages or kills. */
import { busConformance } from '@anneal/bus/conformance/conformance.ts';
import { afterAll, describe } from 'vitest';
import { rabbitmqForTests } from '../rabbitmq-place.ts';

const { missing, server, harness } = rabbitmqForTests;

describe.skipIf(missing !== undefined)('RabbitMQ', () => {
  afterAll(() => server.stop());
  busConformance('RabbitMQ', harness);
});
