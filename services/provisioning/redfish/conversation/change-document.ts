/**
 * Changes a document of a controller over the version that was read.
 *
 * T1 A controller that refuses the tag of a version which it still shows compares tags wrongly: weak with strong, or those of two
 *    forms of the document. Then the change is sent with the strong form of the tag, and at last without one.
 * T2 A controller that requires a tag and has shown none gets `*`, which fits every version.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { RedfishAnswer } from './transport.ts';

interface DocumentClient {
  get(path: string): Promise<RedfishAnswer>;
  patch(path: string, body: unknown, etag?: string): Promise<RedfishAnswer>;
}

/**
 * @param etag that of the version which was read; absent when the controller showed none
 * @throws AnnealError BmcRefused, with status 412 when the document has changed since
 */
export async function changeDocument(
  client: DocumentClient,
  { path, body, etag }: { path: string; body: unknown; etag?: string | undefined },
): Promise<RedfishAnswer> {
  const send = async (tag: string | undefined): Promise<RedfishAnswer | AnnealError> => {
    try {
      return await client.patch(path, body, tag);
    } catch (error) {
      const needsTag = tag === undefined && isRefusal(error, 428);
      if (needsTag) return client.patch(path, body, '*');
      if (tag === undefined || !isRefusal(error, 412)) throw error;
      return error;
    }
  };
  const first = await send(etag);
  if (!(first instanceof AnnealError)) return first;
  for (const tag of [strongForm(etag), undefined]) {
    if (tag === etag) continue;
    if ((await client.get(path)).etag !== etag) throw first;
    const next = await send(tag);
    if (!(next instanceof AnnealError)) return next;
  }
  throw first;
}

const strongForm = (etag: string | undefined): string | undefined => etag?.replace(/^W\//, '');

const isRefusal = (error: unknown, status: number): error is AnnealError =>
  error instanceof AnnealError && error.details?.['status'] === status;
