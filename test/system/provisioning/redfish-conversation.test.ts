/** The conversation with a controller of which the test writes each answer, and with a second computer that must get nothing. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BmcError } from '@anneal/provisioning/bmc/bmc-error.ts';
import { Conversation } from '@anneal/provisioning/redfish/conversation/conversation.ts';
import type { BmcChange } from '@anneal/provisioning/redfish/conversation/form.ts';
import { RedfishHttp } from '@anneal/provisioning/redfish/conversation/http.ts';
import type { Access } from '@anneal/provisioning/redfish/conversation/transport.ts';
import { createRedfishDriver } from '@anneal/provisioning/redfish/driver.ts';
import { RedfishMachine } from '@anneal/provisioning/redfish/machine.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { whenSettled } from './when-settled.ts';

useQuickClock({ stepMs: 200 });

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Its body, when it has come. */
  text: string;
}
interface Written {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}
/** The answers to `METHOD path`, in their order. The last one stays. */
type Script = Record<string, Written | readonly Written[] | undefined>;

const action = '/redfish/v1/Systems/1/Actions/Do';
const monitor = '/redfish/v1/TaskService/TaskMonitors/1';
const task = '/redfish/v1/TaskService/Tasks/1';
const sessions = '/redfish/v1/SessionService/Sessions';
const link = (path: string) => ({ '@odata.id': path });
const ended = (TaskState: string, ...texts: string[]) => ({
  body: {
    ...link(task),
    '@odata.type': '#Task.v1_7_0.Task',
    TaskState,
    Messages: texts.map((Message) => ({ Message })),
  },
});

class WrittenBmc {
  readonly seen: Seen[] = [];
  script: Script = {};
  readonly server: Server;
  #opened = 0;

