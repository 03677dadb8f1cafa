/** Our own provider, reached by messages like any other. */
import { on, type Route } from '@anneal/bus/route.ts';
import {
  resourceCheck,
  resourceCreate,
  resourceDelete,
  resourceResume,
  resourceSignal,
  resourceSuspend,
  resourceUpdate,
} from '@anneal/contracts/resource.ts';
import type { Worker } from './work.ts';

export const providerName = 'anneal.scheduling';

export function providerRoutes(worker: Worker): Route[] {
  return [
    on(resourceCreate, (message) => worker.take('create', message)),
    on(resourceUpdate, (message) => worker.take('update', message)),
    on(resourceDelete, (message) => worker.take('delete', message)),
    on(resourceCheck, (message) => worker.take('check', message)),
    on(resourceSuspend, (message) => worker.take('suspend', message)),
    on(resourceResume, (message) => worker.take('resume', message)),
    on(resourceSignal, (message) => worker.take('signal', message)),
  ];
}
