/** The log that a BMC keeps of the serial console of a machine: `HostLogger` of OpenBMC, or a log service with a like name. */
import { stripVTControlCharacters } from 'node:util';
import type { ConsoleLine, ConsoleLog } from '@anneal/contracts/calls/node-hardware.ts';
import { linkIn } from './conversation/links.ts';
import {
  bodyIfHere,
  bodyIfShown,
  linkedBodies,
  collectionMembers,
  numberValue,
  textValue,
  type DocumentReader,
} from './reading.ts';

type Body = Readonly<Record<string, unknown>>;

const mostText = 4096;
/** Links to lines one by one cost a request each. */
const mostLinks = 100;
const mostPages = 10;

/** The last `limit` lines. Undefined when the BMC keeps no such log. */
export async function readConsoleLog(
  client: DocumentReader,
  system: Body,
  limit: number,
): Promise<ConsoleLog | undefined> {
  const path = await entriesPath(client, system);
  if (path === undefined) return undefined;
  const first = (await client.get(path)).body;
  const total = numberValue(first['Members@odata.count']) ?? collectionMembers(first).length;
  const members = await lastMembers(client, { path, first, total, limit });
  const isWhole = (member: unknown): boolean => textValue((member as Body | null)?.['Message']) !== null;
  const entries = members.every(isWhole)
    ? (members as Body[])
    : await linkedBodies(client, members.slice(-mostLinks), mostLinks);
  return { lines: entries.flatMap(linesIn).slice(-limit), total };
}

/** Names of the services that hold the output of the machine, the most certain first. */
const services = [/^hostlogger$/i, /^(?:host|serial)[ _-]?console$/i, /^sol(?:[ _-]?log)?$/i, /console/i] as const;

async function entriesPath(client: DocumentReader, system: Body): Promise<string | undefined> {
  const logs = linkIn(system, 'LogServices');
  if (logs === undefined) return undefined;
  const found = await linkedBodies(client, collectionMembers((await bodyIfShown(client, logs)) ?? {}));
  const idOf = (service: Body): string => textValue(service['Id']) ?? '';
  for (const name of services) {
    const service = found.find((each) => name.test(idOf(each)));
    const entries = service && linkIn(service, 'Entries');
    if (entries !== undefined) return entries;
  }
  return undefined;
}

/** The end of the collection. Asks for it by number, and walks through the pages of a BMC that refuses that. */
async function lastMembers(
  client: DocumentReader,
  { path, first, total, limit }: { path: string; first: Body; total: number; limit: number },
): Promise<readonly unknown[]> {
  if (collectionMembers(first).length >= total) return collectionMembers(first).slice(-limit);
  const query = `$skip=${Math.max(0, total - limit)}&$top=${limit}`;
  const asked = await bodyIfShown(client, `${path}${path.includes('?') ? '&' : '?'}${query}`);
  if (asked && collectionMembers(asked).length <= limit) return collectionMembers(asked);
  let found = collectionMembers(first);
  let next = nextOf(first);
  for (let page = 1; next !== undefined && page < mostPages; page += 1) {
    const body = await bodyIfHere(client, next);
    found = [...found, ...collectionMembers(body ?? {})].slice(-limit);
    next = body && nextOf(body);
  }
  return found.slice(-limit);
}

/** Some firmware leaves out the version of the annotation. */
function nextOf(body: Body): string | undefined {
  const next = body['Members@odata.nextLink'] ?? body['@odata.nextLink'];
  return textValue(next) ?? undefined;
}

function linesIn(entry: Body): ConsoleLine[] {
  const { Id: id, Created: created, Message: message } = entry;
  if (typeof message !== 'string') return [];
  const at = typeof created === 'string' && !Number.isNaN(Date.parse(created)) ? new Date(created).toISOString() : null;
  return [{ id: textValue(id) ?? '', at, text: plainLine(message) }];
}

/**
 * A line as text. The machine writes what it likes, so nothing may reach the terminal of a reader that moves its cursor or
 * changes its settings. Of a line that was overwritten, such as a progress bar, the last state counts.
 */
export function plainLine(message: string): string {
  const last =
    message
      .slice(0, 4 * mostText)
      .replace(/[\r\n]+$/, '')
      .split('\r')
      .at(-1) ?? '';
  return stripVTControlCharacters(last)
    .replaceAll(/[^\P{Cc}\t]/gu, '')
    .slice(0, mostText);
}
