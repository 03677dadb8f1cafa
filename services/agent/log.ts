import type { ServiceContext } from '@anneal/runtime/service.ts';

export type Log = ServiceContext['log'];
