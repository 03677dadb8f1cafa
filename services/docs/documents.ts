/**
 * The documents for programs that the repository has: `npm run docs` and `npm run contracts` write them from the code, and
 * the site has a page of each for people.
 */

/** An OpenAPI document and its page. */
export interface ApiDocument {
  /** Path from the root of the repository. */
  readonly path: string;
  /** File name of the page, beside those of the reference. */
  readonly page: string;
  readonly title: string;
  /** The service of OpenStack whose API it is; absent for our own. */
  readonly service?: string;
  /** The address of the API. */
  readonly prefix: string;
  /** Facts about every request. */
  readonly text: string;
  /** The page has only the addresses that begin so. */
  readonly shows?: string;
}

/** The APIs that are compatible with those of OpenStack. */
export const compatibleApis: readonly ApiDocument[] = [
  {
    path: 'docs/reference/openapi/heat.yaml',
    page: 'heat-api.md',
    title: "Heat's API",
    service: 'Heat',
    prefix: '/orchestration',
    text: 'A request needs the header `X-Auth-Token`. The project in the address is its id.',
  },
  {
    path: 'docs/reference/openapi/zaqar.yaml',
    page: 'zaqar-api.md',
    title: "Zaqar's API",
    service: 'Zaqar',
    prefix: '/messaging',
    text: 'This page shows version 2; the document has versions 1.1 and 1, too. A request needs the headers `X-Auth-Token` and `Client-ID`. Each address is also served without `/messaging`.',
    shows: '/v2/',
  },
  {
    path: 'docs/reference/openapi/keystone.yaml',
    page: 'keystone-api.md',
    title: "Keystone's API",
    service: 'Keystone',
    prefix: '/identity',
    text: 'A request needs the header `X-Auth-Token`, except a login.',
  },
  {
    path: 'docs/reference/openapi/ironic.yaml',
    page: 'ironic-api.md',
    title: "Ironic's API",
    service: 'Ironic',
    prefix: '/baremetal',
    text: 'A request needs the header `X-Auth-Token`. It asks for a version of the API in the header `X-OpenStack-Ironic-API-Version`, which decides about the fields that an answer has.',
  },
  {
    path: 'docs/reference/openapi/mistral.yaml',
    page: 'mistral-api.md',
    title: "Mistral's API",
    service: 'Mistral',
    prefix: '/workflow',
    text: 'A request needs the header `X-Auth-Token`. Any field of the rows of a list is a filter: `state=ERROR`, or with an operator: `state=neq:ERROR`, `in:A,B`, `nin:A,B`, `has:TEXT`.',
  },
  {
    path: 'docs/reference/openapi/glance.yaml',
    page: 'glance-api.md',
    title: "Glance's API",
    service: 'Glance',
    prefix: '/image',
    text: 'A request needs the header `X-Auth-Token`. Every project may use every image; only operators change them.',
  },
];

/** Anneal's own API. */
export const ownApi: ApiDocument = {
  path: 'docs/reference/openapi/anneal.yaml',
  page: 'http-api.md',
  title: 'HTTP API',
  prefix: '/api/v1',
  text: 'A request needs the header `X-Auth-Token`. A refused request has the status and the code of its [error](errors.md), and a body as in [Error](#schema-error). A long answer is compressed by `Accept-Encoding`; a GET with an `ETag` may also be a HEAD, and answers 304 to `If-None-Match` without a change.',
};

/** Every message and event. */
export const asyncApiDocument = { path: 'asyncapi.yaml', page: 'messages.md' } as const;

const pageFolder = 'docs/reference';

/** The page of each document, by the path of the document: links to a document lead to its page on the site. */
export const pageOfDocument: ReadonlyMap<string, string> = new Map(
  [ownApi, ...compatibleApis, asyncApiDocument].map(({ path, page }) => [path, `${pageFolder}/${page}`]),
);
