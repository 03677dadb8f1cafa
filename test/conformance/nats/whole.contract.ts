/** The whole conformance suite on a real NATS server, with the tests that take many messages or kills. */
import { busConformance } from '@anneal/bus/conformance/conformance.ts';
import { afterAll, describe } from 'vitest';
import { natsForTests } from '../nats-place.ts';

const { server, harness } = natsForTests;

describe.skipIf(server === undefined)('the bus on a real NATS server', () => {
  afterAll(() => server?.stop());
  busConformance('NATS JetStream', harness);
});
