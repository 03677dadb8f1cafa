/** The 20 most common requests of clients, operators and the console. */

export interface ApiRequest {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: object;
}

/** Names of the objects that the requests are about. */
export interface RequestedObjects {
  readonly project: string;
  readonly stack: { readonly name: string; readonly id: string };
  readonly resource: string;
  readonly login: object;
}

const template = {
  heat_template_version: '2018-08-31',
  parameters: { size: { type: 'number', default: 2 } },
  resources: {
    a: { type: 'OS::Heat::Value', properties: { value: { get_param: 'size' } } },
    b: { type: 'OS::Heat::Value', properties: { value: { get_attr: ['a', 'value'] } } },
  },
};

export function commonRequests({ project, stack, resource, login }: RequestedObjects): ApiRequest[] {
  const heat = `/orchestration/v1/${project}`;
  const big = `${heat}/stacks/${stack.name}/${stack.id}`;
  const get = (name: string, path: string): ApiRequest => ({ name, method: 'GET', path });
  const post = (name: string, path: string, body: object): ApiRequest => ({ name, method: 'POST', path, body });
  const queue = '/messaging/v2/queues/bench';
  const messages = { messages: [{ ttl: 300, body: { n: 1 } }] };
  return [
    post('log in', '/identity/v3/auth/tokens', login),
    get('verify a token', '/identity/v3/auth/tokens'),
    get('list stacks', `${heat}/stacks?limit=20`),
    get('show a stack', big),
    get('show a stack without outputs', `${big}?resolve_outputs=false`),
    get('list its resources', `${big}/resources`),
    get('list a page of its resources', `/api/v1/stacks/${stack.id}/resources?limit=100`),
    get('show a resource', `${big}/resources/${resource}`),
    get('list its last events', `${big}/events?limit=20&sort_dir=desc`),
    get('show its template', `${big}/template`),
    get('show an output', `${big}/outputs/last`),
    post('validate a template', `${heat}/validate`, { template }),
    post('preview a stack', `${heat}/stacks/preview`, { stack_name: 'later', template }),
    get('list resource types', `${heat}/resource_types`),
    get('why', `/api/v1/stacks/${stack.id}/why`),
    get('overview', '/api/v1/overview'),
    get('list events', '/api/v1/events?limit=20'),
    get('list hosts', '/api/v1/hosts'),
    get('list nodes', '/baremetal/v1/nodes'),
    get('read messages', `${queue}/messages?limit=10&echo=true`),
    post('post a message', `${queue}/messages`, messages),
  ];
}
