import { describe, expect, it } from 'vitest';
import { createWakeups, eventsKey, isStream, queueKey, type Wakeups } from './wakeups.ts';

const long = 60_000;

/** Listeners that note their name when they are woken. */
function listening(wakeups: Wakeups) {
  const heard: string[] = [];
  const end = new AbortController();
  return {
    heard,
    end,
    listen: (name: string, client?: string) => {
      const listener = wakeups.listen('queue', client);
      const waited = listener.next(long, end.signal).then(({ isWoken }) => isWoken && heard.push(name));
      return { ...listener, waited };
    },
  };
}

describe('wakeups', () => {
  it.each(['wake', 'wakeAll', 'wakeInTurn'] as const)('%s wakes only the last listener of a client', async (verb) => {
    const wakeups = createWakeups();
    const { heard, end, listen } = listening(wakeups);
    const left = listen('left', 'one');
    const others = [listen('user'), listen('user'), listen('other', 'two'), listen('last', 'one')];
    if (verb === 'wake') wakeups.wake('queue');
    else wakeups[verb]();
    await Promise.all(others.map(({ waited }) => waited));
    expect(heard).toEqual(['user', 'user', 'other', 'last']);
    end.abort();
    await left.waited;
    expect(heard).toHaveLength(4);
  });

  it('wake only the streams in an outage', async () => {
    const wakeups = createWakeups();
    const end = new AbortController();
    const [stream, host] = [wakeups.listen(eventsKey('p')), wakeups.listen(queueKey('p', 'events'))];
    const waits = host.next(long, end.signal);
    const woken = stream.next(long, end.signal);
    wakeups.wakeInTurn(isStream);
    expect(await woken).toEqual({ isWoken: true });
    end.abort();
    expect(await waits).toEqual({ isWoken: false });
  });

  it('wake an earlier listener of a client after the last one has ended', async () => {
    const wakeups = createWakeups();
    const { heard, listen } = listening(wakeups);
    const first = listen('first', 'one');
    wakeups.listen('queue', 'one').close();
    wakeups.wake('queue');
    await first.waited;
    expect(heard).toEqual(['first']);
  });
});
