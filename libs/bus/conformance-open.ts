/** A bus as the tests open it, and the processes that they kill. */
import type { Store } from '@anneal/store/port.ts';
import { randomUUID } from 'node:crypto';
import { silent, testRegistry } from './conformance-messages.ts';
import { openBus } from './open.ts';
import type { Bus } from './port.ts';

export const openTestBus = (about: { url: string; store: Store; source?: string }): Promise<Bus> =>
  openBus({
    source: 'anneal/test',
    registry: testRegistry,
    newId: randomUUID,
    now: () => new Date(),
    log: silent,
    ...about,
  });
