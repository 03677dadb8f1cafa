import { describe } from 'vitest';
import { stackScenarios } from './scenarios.ts';
import { startServer } from './server.ts';

describe('all services in one process, on the embedded broker and database', () => {
  stackScenarios(() => startServer({ lab: 3 }));
});
