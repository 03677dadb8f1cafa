/** Reads the clauses of a task: on-success, on-error, on-complete, on-skip. */
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { engineCommands, type WorkflowClause, type WorkflowLink } from '@anneal/contracts/workflow.ts';
import { hasExpression } from './expression.ts';
import type { FieldPath, WorkflowReader } from './reader.ts';

const noPublish = { branch: {}, global: {} };

/** Reads a name, a list of names, `{name: guard}`, or the form with `publish` and `next`. Null: it is absent. */
export function readClause(reader: WorkflowReader, value: Json | undefined, path: FieldPath): WorkflowClause | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value) || !('publish' in value || 'next' in value)) {
    return { publish: noPublish, next: readLinks(reader, value, path) };
  }
  reader.keys(value, path, ['publish', 'next']);
  const publish = reader.map(value['publish'], [...path, 'publish']) ?? {};
  reader.keys(publish, [...path, 'publish'], ['branch', 'global', 'atomic']);
  reader.expressions(publish, [...path, 'publish']);
  if (publish['atomic'] !== undefined) {
    reader.wrong([...path, 'publish', 'atomic'], 'has no effect in Mistral and is not accepted; use branch or global');
  }
  const part = (name: string) => reader.map(publish[name], [...path, 'publish', name]) ?? {};
  return {
    publish: { branch: part('branch'), global: part('global') },
    next: readLinks(reader, value['next'] ?? [], [...path, 'next']),
  };
}

function readLinks(reader: WorkflowReader, value: Json, path: FieldPath): WorkflowLink[] {
  const items = Array.isArray(value) ? value : [value];
  return items.flatMap((item, index) => {
    const at = Array.isArray(value) ? [...path, index] : path;
    if (typeof item === 'string') return readLink(reader, { text: item, guard: null, path: at });
    if (!isObject(item)) {
      reader.wrong(at, 'must be a task name, a list, or a map {name: <% guard %>}', { found: item });
      return [];
    }
    return Object.entries(item).flatMap(([text, guard]) => {
      const here = [...at, text];
      if (typeof guard !== 'string' || !hasExpression(guard)) {
        reader.wrong(here, 'the guard must be an expression <% … %>', { found: guard });
        return [];
      }
      reader.expressions(guard, here);
      return readLink(reader, { text, guard, path: here });
    });
  });
}

/** `name`, or a command with a text: `fail msg="…"`, `fail(msg=<% … %>)`. */
function readLink(
  reader: WorkflowReader,
  { text, guard, path }: { text: string; guard: string | null; path: FieldPath },
): WorkflowLink[] {
  const found = /^\s*([\w-]+)\s*(?:\(\s*(.*?)\s*\)|(\s.*?))?\s*$/s.exec(text);
  const [, name, bracketed, plain] = found ?? [];
  if (name === undefined) {
    reader.wrong(path, 'is not a task name', { found: text });
    return [];
  }
  const more = (bracketed ?? plain ?? '').trim();
  if (more === '') return [{ to: name, guard, message: null }];
  const message = /^msg\s*=\s*(?:"([^"]*)"|'([^']*)'|(.*))$/s.exec(more);
  if (!message || !(engineCommands as readonly string[]).includes(name)) {
    reader.wrong(path, 'only a command takes a text, as in fail msg="text"', { found: text });
    return [];
  }
  const words = message[1] ?? message[2] ?? message[3] ?? '';
  reader.expressions(words, path);
  return [{ to: name, guard, message: words }];
}
