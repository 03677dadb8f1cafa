import type { Odd } from './document.ts';
import type { ValuesWorld } from './world.ts';

/** Sends the JSON text of a document in at one place, and returns it as it comes out at another. */
export type Door = (world: ValuesWorld, text: string) => Promise<Odd>;
