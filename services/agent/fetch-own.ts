/** Requests with the credentials of the host, which go only to the gateway. */
import { foreignRedirect, isRedirect } from '@anneal/contracts/readers/given-address.ts';

/**
 * Has the form of `fetch`. The gateway redirects no request of a host; a proxy before it may, for a while.
 * @throws Error for a redirect, which names the place; the caller tries again
 */
export async function fetchOwn(url: string, request: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...request, redirect: 'manual' });
  const location = response.headers.get('location');
  if (!isRedirect(response.status, location)) return response;
  await response.body?.cancel();
  throw new Error(foreignRedirect(new URL(url), location));
}
