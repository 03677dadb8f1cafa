import type { ServiceContext } from '@anneal/runtime/service/service.ts';

export type Log = ServiceContext['log'];
