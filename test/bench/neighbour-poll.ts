/** The thread of `neighbour.ts`: sends a request every 10 ms and collects how long each waited, in milliseconds. */
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { url } = workerData as { url: string };
const agent = new Agent({ keepAlive: true });
const everyMs = 10;
let samples: number[] = [];

const start = performance.now();
for (let count = 0; ; count += 1) {
  const due = start + count * everyMs;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  if (count === 1) {
    parentPort?.on('message', () => {
      parentPort?.postMessage(samples, []);
      samples = [];
    });
    parentPort?.postMessage('ready', []);
  }
  const sent = performance.now();
  get(url, { agent }, (response) => {
    response.resume();
    response.once('end', () => samples.push(performance.now() - sent));
  }).once('error', () => samples.push(Number.POSITIVE_INFINITY));
}
