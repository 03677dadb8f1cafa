/** The messages in which a controller explains a refusal or the end of a task. Pure. */
import { isObject } from '@anneal/contracts/json.ts';

type Body = Readonly<Record<string, unknown>>;

export interface BmcMessage {
  /** Without registry and version: `ActionParameterMissing`. */
  readonly key: string;
  readonly text: string;
  readonly args: readonly string[];
  /** Names of the properties that it is about. */
  readonly properties: readonly string[];
  /** False for a message that reports a success or progress. */
  readonly isProblem: boolean;
}

const longest = 500;
const fine = /^ok$/i;

/** The messages of an error document, of the answer of an action, or of a task. */
export function messagesIn(body: Body): BmcMessage[] {
  const error = isObject(body['error']) ? body['error'] : {};
  const lists = [error['@Message.ExtendedInfo'], body['@Message.ExtendedInfo'], body['Messages']];
  const found = lists.flatMap((list) => (Array.isArray(list) ? list : isObject(list) ? [list] : []).flatMap(messageIn));
  return found.length > 0
    ? found
    : [error['message'], body['text']].flatMap((text) => (text === '' ? [] : messageIn(text)));
}

function messageIn(value: unknown): BmcMessage[] {
  if (typeof value === 'string') return [{ key: '', text: value, args: [], properties: [], isProblem: true }];
  if (!isObject(value)) return [];
  const { MessageId: id, Message: text, MessageArgs: args, RelatedProperties: related } = value;
  const severity = value['MessageSeverity'] ?? value['Severity'];
  const key = typeof id === 'string' ? (id.split('.').at(-1) ?? '') : '';
  const words = textsIn(args);
  return [
    {
      key,
      text: typeof text === 'string' && text !== '' ? text : [key, ...words].join(' ').trim(),
      args: words,
      // JSON pointers: `#/Boot/BootSourceOverrideTarget`.
      properties: textsIn(related).map((pointer) => pointer.split(/[/#]/).at(-1) ?? ''),
      isProblem: typeof severity !== 'string' || !fine.test(severity),
    },
  ];
}

const textsIn = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : []).filter((each): each is string => typeof each === 'string');

/** A controller's reason for a refusal or a failure, in one line. Its problems only, where it reports some. */
export function reasonIn(body: Body): string {
  const messages = messagesIn(body);
  const problems = messages.filter(({ isProblem }) => isProblem);
  const texts = (problems.length > 0 ? problems : messages).map(({ text }) => text.trim());
  const found = [...new Set(texts.filter((text) => text !== ''))];
  return found.length === 0 ? 'no reason given' : found.join(' ').slice(0, longest);
}