  constructor() {
    this.server = createServer((request, response) => {
      const path = (request.url ?? '').replace(/(?<=.)\/$/, '');
      const key = `${request.method} ${path}`;
      const seen: Seen = { method: request.method ?? '', path, headers: request.headers, text: '' };
      this.seen.push(seen);
      request.on('data', (chunk: Buffer) => (seen.text += chunk.toString()));
      const before = this.seen.filter((each) => `${each.method} ${each.path}` === key).length - 1;
      const written = this.script[key] ?? this.#usual(key);
      const answers = Array.isArray(written) ? (written as Written[]) : [written as Written];
      const { status = 200, body, headers = {} } = answers[Math.min(before, answers.length - 1)] ?? {};
      request.on('end', () => {
        response.writeHead(status, headers).end(body === undefined ? undefined : JSON.stringify(body));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  sent(key: string): Seen[] {
    return this.seen.filter(({ method, path }) => `${method} ${path}` === key);
  }

  #usual(key: string): Written {
    if (key === 'GET /redfish/v1')
      return { body: { Links: { Sessions: link(sessions) }, Systems: link('/redfish/v1/Systems') } };
    if (key !== `POST ${sessions}`) return { status: 404 };
    this.#opened += 1;
    const headers = { 'x-auth-token': `token-${this.#opened}`, location: `${sessions}/${this.#opened}` };
    return { status: 201, body: {}, headers };
  }
}

let bmc: WrittenBmc;
let elsewhere: WrittenBmc;
let http: RedfishHttp;
beforeEach(async () => {
  [bmc, elsewhere] = [new WrittenBmc(), new WrittenBmc()];
  for (const { server } of [bmc, elsewhere])
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  http = new RedfishHttp();
});
afterEach(async () => {
  await http.close();
  for (const { server } of [bmc, elsewhere]) {
    server.closeAllConnections();
    server.close();
  }
});

const access = (): Access => ({ node: 'n1', address: bmc.url, username: 'admin', password: 'pw', trust: true });
const within = (signal = new AbortController().signal): Conversation =>
  new Conversation(http, { access: access(), signal });
const toDo = (method: BmcChange['method'] = 'POST'): BmcChange => ({ method, path: action, body: { a: 1 } });

describe('a change that the controller accepts', () => {
  const at = (location: string) => ({ status: 202, headers: { location } });
  const accepted = { status: 202, headers: { location: monitor, 'retry-after': '1' } };
  const isRunning = { status: 202, body: { TaskState: 'Running' } };

  it.each<[string, Script]>([
    ['is answered 200', { [`POST ${action}`]: { body: { done: true } } }],
    ['is answered 201', { [`POST ${action}`]: { status: 201, headers: { location: '/made' } } }],
    ['is answered 204', { [`POST ${action}`]: { status: 204 } }],
    ['is answered 202 without a task', { [`POST ${action}`]: { status: 202 } }],
    ['is answered 202 with a Task that has ended', { [`POST ${action}`]: { status: 202, ...ended('Completed') } }],
    [
      'has a Task in its body only',
      { [`POST ${action}`]: { status: 202, ...ended('New') }, [`GET ${task}`]: ended('Completed') },
    ],
    ['has a Task in the body of 200', { [`POST ${action}`]: ended('Running'), [`GET ${task}`]: ended('Completed') }],
    [
      'has a monitor that ends with 204',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: [isRunning, { status: 204 }] },
    ],
    [
      'has a monitor that ends with 200',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: [isRunning, { body: { made: 1 } }] },
    ],
    ['has a monitor that is empty', { [`POST ${action}`]: accepted, [`GET ${monitor}`]: [isRunning, {}] }],
    [
      'has a monitor that shows the Task',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: [ended('Starting'), ended('Completed')] },
    ],
    [
      'has a Task with a word of its vendor',
      { [`POST ${action}`]: at(task), [`GET ${task}`]: [ended('Downloading'), ended('Completed')] },
    ],
    [
      'has a monitor that is gone: 404',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: [isRunning, { status: 404 }] },
    ],
    [
      'has a monitor that is gone: 410',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: [isRunning, { status: 410 }] },
    ],
    [
      'has a monitor that ends with 303 to the Task',
      {
        [`POST ${action}`]: accepted,
        [`GET ${monitor}`]: [isRunning, { status: 303, headers: { location: task } }],
        [`GET ${task}`]: ended('Completed'),
      },
    ],
    [
      'has a monitor that ends with 303 to nowhere',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: { status: 303 } },
    ],
    [
      'has a monitor that ends with 303 to what is gone',
      { [`POST ${action}`]: accepted, [`GET ${monitor}`]: { status: 303, headers: { location: '/gone' } } },
    ],
    [
      'has a location without its first slash',
      { [`POST ${action}`]: at(task.slice(1)), [`GET ${task}`]: ended('Completed') },
    ],
    [
      'has a relative location',
      { [`POST ${action}`]: at('Do/7'), [`GET ${action.replace('Do', 'Do/7')}`]: { status: 204 } },
    ],
    [
      'has a busy monitor',
      {
        [`POST ${action}`]: accepted,
        [`GET ${monitor}`]: [...Array.from({ length: 9 }, () => ({ status: 503 })), { status: 204 }],
      },
    ],
    [
      'is answered 303',
      { [`POST ${action}`]: { status: 303, headers: { location: '/made' } }, 'GET /made': { body: {} } },
    ],
    ['is answered 303 to what is gone', { [`POST ${action}`]: { status: 303, headers: { location: '/gone' } } }],
    [
      'is answered 503 first',
      { [`POST ${action}`]: [{ status: 503, headers: { 'retry-after': '9' } }, { status: 204 }] },
    ],
  ])('is complete when it %s', async (what, script) => {
    bmc.script = script;
    await whenSettled(within().carryOut(toDo()));
    expect(bmc.sent(`POST ${action}`)).toHaveLength(what.includes('503 first') ? 2 : 1);
  });

  it.each<[string, Script, RegExp]>([
    [
      'the Task',
      {
        [`POST ${action}`]: at(task),
        [`GET ${task}`]: [ended('Running'), ended('Exception', 'It has begun.', 'The file is gone.')],
      },
      /task \/redfish\/v1\/TaskService\/Tasks\/1 of POST \S+Do ended as Exception: It has begun\. The file is gone\./,
    ],
    [
      'the Task of a monitor that is gone',
      {
        [`POST ${action}`]: { status: 202, headers: { location: monitor }, body: link(task) },
        [`GET ${task}`]: ended('Killed', 'Too long.'),
      },
      /ended as Killed: Too long\./,
    ],
    [
      'the final answer of the monitor',
      {
        [`POST ${action}`]: at(monitor),
        [`GET ${monitor}`]: { status: 400, body: { error: { message: 'No such file.' } } },
      },
      /ended with the answer 400: No such file\./,
    ],
    [
      'the first answer',
      { [`POST ${action}`]: { status: 202, ...ended('Cancelled', 'Not now.') } },
      /ended as Cancelled: Not now\./,
    ],
  ])('has failed with the words of %s', async (_what, script, message) => {
    bmc.script = script;
    await expect(whenSettled(within().carryOut(toDo()))).rejects.toThrow(message);
    expect(bmc.sent(`POST ${action}`)).toHaveLength(1);
  });

  it.each(['PATCH', 'DELETE'] as const)('is followed also when it is a %s', async (method) => {
    bmc.script = { [`${method} ${action}`]: accepted, [`GET ${monitor}`]: [isRunning, { status: 204 }] };
    await whenSettled(within().carryOut(toDo(method)));
    expect(bmc.sent(`GET ${monitor}`)).toHaveLength(2);
  });

  it('is complete when it deletes what is gone already', async () => {
    bmc.script = { [`DELETE ${action}`]: { status: 404 }, [`POST ${action}`]: { status: 404 } };
    await whenSettled(within().carryOut(toDo('DELETE')));
    await expect(whenSettled(within().carryOut(toDo()))).rejects.toThrow('answered 404');
  });

  it('V1: is not sent again by the next turn while its task runs, and is afterwards', async () => {
    bmc.script = { [`POST ${action}`]: accepted, [`GET ${monitor}`]: isRunning };
    const turn = new AbortController();
    const first = within(turn.signal).carryOut(toDo());
    first.catch(() => undefined);
    await eventually(async () => bmc.sent(`GET ${monitor}`).length > 1 || undefined, { what: 'a look at the task' });
    turn.abort(new BmcError('BmcUnreachable', 'the turn is over', { repeat: 'never', details: {} }));
    await expect(whenSettled(first)).rejects.toThrow(`task ${monitor} of POST ${action} has not ended in time`);
    bmc.script[`GET ${monitor}`] = { status: 204 };
    await whenSettled(within().carryOut(toDo()));
    expect(bmc.sent(`POST ${action}`)).toHaveLength(1);
    await whenSettled(within().carryOut(toDo()));
    expect(bmc.sent(`POST ${action}`)).toHaveLength(2);
  });
});

