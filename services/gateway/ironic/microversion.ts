/**
 * Microversions of Ironic's API. Pure.
 *
 * M1 A version outside the range is refused with 406 and the range, from which clients choose another.
 * M2 An address that is younger than the version of the request does not exist for it, as in Ironic.
 * M3 A request without a version gets the newest. Ironic gives it the oldest, which no client of today uses.
 */
export const microversions = { least: '1.1', most: '1.95' } as const;

const minorOf = (version: string): number => Number(version.split('.')[1]);

/** The least version of each address that came after 1.1, by the pattern of its route. */
const since: readonly (readonly [route: RegExp, version: string])[] = [
  [/^\/v1\/runbooks(?:\/|$)/, '1.92'],
  [/^\/v1\/nodes\/[^/]+\/firmware$/, '1.86'],
  [/^\/v1\/shards$/, '1.82'],
  [/^\/v1\/nodes\/[^/]+\/inventory$/, '1.81'],
  [/^\/v1\/nodes\/[^/]+\/history(?:\/|$)/, '1.78'],
  [/^\/v1\/deploy_templates(?:\/|$)/, '1.55'],
  [/^\/v1\/allocations(?:\/|$)/, '1.52'],
  [/^\/v1\/conductors(?:\/|$)/, '1.49'],
  [/^\/v1\/nodes\/[^/]+\/bios(?:\/|$)/, '1.40'],
  [/^\/v1\/nodes\/[^/]+\/traits(?:\/|$)/, '1.37'],
  [/^\/v1\/volume(?:\/|$)/, '1.32'],
  [/^\/v1\/portgroups(?:\/|$)/, '1.23'],
];

interface VersionHeaders {
  readonly [name: string]: string | string[] | undefined;
  readonly 'x-openstack-ironic-api-version'?: string | string[] | undefined;
  readonly 'openstack-api-version'?: string | string[] | undefined;
}

/** The version that a request asks for, or why it is refused. */
export type Microversion =
  | { readonly version: string }
  | { readonly refused: { readonly status: 404 | 406; readonly message: string } };

/** @param path the address below the prefix of the API, without the query. */
export function microversionOf(headers: VersionHeaders, path: string): Microversion {
  const asked = askedIn(headers);
  if (asked === undefined || asked === 'latest') return { version: microversions.most };
  const { least, most } = microversions;
  const isKnown = /^1\.\d{1,4}$/.test(asked) && minorOf(asked) >= minorOf(least) && minorOf(asked) <= minorOf(most);
  if (!isKnown) {
    const message = `Version ${asked.slice(0, 40)} was requested but is not supported by this service. The supported version range is: [${least}, ${most}].`;
    return { refused: { status: 406, message } };
  }
  const [, first] = since.find(([route]) => route.test(path)) ?? [];
  if (first === undefined || minorOf(asked) >= minorOf(first)) return { version: asked };
  const message = `The address ${path} exists since version ${first}, but the request asks for version ${asked} (X-OpenStack-Ironic-API-Version).`;
  return { refused: { status: 404, message } };
}

/** The older header wins when both are given, because it belongs to this service alone. */
function askedIn(headers: VersionHeaders): string | undefined {
  const own = headers['x-openstack-ironic-api-version'];
  if (typeof own === 'string' && own !== '') return own.trim();
  const common = headers['openstack-api-version'];
  const parts = typeof common === 'string' ? common.split(',').map((part) => part.trim().split(/\s+/)) : [];
  return parts.find(([service]) => service === 'baremetal')?.[1];
}
