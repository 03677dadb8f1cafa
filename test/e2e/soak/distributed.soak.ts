import { describe } from 'vitest';
import { brokers, findBackends, startDistributed } from './distributed.ts';
import { stackScenarios } from '../scenarios.ts';

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`each service in processes of its own, on ${name} and MongoDB`, () => {
    stackScenarios(() => startDistributed({ ...backends!, lab: 3 }));
  });
}
