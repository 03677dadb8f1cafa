/** Requests over `fetch` with credentials. It follows redirects within one server only. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { foreignRedirect, isRedirect, ownAddress } from '@anneal/contracts/readers/given-address.ts';

const mostRedirects = 5;

/**
 * The next request of a redirect within the server; undefined when the answer is the last one.
 * @throws AnnealError Unavailable for a redirect to another origin, which would get the token
 */
export function redirectOf(
  answer: { status: number; location: string | null | undefined },
  { url, method = 'GET', redirects }: { url: URL; method?: string | undefined; redirects: number },
): URL | undefined {
  const { status, location } = answer;
  if (!isRedirect(status, location)) return undefined;
  const next = ownAddress(url, location);
  if (!next) throw new AnnealError('Unavailable', foreignRedirect(url, location));
  // A POST or PUT would become a GET: the caller reads the redirect.
  return method === 'GET' && redirects < mostRedirects ? next : undefined;
}

/** Has the form of `fetch`. In a browser it is `fetch`, which hides redirects from programs and guards other origins itself. */
export async function ownFetch(given: URL | string, asked: RequestInit = {}): Promise<Response> {
  if ('document' in globalThis) return fetch(given, asked);
  let url = new URL(given);
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(url, { ...asked, redirect: 'manual' });
    const answer = { status: response.status, location: response.headers.get('location') };
    const next = redirectOf(answer, { url, method: asked.method, redirects });
    if (!next) return response;
    await response.body?.cancel();
    url = next;
  }
}
