/**
 * A block: the measurements of one source (a set of labels) in a few minutes, in one document. A batch of a host with
 * ten metrics therefore costs one write.
 *
 * B1 A block contains the ids of the batches that it has taken, so a repeat of a batch changes nothing, also when a crash
 *    came between the writes of two blocks.
 * Pure.
 */
import type { Document, Draft } from '@anneal/store/port.ts';
import { fromStored, mergePeriods, periodOf, toStored, type Period, type StoredPeriod } from './period.ts';

/** Duration of a block. */
export const blockMs = 300_000;
/** More repeats than a client has open; the oldest are forgotten first. */
const mostBatches = 1000;

export interface BlockDocument extends Document {
  readonly project: string;
  readonly source: string;
  /** The start, in milliseconds since the epoch. */
  readonly start: number;
  /** Milliseconds of a period. */
  readonly period: number;
  /** By name, then by the number of the period in the block. */
  readonly metrics: Readonly<Record<string, Readonly<Record<string, StoredPeriod>>>>;
  /** B1 */
  readonly batches: readonly string[];
}

/** A value of a source. */
export interface Sample {
  readonly name: string;
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export const blockStart = (at: number): number => Math.floor(at / blockMs) * blockMs;
export const blockId = (source: string, period: number, start: number): string => `${source}:${period}:${start}`;

/** The block with the samples of a batch. Undefined when it has them already (B1). */
export function withBatch(
  block: Draft<BlockDocument>,
  batch: { readonly id: string; readonly samples: readonly Sample[] },
): Draft<BlockDocument> | undefined {
  if (block.batches.includes(batch.id)) return undefined;
  const metrics: Record<string, Record<string, StoredPeriod>> = { ...block.metrics };
  for (const { name, value, at } of batch.samples) {
    const index = String(Math.floor((at - block.start) / block.period));
    const periods = (metrics[name] =
      metrics[name] === block.metrics[name] ? { ...block.metrics[name] } : (metrics[name] ?? {}));
    const before = periods[index];
    const added = periodOf(value, at);
    periods[index] = toStored(before ? mergePeriods(fromStored(before), added) : added);
  }
  return { ...block, metrics, batches: [...block.batches, batch.id].slice(-mostBatches) };
}

/** A coarser block with the measurements of a block. Undefined when it has them already. */
export function withBlock(into: Draft<BlockDocument>, block: BlockDocument): Draft<BlockDocument> | undefined {
  const name = String(block.start);
  if (into.batches.includes(name)) return undefined;
  const metrics: Record<string, Record<string, StoredPeriod>> = { ...into.metrics };
  for (const metric of Object.keys(block.metrics)) {
    const periods = (metrics[metric] = { ...metrics[metric] });
    for (const [start, period] of periodsOf(block, metric)) {
      const index = String(Math.floor((start - into.start) / into.period));
      const before = periods[index];
      periods[index] = toStored(before ? mergePeriods(fromStored(before), period) : period);
    }
  }
  return { ...into, metrics, batches: [...into.batches, name] };
}

/** The periods of a name in a block: their starts and statistics, in order. */
export function periodsOf(block: BlockDocument, name: string): (readonly [start: number, period: Period])[] {
  const periods = Object.hasOwn(block.metrics, name) ? (block.metrics[name] ?? {}) : {};
  return Object.entries(periods)
    .map(([index, stored]) => [block.start + Number(index) * block.period, fromStored(stored)] as const)
    .toSorted(([a], [b]) => a - b);
}