describe('a change that the controller demands in another form', () => {
  const change: BmcChange = { ...toDo(), form: { known: { MediaType: ['CD'], Inserted: [true] } } };
  const demands = (...names: string[]): Written => ({
    status: 400,
    body: {
      error: {
        '@Message.ExtendedInfo': names.map((name) => ({
          MessageId: 'Base.1.18.ActionParameterMissing',
          MessageArgs: ['Do', name],
          Message: `The action Do requires the parameter ${name}.`,
        })),
      },
    },
  });

  it('F2: is sent with what the refusal names, one after the other, and never twice in the same form', async () => {
    bmc.script = { [`POST ${action}`]: [demands('MediaType'), demands('Inserted'), { status: 204 }] };
    await whenSettled(within().carryOut(change));
    expect(bmc.sent(`POST ${action}`).map(({ text }) => text)).toEqual([
      '{"a":1}',
      '{"a":1,"MediaType":"CD"}',
      '{"a":1,"MediaType":"CD","Inserted":true}',
    ]);
  });

  it('F3: fails for good when it cannot be supplied, and names the demand and the answer', async () => {
    bmc.script = { [`POST ${action}`]: demands('UserName') };
    await expect(whenSettled(within().carryOut(change))).rejects.toMatchObject({
      code: 'ResourceFailed',
      message: expect.stringMatching(
        /node n1 .* demands UserName for POST .*requires the parameter UserName/,
      ) as string,
    });
    expect(bmc.sent(`POST ${action}`)).toHaveLength(1);
  });
});

