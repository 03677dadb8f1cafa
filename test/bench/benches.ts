/** All benches, in the order of `all`. */
import { apiBench } from './api.ts';
import { busBench } from './bus.ts';
import { costBench } from './cost.ts';
import { engineBench } from './engine.ts';
import { eventsBench } from './events.ts';
import { hostsBench } from './hosts.ts';
import { hotBench } from './hot.ts';
import { neighbourBench } from './neighbour.ts';
import { nodesBench } from './nodes.ts';
import type { Bench } from './report.ts';
import { stackBench } from './stack.ts';
import { storeBench } from './store.ts';
import { treeBench } from './tree.ts';

export const benches: readonly Bench[] = [
  busBench,
  storeBench,
  stackBench,
  engineBench,
  hotBench,
  hostsBench,
  nodesBench,
  eventsBench,
  apiBench,
  neighbourBench,
  treeBench,
  costBench,
];
