/**
 * Returns memory to the system after a burst of work. V8 lets its heap grow to a multiple of what is alive before it
 * collects, and a process that polls never looks idle to it, so it keeps the garbage of the burst.
 *
 * When the event loop has rested for a while, this tells V8 for a moment to prefer memory to speed: it then collects in
 * small steps and shrinks its heap. It changes nothing under load, and while the heap is about as large as after the last
 * release. Work that comes meanwhile ends the release.
 *
 * Node warns about flags that change at run time, and has no other call for this. The heap reads this flag each time that
 * it decides; if a later V8 does not, the memory stays as it is. Bench: `npm run bench -- nodes`.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** The part of the time that the event loop works: below the first one it rests. The collection alone stays below the second. */
const restsBelow = 0.1;
const busyAbove = 0.7;
/** The looks over which the event loop must have rested. A poll or a collection may make it work for one of them. */
const defaultLooksOfRest = 30;
/** V8 looks every eight seconds whether it should shrink, and collects twice. */
const looksOfRelease = 30;
/** The part of the heap at which a release has done its work. */
const shrunk = 0.6;
/** A heap that has grown less is not worth a collection. */
const growth = { factor: 1.5, bytes: 64 * 2 ** 20 };

/**
 * @param lookMs how often it looks, in milliseconds
 * @param looksOfRest the looks over which the event loop must have rested
 * @returns how to stop it
 */
export function releaseMemory({
  lookMs = 1_000,
  looksOfRest = defaultLooksOfRest,
}: { lookMs?: number; looksOfRest?: number } = {}): () => void {
  let last = performance.eventLoopUtilization();
  /** The start of the looks of rest, and their number so far. */
  let [began, looks] = [last, 0];
  /** Looks until the release ends; 0 without one. */
  let left = 0;
  /** The size of the heap before and after the last release, in bytes. */
  let [large, released] = [0, 0];
  const end = (): void => {
    if (left > 0) setFlagsFromString('--no-optimize-for-size');
    left = 0;
    [began, looks] = [last, 0];
  };
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    if (left > 0) {
      released = getHeapStatistics().total_heap_size;
      // Further collections free little.
      if (left === 1 || utilization > busyAbove || released < large * shrunk) end();
      else left -= 1;
      return;
    }
    looks += 1;
    if (looks < looksOfRest) return;
    const rests = performance.eventLoopUtilization(now, began).utilization < restsBelow;
    [began, looks] = [now, 0];
    if (!rests) return;
    const { total_heap_size: size } = getHeapStatistics();
    if (size < Math.max(released * growth.factor, released + growth.bytes)) return;
    large = size;
    left = looksOfRelease;
    setFlagsFromString('--optimize-for-size');
  }, lookMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    end();
  };
}