describe('a boot override', () => {
  const at = '/redfish/v1/Systems/1';
  const url = `http://gateway/boot/v1/${'s'.repeat(43)}`;
  const shows = (Boot: object, more: object = {}): Written => ({
    body: {
      ...link(at),
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      Id: '1',
      PowerState: 'Off',
      Boot,
      ...more,
    },
  });
  const allowable = 'BootSourceOverrideTarget@Redfish.AllowableValues';
  const httpBoot = {
    BootSourceOverrideTarget: 'UefiHttp',
    BootSourceOverrideEnabled: 'Once',
    [allowable]: ['UefiHttp'],
  };
  const machine = (): RedfishMachine =>
    new RedfishMachine(http, { access: access(), systemId: at, signal: new AbortController().signal });
  const changes = (): unknown[] => bmc.sent(`PATCH ${at}`).map(({ text }) => JSON.parse(text));

  it('has the mode when firmware of any vendor demands it', async () => {
    const missing = {
      status: 400,
      body: { error: { message: 'The property BootSourceOverrideMode is a required property.' } },
    };
    const disk = { BootSourceOverrideTarget: 'Hdd', BootSourceOverrideEnabled: 'Continuous' };
    bmc.script = {
      [`GET ${at}`]: shows({ ...disk, BootSourceOverrideMode: 'UEFI' }),
      [`PATCH ${at}`]: [missing, { status: 204 }],
    };
    await whenSettled(machine().setBootDevice({ device: 'disk', persistent: true }));
    expect(changes()).toEqual([{ Boot: disk }, { Boot: { ...disk, BootSourceOverrideMode: 'UEFI' } }]);
  });

  it('is believed when it shows late, or shows the address in other words', async () => {
    const shown = { ...httpBoot, HttpBootUri: encodeURIComponent(`${url}/boot.efi`) };
    const before = { ...httpBoot, BootSourceOverrideTarget: 'None', HttpBootUri: null };
    bmc.script = {
      [`GET ${at}`]: [...Array.from({ length: 5 }, () => shows(before)), shows(shown)],
      [`PATCH ${at}`]: { status: 204 },
    };
    expect(await whenSettled(machine().bootFrom(url))).toBe('http');
    expect(changes()).toHaveLength(1);
  });

  it('is refused when it never shows', async () => {
    bmc.script = {
      [`GET ${at}`]: shows({ ...httpBoot, HttpBootUri: 'http://older' }),
      [`PATCH ${at}`]: { status: 204 },
    };
    await expect(whenSettled(machine().setBootDevice({ device: 'uefihttp', persistent: true }))).rejects.toThrow(
      /keeps it for one boot/,
    );
    await expect(whenSettled(machine().bootFrom(url))).rejects.toThrow(/neither HTTP boot nor a virtual drive/);
  });
});

