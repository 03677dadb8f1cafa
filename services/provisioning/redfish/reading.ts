/** Reads documents of which a controller may lack some, and values that it may write in any form. */
import { isObject } from '@anneal/contracts/json.ts';
import type { Answer } from './conversation/http.ts';
import { ForeignAddress, linkIn } from './conversation/links.ts';
import { RedfishRefusal } from './conversation/refusal.ts';

type Body = Readonly<Record<string, unknown>>;
export interface DocumentReader {
  get(path: string, what?: string): Promise<Answer>;
}

export const textValue = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
export const numberValue = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
/** A part of a document. Empty where it is no object. */
export const within = (body: Body, name: string): Body => (isObject(body[name]) ? body[name] : {});
export const collectionMembers = ({ Members: members }: Body): readonly unknown[] =>
  Array.isArray(members) ? members : [];

const mostMembers = 32;
/** A user who reads the system may lack the privilege for one of its parts. */
const isBmcRefusal = (error: unknown): boolean =>
  (error instanceof RedfishRefusal && error.answer.status === 403) ||
  (error instanceof Error && 'code' in error && error.code === 'BmcRefused');

/** A resource, or undefined when the controller refuses it. */
export async function bodyIfShown(client: DocumentReader, path: string): Promise<Body | undefined> {
  try {
    return (await client.get(path)).body;
  } catch (error) {
    if (isBmcRefusal(error)) return undefined;
    throw error;
  }
}

/** A document that may be at another computer, where it is not read. */
export async function bodyIfHere(client: DocumentReader, path: string): Promise<Body | undefined> {
  try {
    return await bodyIfShown(client, path);
  } catch (error) {
    if (error instanceof ForeignAddress) return undefined;
    throw error;
  }
}

/** The resources behind links, without those that the controller refuses. */
export async function linkedBodies(
  client: DocumentReader,
  links: readonly unknown[],
  most: number = mostMembers,
): Promise<Body[]> {
  const found: Body[] = [];
  for (const link of links.slice(0, most)) {
    const address = linkIn(link);
    const body = address === undefined ? undefined : await bodyIfShown(client, address);
    if (body) found.push(body);
  }
  return found;
}
