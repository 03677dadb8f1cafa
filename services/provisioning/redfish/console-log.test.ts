import { describe, expect, it } from 'vitest';
import { plainLine, readConsoleLog } from './console-log.ts';

type Body = Record<string, unknown>;
const link = (path: string): Body => ({ '@odata.id': path });
const entry = (id: number): Body => ({ Id: String(id), Message: `line ${id}` });
const range = (from: number, to: number): Body[] => Array.from({ length: to - from }, (_, at) => entry(from + at));
const system = { LogServices: link('/logs') };

/** Serves documents by path, and records what was asked; any other path is refused as by a controller. */
function serving(documents: Record<string, Body>) {
  const asked: string[] = [];
  const get = async (path: string) => {
    asked.push(path);
    const body = documents[path];
    if (!body) throw Object.assign(new Error(`${path} is missing`), { code: 'BmcRefused' });
    return { status: 200, body } as never;
  };
  return { asked, get };
}
const logs = (id: string): Record<string, Body> => ({
  '/logs': { Members: [link('/logs/sel'), link('/logs/own')] },
  '/logs/sel': { Id: 'SEL', Entries: link('/sel') },
  '/logs/own': { Id: id, Entries: link('/lines') },
});
const read = async (documents: Record<string, Body>, limit = 3) => {
  const bmc = serving(documents);
  const log = await readConsoleLog(bmc, system, limit);
  return { asked: bmc.asked, total: log?.total, texts: log?.lines.map(({ text }) => text) };
};

describe('the console log of a machine', () => {
  it.each(['HostLogger', 'hostlogger', 'SOL', 'SerialConsole', 'Console_Log'])('is in the service %s', async (id) => {
    const lines = { '/lines': { Members: range(0, 2), 'Members@odata.count': 2 } };
    expect(await read({ ...logs(id), ...lines })).toMatchObject({ total: 2, texts: ['line 0', 'line 1'] });
  });

  it('is absent where no service holds it', async () => {
    expect((await read(logs('EventLog'))).texts).toBeUndefined();
    expect(await readConsoleLog(serving({}), {}, 3)).toBeUndefined();
    expect((await read({})).texts).toBeUndefined();
  });

  it('is asked for from its end', async () => {
    const { texts, asked } = await read({
      ...logs('HostLogger'),
      '/lines': { Members: range(0, 2), 'Members@odata.count': 9 },
      '/lines?$skip=6&$top=3': { Members: range(6, 9), 'Members@odata.count': 9 },
    });
    expect(texts).toEqual(['line 6', 'line 7', 'line 8']);
    expect(asked.at(-1)).toBe('/lines?$skip=6&$top=3');
  });

  it('is read page by page from a BMC that serves no parts', async () => {
    const { texts } = await read({
      ...logs('HostLogger'),
      '/lines': { Members: range(0, 4), 'Members@odata.count': 9, 'Members@odata.nextLink': '/lines/2' },
      '/lines/2': { Members: range(4, 8), '@odata.nextLink': '/lines/3' },
      '/lines/3': { Members: range(8, 9) },
    });
    expect(texts).toEqual(['line 6', 'line 7', 'line 8']);
  });

  it('ends with the pages of a BMC that never ends', async () => {
    const endless = { Members: range(0, 4), 'Members@odata.count': 99, 'Members@odata.nextLink': '/lines' };
    const { asked } = await read({ ...logs('HostLogger'), '/lines': endless });
    expect(asked.length).toBeLessThan(20);
  });

  it('follows the links of a BMC that lists no lines', async () => {
    const { texts } = await read({
      ...logs('HostLogger'),
      '/lines': { Members: [link('/lines/0'), link('/lines/1')] },
      '/lines/0': entry(0),
      '/lines/1': { ...entry(1), Created: '2026-01-01T00:00:00Z' },
    });
    expect(texts).toEqual(['line 0', 'line 1']);
  });

  it.each([
    ['plain text\twith a tab', 'plain text\twith a tab'],
    ['\u001b[1;32mgreen\u001b[0m\u0007', 'green'],
    ['10 %\r50 %\r100 %\r\n', '100 %'],
    ['\u001b]0;title\u0007text', 'text'],
    ['\u009b2Jtext', 'text'],
    ['x'.repeat(9000), 'x'.repeat(4096)],
  ])('shows %j as text', (message, text) => {
    expect(plainLine(message)).toBe(text);
  });
});