describe('a session', () => {
  it.each([401, 403])(
    'R2: that ends with %i is replaced by one new session, and the request is repeated',
    async (status) => {
      bmc.script = { [`POST ${action}`]: [{ status }, { status: 204 }] };
      await whenSettled(within().carryOut(toDo()));
      expect(bmc.sent(`POST ${action}`).map(({ headers }) => headers['x-auth-token'])).toEqual(['token-1', 'token-2']);
      expect(bmc.sent(`DELETE ${sessions}/1`)).toHaveLength(1);
    },
  );

  it.each([401, 403])(
    'R2: that is not the reason for %i is replaced once, and the second answer counts',
    async (status) => {
      bmc.script = { [`POST ${action}`]: { status, body: { error: { message: 'You may not.' } } } };
      await expect(whenSettled(within().carryOut(toDo()))).rejects.toMatchObject({
        code: 'BmcMisconfigured',
        message: expect.stringContaining('You may not.') as string,
      });
      expect(bmc.sent(`POST ${action}`)).toHaveLength(2);
      expect(bmc.sent(`POST ${sessions}`)).toHaveLength(2);
    },
  );

  it('is opened again by a controller that was busy for a moment and takes no Basic', async () => {
    const headers = { 'x-auth-token': 'token' };
    bmc.script = {
      [`POST ${sessions}`]: [
        { status: 503, headers: { 'retry-after': '3' } },
        { status: 503 },
        { status: 201, body: {}, headers },
      ],
      [`POST ${action}`]: [{ status: 401 }, { status: 204 }],
    };
    await whenSettled(within().carryOut(toDo()));
    const shown = bmc
      .sent(`POST ${action}`)
      .map((each) => [each.headers.authorization?.slice(0, 5), each.headers['x-auth-token']]);
    expect(shown).toEqual([
      ['Basic', undefined],
      [undefined, 'token'],
    ]);
  });

  it('R2: that several callers find ended is replaced once for all of them', async () => {
    bmc.script = {
      'GET /one': [{ status: 403 }, {}],
      'GET /two': [{ status: 403 }, {}],
      'GET /three': [{ status: 403 }, {}],
    };
    await whenSettled(Promise.all(['/one', '/two', '/three'].map((path) => within().get(path))));
    expect(bmc.sent(`POST ${sessions}`)).toHaveLength(2);
  });
});

describe('a machine whose power has a word that the standard lacks', () => {
  const at = '/redfish/v1/Systems/1';
  const shows = (PowerState: unknown): Written => ({
    body: {
      ...link(at),
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      Id: '1',
      PowerState,
      BootProgress: { LastState: 'VendorMagic' },
      Actions: { '#ComputerSystem.Reset': { target: '/reset' } },
    },
  });
  const machine = (signal = new AbortController().signal): RedfishMachine =>
    new RedfishMachine(http, { access: access(), systemId: at, signal });

  it.each(['Starting', 'Reset', 'Paused', 'Unknown', '', null, undefined])(
    'is verified when the word has changed from %j to one that is known',
    async (word) => {
      bmc.script = { [`GET ${at}`]: [shows(word), shows(word), shows('Off')] };
      expect(await whenSettled(machine().verify())).toMatchObject({ power: 'power off' });
    },
  );

  it('is awaited beyond the usual time, and is known by the turn as what it shows', async () => {
    const words = [...Array.from({ length: 30 }, () => shows('Reset')), shows('Off'), shows('On')];
    bmc.script = { [`GET ${at}`]: words };
    expect(await whenSettled(machine().awaitPower('power on', 5_000))).toBe(true);
    bmc.script = { [`GET ${at}`]: shows('Reset') };
    expect(await whenSettled(machine().bootProgress())).toMatchObject({ power: null, seen: 'VendorMagic' });
    expect(await whenSettled(machine().awaitPower('power on', 5_000))).toBe(false);
  });
});

