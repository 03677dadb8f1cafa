import { describe, expect, it } from 'vitest';
import type { HostDoorOptions } from './door.ts';
import { openHostDoor } from './open.ts';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const open = (settings: Partial<HostDoorOptions>) =>
  openHostDoor({
    url: 'amqp://u:hush-4711@broker/hosts',
    adminUrl: undefined,
    key: undefined,
    address: undefined,
    name: 'test',
    log: silent,
    take: () => Promise.resolve({}),
    isGranted: () => Promise.resolve(false),
    ...settings,
  });

describe('the settings of a broker for hosts', () => {
  it.each<[string, Partial<HostDoorOptions>, string]>([
    ['an unknown scheme', { url: 'kafka://u:hush-4711@broker' }, 'the scheme kafka:'],
    ['RabbitMQ without management', {}, 'ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL'],
    ['a management of another kind', { adminUrl: 'amqp://u:hush-4711@broker' }, 'http[s]://'],
    ['a management without a user', { adminUrl: 'http://broker:15672' }, 'user:password'],
    [
      'a wrong URL',
      { url: 'amqp://u:hush-4711@broker/hosts?x=1', adminUrl: 'http://u:p@broker' },
      'x is not an option',
    ],
    ['NATS without its settings', { url: 'nats://u:hush-4711@broker' }, 'ADMIN_URL (a user of the system account) and'],
    [
      'NATS with a wrong key',
      { url: 'nats://u:hush-4711@broker', adminUrl: 'nats://s:p@broker', key: 'hush-4711' },
      'ANNEAL_CONFIGURATION_HOST_BROKER_KEY',
    ],
  ])('refuses %s, and shows no password', async (_what, settings, text) => {
    const failure = await open(settings).catch((error: unknown) => error as Error & { code?: string });
    expect(failure).toMatchObject({ code: 'InvalidRequest', message: expect.stringContaining(text) as string });
    expect((failure as Error).message).not.toContain('hush-4711');
  });

  it('rejects every call with Unavailable while the broker is away', async () => {
    const door = await open({
      url: 'amqp://u:p@127.0.0.1:1/hosts',
      adminUrl: 'http://u:hush-4711@127.0.0.1:1',
    });
    const away = { code: 'Unavailable', message: expect.not.stringContaining('hush-4711') as string };
    await expect(door.grant('h', 'p')).rejects.toMatchObject(away);
    await expect(door.revoke('h')).rejects.toMatchObject(away);
    await expect(door.push('h', '{}', 1000)).rejects.toMatchObject(away);
    await door.close();
  });
});
