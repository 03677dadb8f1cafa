/** Reports about a context: its events, and its attributes for templates. */
import type { Mint } from '@anneal/contracts/envelope.ts';
import { contextEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import type { Draft } from '@anneal/store/port.ts';
import { differenceOf } from './data.ts';
import type { ContextDocument } from './document.ts';

interface Minting {
  readonly mint: Mint;
}

const common = (document: Draft<ContextDocument>, version: number) => ({
  origin: document.origin ?? unknownOrigin(),
  context_id: document.id,
  name: document.name,
  stack_id: document.stack_id,
  stack_name: document.stack_name,
  context_version: document.data.version,
  members: document.data.members.length,
  version,
});

/** The event of a new version of the data. */
export function changedEvent(
  { mint }: Minting,
  { before, after }: { before: ContextDocument; after: Draft<ContextDocument> },
) {
  return mint(contextEvent.changed, {
    id: `context.changed:${after.id}:${after.data.version}`,
    subject: after.id,
    project: after.project,
    data: { ...common(after, before.version + 1), ...differenceOf(before.data, after.data) },
  });
}

/** The event that the configs of a version have run. `version` is the version that the document is about to get. */
export function settledEvent(
  { mint }: Minting,
  { document, version }: { document: Draft<ContextDocument>; version: number },
) {
  const { id, project, failures } = document;
  const data = common(document, version);
  return failures.length === 0
    ? mint(contextEvent.applied, { id: `context.applied:${id}:${version}`, subject: id, project, data })
    : mint(contextEvent.failed, {
        id: `context.failed:${id}:${version}`,
        subject: id,
        project,
        data: { ...data, failures: failures.slice(0, 10) },
      });
}

/** The attributes that templates can read. */
export function contextAttributes({ data, failures }: Pick<ContextDocument, 'data' | 'failures'>): JsonObject {
  return {
    version: data.version,
    data: data,
    members: data.members,
    names: data.names,
    addresses: data.addresses,
    failures: [...failures],
  };
}