describe('credentials go only to their own controller', () => {
  const named = (): RegExp => new RegExp(`${elsewhere.url}.*not the origin ${bmc.url}`);
  const system = {
    ...link('/redfish/v1/Systems/1'),
    '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
    Id: '1',
    PowerState: 'Off',
  };
  const machine = (): RedfishMachine =>
    new RedfishMachine(http, { access: access(), systemId: null, signal: new AbortController().signal });
  const reset = (target: string, more: object = {}) => ({ Actions: { '#ComputerSystem.Reset': { target, ...more } } });
  const media = '/redfish/v1/Systems/1/VirtualMedia';
  const drive = { ...link(`${media}/Cd`), MediaTypes: ['CD'], Inserted: false, Image: null };
  const withDrive = (change: object): Script => ({
    'GET /redfish/v1/Systems/1': { body: { ...system, VirtualMedia: link(media) } },
    [`GET ${media}`]: { body: { Members: [link(`${media}/Cd`)] } },
    [`GET ${media}/Cd`]: { body: { ...drive, ...change } },
  });
  const boot = (one: RedfishMachine): Promise<unknown> => one.bootFrom('http://gateway/boot/v1/secret');
  const power = (one: RedfishMachine): Promise<unknown> => one.power();
  const powerOn = (one: RedfishMachine): Promise<unknown> => one.reset('power on');

  beforeEach(() => {
    bmc.script = {
      'GET /redfish/v1/Systems': { body: { Members: [link('/redfish/v1/Systems/1')] } },
      'GET /redfish/v1/Systems/1': { body: system },
    };
  });

  it.each<[string, (away: string) => Script, (one: RedfishMachine) => Promise<unknown>]>([
    [
      'its sessions',
      (away) => ({ 'GET /redfish/v1': { body: { Links: { Sessions: link(`${away}${sessions}`) } } } }),
      power,
    ],
    ['its session service', (away) => ({ 'GET /redfish/v1': { body: { SessionService: link(`${away}/s`) } } }), power],
    [
      'its list of systems',
      (away) => ({ 'GET /redfish/v1': { body: { Systems: link(`${away}/redfish/v1/Systems`) } } }),
      power,
    ],
    [
      'its system',
      (away) => ({ 'GET /redfish/v1/Systems': { body: { Members: [link(`${away}/redfish/v1/Systems/1`)] } } }),
      power,
    ],
    [
      'its system, without a scheme',
      (away) => ({ 'GET /redfish/v1/Systems': { body: { Members: [link(away.replace('http:', ''))] } } }),
      power,
    ],
    [
      'a redirect',
      (away) => ({ 'GET /redfish/v1/Systems/1': { status: 307, headers: { location: `${away}/x` } } }),
      power,
    ],
    [
      'an answer 303',
      (away) => ({ 'GET /redfish/v1/Systems/1': { status: 303, headers: { location: `${away}/x` } } }),
      power,
    ],
    [
      'an action',
      (away) => ({ 'GET /redfish/v1/Systems/1': { body: { ...system, ...reset(`${away}/reset`) } } }),
      powerOn,
    ],
    [
      'the description of an action',
      (away) => ({
        'GET /redfish/v1/Systems/1': {
          body: { ...system, ...reset('/reset', { '@Redfish.ActionInfo': `${away}/info` }) },
        },
      }),
      powerOn,
    ],
    [
      'its drives',
      (away) => ({ 'GET /redfish/v1/Systems/1': { body: { ...system, VirtualMedia: link(`${away}${media}`) } } }),
      boot,
    ],
    [
      'its manager',
      (away) => ({
        'GET /redfish/v1/Systems/1': { body: { ...system, Links: { ManagedBy: [link(`${away}/manager`)] } } },
      }),
      boot,
    ],
    [
      'a drive',
      (away) => ({ ...withDrive({}), [`GET ${media}`]: { body: { Members: [link(`${away}${media}/Cd`)] } } }),
      boot,
    ],
    [
      'the action of a drive',
      (away) => withDrive({ Actions: { '#VirtualMedia.InsertMedia': { target: `${away}/insert` } } }),
      boot,
    ],
    [
      'the task of an action',
      (away) => ({
        ...withDrive({ Actions: { '#VirtualMedia.InsertMedia': { target: '/insert' } } }),
        'POST /insert': { status: 202, headers: { location: `${away}/task` } },
      }),
      boot,
    ],
    [
      'a part of the inventory',
      (away) => ({ 'GET /redfish/v1/Systems/1': { body: { ...system, Storage: link(`${away}/storage`) } } }),
      (one) => one.inventory(),
    ],
    [
      'its BIOS',
      (away) => ({ 'GET /redfish/v1/Systems/1': { body: { ...system, Bios: link(`${away}/bios`) } } }),
      (one) => one.settings(),
    ],
    [
      'its sensors',
      (away) => ({
        'GET /redfish/v1/Systems/1': { body: { ...system, Links: { Chassis: [link(`${away}/chassis`)] } } },
      }),
      (one) => one.sensors(),
    ],
    [
      'its logs',
      (away) => ({ 'GET /redfish/v1/Systems/1': { body: { ...system, LogServices: link(`${away}/logs`) } } }),
      (one) => one.consoleLog(10),
    ],
  ])('L1: not to the address of %s at another computer, which the error names', async (_what, script, call) => {
    Object.assign(bmc.script, script(elsewhere.url));
    await expect(whenSettled(call(machine()))).rejects.toMatchObject({
      code: 'BmcMisconfigured',
      message: expect.stringMatching(named()) as string,
    });
    expect(elsewhere.seen).toEqual([]);
  });

  it('L1: not with the end of a session, whose place at another computer is not used', async () => {
    const headers = { 'x-auth-token': 'token', location: `${elsewhere.url}${sessions}/1` };
    bmc.script[`POST ${sessions}`] = { status: 201, headers, body: link(`${sessions}/1`) };
    expect(await whenSettled(machine().power())).toBe('power off');
    await http.close();
    expect(elsewhere.seen).toEqual([]);
    expect(bmc.sent(`DELETE ${sessions}/1`)).toHaveLength(1);
  });

  it('L1: not to a stream of events, or to a subscription, at another computer', async () => {
    const service = {
      ServerSentEventUri: `${elsewhere.url}/events`,
      Subscriptions: link(`${elsewhere.url}/subscriptions`),
    };
    bmc.script['GET /redfish/v1'] = {
      body: { EventService: link('/redfish/v1/EventService'), Links: { Sessions: link(sessions) } },
    };
    bmc.script['GET /redfish/v1/EventService'] = { body: service };
    const driver = createRedfishDriver({ trust: true, placeholders: new Set() });
    const node = { name: 'n1', address: bmc.url, username: 'admin', verify_ca: null } as never;
    const options = {
      destination: 'http://gateway',
      signal: new AbortController().signal,
      onOpen: () => {},
      onData: () => {},
    };
    await expect(whenSettled(driver.followEvents({ node, password: 'pw' }, options))).rejects.toThrow(named());
    await driver.close();
    expect(elsewhere.seen).toEqual([]);
  });

  it('L1: not to the next page of a log at another computer, whose lines are left out', async () => {
    const [logs, entries] = ['/redfish/v1/Systems/1/LogServices', '/redfish/v1/lines'];
    Object.assign(bmc.script, {
      'GET /redfish/v1/Systems/1': { body: { ...system, LogServices: link(logs) } },
      [`GET ${logs}`]: { body: { Members: [link(`${logs}/HostLogger`)] } },
      [`GET ${logs}/HostLogger`]: { body: { Id: 'HostLogger', Entries: link(entries) } },
      [`GET ${entries}`]: {
        body: {
          Members: [{ Id: '1', Message: 'here' }],
          'Members@odata.count': 2,
          'Members@odata.nextLink': `${elsewhere.url}/lines`,
        },
      },
    });
    expect((await whenSettled(machine().consoleLog(10))).lines).toMatchObject([{ text: 'here' }]);
    expect(elsewhere.seen).toEqual([]);
  });

  it('L1: to its absolute addresses as to its paths', async () => {
    bmc.script['GET /redfish/v1'] = {
      body: { Links: { Sessions: link(`${bmc.url}${sessions}`) }, Systems: link(`${bmc.url}/redfish/v1/Systems`) },
    };
    bmc.script['GET /redfish/v1/Systems'] = { body: { Members: [link(`${bmc.url}/redfish/v1/Systems/1`)] } };
    bmc.script['GET /redfish/v1/Systems/1'] = { body: { ...system, ...reset(`${bmc.url}/reset`) } };
    bmc.script['POST /reset'] = { status: 202, headers: { location: `${bmc.url}${monitor}` } };
    const one = machine();
    expect(await whenSettled(one.reset('power on'))).toEqual({ type: 'On', task: monitor });
    expect(one.path).toBe('/redfish/v1/Systems/1');
  });
});
