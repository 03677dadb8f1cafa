/** Mail to a real SMTP server. */
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { deliveryList } from '@anneal/contracts/calls/deliveries.ts';
import { mailSend } from '@anneal/contracts/calls/mail.ts';
import { queueSubscriptionCreate, queueSubscriptionList } from '@anneal/contracts/calls/queue-subscriptions.ts';
import { subscriptionConfirm, subscriptionShow } from '@anneal/contracts/calls/subscriptions.ts';
import { queueMessagePosted } from '@anneal/contracts/events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { SMTPServer } from 'smtp-server';
import { afterEach, describe, expect, it } from 'vitest';
import { atEnd, cleanUpAll, project, startWorld, subscribe } from '../testing/world.ts';

useQuickClock();
afterEach(cleanUpAll);

interface Mail {
  readonly recipients: readonly string[];
  readonly text: string;
}

/** Takes mail, but not for `gone@…`. */
async function startMailServer(): Promise<{ url: string; mails: Mail[] }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, callback) =>
      username === 'anneal' && password === 'p@ss'
        ? callback(null, { user: username })
        : callback(new Error('wrong password')),
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith('gone@') ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null),
    onData(stream, session, callback) {
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      stream.on('end', () => {
        // Long lines are folded.
        mails.push({
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          text: text.replaceAll('=\r\n', ''),
        });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  atEnd(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { url: `smtp://anneal:p%40ss@127.0.0.1:${(server.server.address() as AddressInfo).port}`, mails };
}

const settingsFor = (url: string): Record<string, string> => ({
  ANNEAL_NOTIFICATION_SMTP_URL: url,
  ANNEAL_NOTIFICATION_MAIL_FROM: 'anneal@ops.example',
  ANNEAL_NOTIFICATION_MAIL_DOMAINS: 'ops.example',
});

describe('mail', () => {
  it('has the events of a burst in one message, with their counts', async () => {
    const { url, mails } = await startMailServer();
    const world = await startWorld(settingsFor(url));
    const { subscription } = await subscribe(world, 'mailto:a@ops.example,b@ops.example', { window_seconds: 2 });
    expect(subscription).toMatchObject({ status: 'active', condense: 'digest', window_seconds: 2 });
    for (let version = 1; version <= 200; version += 1) await world.happen(`host-${version % 10}`, version);
    const counted = await eventually(
      () => {
        const counts = mails.map(({ text }) => Number(/^Subject: \[Anneal\] (\d+) events/m.exec(text)?.[1]));
        return counts.reduce((sum, each) => sum + each, 0) >= 200 ? counts : undefined;
      },
      { last: () => mails },
    );
    // The publishing may last longer than a window.
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(200);
    expect(counted.length).toBeLessThan(10);
    const [mail] = mails;
    expect(mail?.recipients).toEqual(['a@ops.example', 'b@ops.example']);
    expect(mail?.text).toMatch(/host\.up\s+host-1/);
    expect(mail?.text).toMatch(/^Message-ID: <[0-9a-f-]{36}@ops\.example>\r$/im);
    expect(mail?.text).toMatch(/^Auto-Submitted: auto-generated\r$/m);
  });

  it('goes to a stranger after the stranger has opened the address in the first mail', async () => {
    const { url, mails } = await startMailServer();
    const world = await startWorld(settingsFor(url));
    const { subscription } = await subscribe(world, 'mailto:me@elsewhere.example', {
      confirm: false,
      window_seconds: 1,
    });
    expect(subscription.status).toBe('unconfirmed');
    await world.happen('h1', 1);
    const asked = await eventually(() => mails[0]);
    const link = /http\S+\/confirm\?expires=3?D?(\d+)&signature=(?:3D)?(\S+)/.exec(asked.text);
    expect(asked.text).toContain('Confirm that you want to receive events');
    const [, expires, signature = ''] = link ?? [];
    await world.ask(subscriptionConfirm, {
      id: subscription.id,
      expires: Number(expires),
      signature: decodeURIComponent(signature),
    });
    await eventually(() => mails.length === 2);
    expect(mails[1]?.text).toContain('host.up');
  });

  it('has a message of a queue as Zaqar sends it, after a stranger has agreed', async () => {
    const { url, mails } = await startMailServer();
    const world = await startWorld(settingsFor(url));
    const wanted = { project, queue: 'jobs', ttl: 600, options: { subject: 'A job\r\nBcc: x@elsewhere.example' } };
    const make = (subscriber: string) =>
      world.ask(queueSubscriptionCreate, { ...wanted, id: randomUUID(), subscriber });
    await make('mailto:a@ops.example');
    const stranger = await make('mailto:me@elsewhere.example');
    const post = (version: number) => {
      const data = { queue: 'jobs', message_id: `m${version}`, ttl: 300, body: { n: version }, version };
      return world.context.bus.publish([world.context.mint(queueMessagePosted, { data, subject: 'jobs', project })]);
    };
    await post(1);
    const sent = await eventually(() => mails.find(({ text }) => text.includes('Notification')), { last: () => mails });
    expect(sent.recipients).toEqual(['a@ops.example']);
    expect(sent.text).toMatch(/^Subject: A job Bcc: x@elsewhere\.example\r$/m);
    expect(sent.text).toContain('"queue_name":"jobs"');
    expect(sent.text).toContain('"n":1');
    const asked = mails.find(({ recipients }) => recipients[0] === 'me@elsewhere.example');
    const [, expires, signature = ''] = /expires=3?D?(\d+)&signature=(?:3D)?(\S+)/.exec(asked?.text ?? '') ?? [];
    await world.ask(subscriptionConfirm, {
      id: stranger.subscription_id,
      expires: Number(expires),
      signature: decodeURIComponent(signature),
    });
    const { subscriptions } = await world.ask(queueSubscriptionList, { project, queue: 'jobs' });
    // In the order of their ids, which are random here.
    expect(Object.fromEntries(subscriptions.map(({ subscriber, confirmed }) => [subscriber, confirmed]))).toEqual({
      'mailto:a@ops.example': false,
      'mailto:me@elsewhere.example': true,
    });
    await eventually(() => mails.filter(({ text }) => text.includes('Notification')).length === 2);
  });

  it('waits while the server refuses the login, and gives up what it refuses for good', async () => {
    const { url, mails } = await startMailServer();
    const world = await startWorld({
      ...settingsFor(url.replace('p%40ss', 'wrong')),
      ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.2,0.2',
    });
    const away = await subscribe(world, 'mailto:a@ops.example', { window_seconds: 1 });
    await world.happen('h1', 1);
    await eventually(async () => {
      const shown = await world.ask(subscriptionShow, { project, id: away.subscription.id });
      return shown.next_attempt_at !== null && (shown.last_error ?? '').includes('Invalid login');
    });
    expect(mails).toEqual([]);
    const other = await startWorld({ ...settingsFor(url), ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.2' });
    const gone = await subscribe(other, 'mailto:gone@ops.example', { window_seconds: 1 });
    await other.happen('h1', 1);
    await eventually(async () => {
      const { deliveries } = await other.ask(deliveryList, { project, subscription: gone.subscription.id });
      return deliveries.some(
        ({ status, attempts }) => status === 'dead' && attempts.at(-1)?.error?.includes('no such user'),
      );
    });
  });

  it('is sent once for a request, to addresses in the domains of the operator only', async () => {
    const { url, mails } = await startMailServer();
    const world = await startWorld(settingsFor(url));
    const mail = {
      project,
      id: 'run-1.1.1.0',
      to: ['a@ops.example'],
      cc: ['b@ops.example'],
      bcc: ['c@ops.example'],
      reply_to: ['me@elsewhere.example'],
      subject: 'done\r\nBcc: x@elsewhere.example',
      text: 'The work is done.',
      html: '<b>done</b>',
    };
    expect(await world.ask(mailSend, mail)).toEqual({ rejected: [] });
    const [sent] = mails;
    expect(sent?.recipients).toEqual(['a@ops.example', 'b@ops.example', 'c@ops.example']);
    expect(sent?.text).toMatch(/^Message-ID: <run-1\.1\.1\.0@ops\.example>\r$/m);
    expect(sent?.text).toMatch(/^Reply-To: me@elsewhere\.example\r$/m);
    expect(sent?.text).not.toMatch(/^Bcc:/m);
    expect(sent?.text).toContain('<b>done</b>');
    await expect(world.ask(mailSend, { ...mail, cc: ['x@elsewhere.example'] })).rejects.toMatchObject({
      code: 'Forbidden',
      message: expect.stringMatching(
        /x@elsewhere\.example.*: ops\.example \(ANNEAL_NOTIFICATION_MAIL_DOMAINS/,
      ) as unknown,
    });
    await expect(world.ask(mailSend, { ...mail, to: ['somewhere'] })).rejects.toThrow('no mail address: somewhere');
    const gone = { ...mail, to: ['gone@ops.example'] };
    expect(await world.ask(mailSend, gone)).toEqual({ rejected: ['gone@ops.example'] });
    await expect(world.ask(mailSend, { ...gone, cc: [], bcc: [] })).rejects.toThrow('no such user');
    expect(mails).toHaveLength(2);
  });

  it('is refused without a server of the operator, and with an address that is none', async () => {
    const world = await startWorld();
    await expect(subscribe(world, 'mailto:a@ops.example')).rejects.toThrow(/ANNEAL_NOTIFICATION_SMTP_URL/);
    await expect(subscribe(world, 'mailto:someone-without-domain')).rejects.toThrow(/is not a mail address/);
  });
});
