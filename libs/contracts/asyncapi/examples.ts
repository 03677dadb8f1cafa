/** An example of the data of each main message, for the JSON Schemas and asyncapi.yaml. Services do not load it. */
import type { JsonObject } from '../json.ts';

const [stack, resource] = ['0198c0de-5f1a-7cc2-9a51-3b0f6b1c2d3e', '0198c0de-6022-7b61-8f0e-94d1c5a7e210'];
const traversal = '0198c0de-5f90-7d15-b3a2-0c6e8f4a1b77';
const host = '0198c0de-71b4-7e08-a6f9-2d5b1c3e4f60';
const project = 'demo';

const request: JsonObject = {
  resource: { id: resource, name: 'motd', type: 'Example::File', physical_name: 'web-motd-k3v7q2m5x4na' },
  stack: { id: stack, name: 'web' },
  traversal,
  fence: 1,
  deadline: '2030-01-01T01:00:00.000Z',
  physical_id: null,
  properties: { name: 'motd', content: 'Welcome' },
  attributes: {},
};
const made: JsonObject = { ...request, fence: 2, physical_id: '/srv/files/motd', attributes: { sha256: '9d5e3ecd' } };

/** By type of message. */
export const examples: Readonly<Record<string, JsonObject>> = {
  'resource.create': request,
  'resource.update': {
    ...made,
    properties: { name: 'motd', content: 'Welcome back' },
    old_properties: { name: 'motd', content: 'Welcome' },
    changed: ['content'],
  },
  'resource.delete': made,
  'resource.response': {
    resource_id: resource,
    stack_id: stack,
    action: 'create',
    fence: 1,
    status: 'complete',
    physical_id: '/srv/files/motd',
    attributes: { sha256: '9d5e3ecd' },
  },
  'provider.announced': {
    provider: 'example.files',
    queue: 'example.files.requests',
    types: [
      {
        type: 'Example::File',
        properties: {
          name: { type: 'String', required: true },
          content: { type: 'String', default: '', update_allowed: true },
        },
        attributes: { sha256: { type: 'String' } },
        actions: ['check'],
        budget_seconds: 30,
      },
    ],
  },
  'stack.delete': { id: stack, project },
  'stack.act': { stack, project, action: { kind: 'cancel', rollback: true } },
  'queue.post': {
    project,
    queue: 'work',
    client_id: '3381af92-2b9e-11e3-b191-71861300734c',
    messages: [{ body: { event: 'BackupStarted' }, ttl: 300 }],
  },
  'queue.claim': { project, queue: 'work', ttl: 300, grace: 60, limit: 1 },
  'host.up': {
    origin: {
      root: { stack_id: stack, stack_name: 'web' },
      path: 'workers/0/server',
      tags: ['production'],
      actor: { kind: 'host', id: host, name: 'web-0' },
      cause: { kind: 'system', id: null, reason: null },
    },
    host_id: host,
    name: 'web-0',
    status: 'up',
    facts: { hostname: 'web-0' },
    version: 3,
  },
};
