import { freePort as freePortOf } from '@anneal/cli/serve/port.ts';

/** A port of 127.0.0.1 without a listener. */
export const freeLocalPort = (): Promise<number> => freePortOf('127.0.0.1');
