import { expect, it } from 'vitest';
import type { NodeDocument } from '../documents/node.ts';
import { EventStreams, nodesAbout, originsOf, type EventStreamsOptions } from './event-streams.ts';

const nodeAt = (path: string, address = 'http://bmc'): NodeDocument =>
  ({ id: path, name: path, address, identity: { path } }) as unknown as NodeDocument;
const silent = { debug: () => undefined, info: () => undefined };
type Follow = EventStreamsOptions['bmcs']['followEvents'];

const streamsOf = (followEvents: Follow, clock = { ms: 0 }, heard: [string, readonly string[]][] = []) =>
  new EventStreams({
    bmcs: { followEvents },
    log: silent,
    now: () => clock.ms,
    onEvents: (address, origins) => heard.push([address, origins]),
  });
const aborted = (signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(true)));

it('reads the origins of an event in both forms, and none from what is no event', () => {
  const event = (origin: unknown): string => JSON.stringify({ Events: [{ OriginOfCondition: origin }, null] });
  expect(originsOf(event({ '@odata.id': '/redfish/v1/Systems/1' }))).toEqual(['/redfish/v1/Systems/1']);
  expect(originsOf(event('/redfish/v1/Systems/1'))).toEqual(['/redfish/v1/Systems/1']);
  for (const data of ['', '{', '[]', 'null', '{"Events": {}}', event(7)]) expect(originsOf(data)).toEqual([]);
});

it('finds the nodes that events are about, and all of an enclosure when an event names none', () => {
  const [one, ten] = [nodeAt('/redfish/v1/Systems/1'), nodeAt('/redfish/v1/Systems/10')];
  expect(nodesAbout([one, ten], ['/redfish/v1/Systems/1'])).toEqual([one]);
  expect(nodesAbout([one, ten], ['/redfish/v1/Systems/10/Processors/1'])).toEqual([ten]);
  expect(nodesAbout([one, ten], ['/redfish/v1/Chassis/1'])).toEqual([one, ten]);
  const many = Array.from({ length: 17 }, (_, index) => nodeAt(`/redfish/v1/Systems/${index}`));
  expect(nodesAbout(many, [])).toEqual([]);
});

it('E1: follows one stream per address, until no node has the address', async () => {
  const followed: string[] = [];
  const streams = streamsOf((node, { signal, onData }) => {
    followed.push(node.address);
    onData('{}');
    return aborted(signal);
  });
  streams.keep(nodeAt('/a'));
  streams.keep(nodeAt('/b'));
  streams.keep(nodeAt('/c', 'http://other'));
  expect(followed).toEqual(['http://bmc', 'http://other']);
  streams.retain(new Set(['http://other']));
  streams.keep(nodeAt('/a'));
  expect(followed).toEqual(['http://bmc', 'http://other', 'http://bmc']);
  await streams.stop();
  streams.keep(nodeAt('/a'));
  expect(followed).toHaveLength(3);
});

it('E2: waits longer after each refusal, an hour for a controller without events, and little after an event', async () => {
  const clock = { ms: 0 };
  let opened = 0;
  let next: Follow = () => Promise.reject(new Error('refused'));
  const streams = streamsOf((node, options) => {
    opened += 1;
    return next(node, options);
  }, clock);
  /** The pause after which the stream is opened again. */
  const pause = async (): Promise<number> => {
    const [before, from] = [opened, clock.ms];
    for (let tries = 0; tries < 1000; tries += 1) {
      streams.keep(nodeAt('/a'));
      if (opened > before) break;
      clock.ms += 10_000;
    }
    await new Promise((resolve) => setImmediate(resolve));
    return clock.ms - from;
  };
  expect(await pause()).toBe(0);
  expect([await pause(), await pause(), await pause()]).toEqual([20_000, 40_000, 80_000]);
  next = (_node, { onData }) => {
    onData('{}');
    return Promise.resolve(true);
  };
  expect(await pause()).toBe(160_000);
  next = () => Promise.resolve(false);
  expect(await pause()).toBe(10_000);
  expect(await pause()).toBe(3_600_000);
  await streams.stop();
});
