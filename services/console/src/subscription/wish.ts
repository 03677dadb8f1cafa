/** The fields of a new subscription: the options of `anneal subscription create`, as a form. Pure. */
import type { Client } from '@anneal/client/connect.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';
import { quoted } from '../parts/quoted.ts';

type Wanted = Parameters<Client['subscriptions']['create']>[0];

/** One field. The texts of a list are divided by blanks or commas. */
export interface WishField {
  readonly key: Exclude<keyof Wanted, 'name' | 'url' | 'types'>;
  readonly label: string;
  readonly note: string;
  readonly option: string;
  readonly kind: 'text' | 'list' | 'number' | 'check' | 'filter' | 'secret';
  readonly choices?: readonly string[];
  /** Only an operator has it. */
  readonly operator?: true;
}

/** Fields that many subscriptions leave as they are, in groups. */
export const wishGroups: readonly { readonly title: string; readonly fields: readonly WishField[] }[] = [
  {
    title: 'Only some events',
    fields: [
      {
        key: 'stack',
        label: 'Stacks',
        note: 'with everything nested in them: web web/workers',
        option: '--stack',
        kind: 'list',
      },
      { key: 'tag', label: 'Tags', note: 'of stacks', option: '--tag', kind: 'list' },
      { key: 'group', label: 'Groups', note: 'with their members: web/workers', option: '--group', kind: 'list' },
      { key: 'host', label: 'Hosts', note: 'with their deployments', option: '--host', kind: 'list' },
      { key: 'subjectPrefix', label: 'Subject begins with', note: '', option: '--subject-prefix', kind: 'text' },
      {
        key: 'filters',
        label: 'Filter',
        note: 'of CloudEvents, as JSON: {"prefix": {"data.stack_name": "web"}}',
        option: '--filter',
        kind: 'filter',
      },
      {
        key: 'after',
        label: 'Also past events after',
        note: 'the id of an event, or beginning',
        option: '--after',
        kind: 'text',
      },
      {
        key: 'project',
        label: 'Of another project',
        note: 'in place of this one',
        option: '--project',
        kind: 'text',
        operator: true,
      },
    ],
  },
  {
    title: 'How they are sent',
    fields: [
      { key: 'format', label: 'Format', note: '', option: '--format', kind: 'text', choices: ['cloudevents', 'heat'] },
      {
        key: 'mode',
        label: 'Content mode',
        note: 'of CloudEvents',
        option: '--mode',
        kind: 'text',
        choices: ['structured', 'binary'],
      },
      {
        key: 'batchSize',
        label: 'Events in one request',
        note: 'at most; above 1 the body is an array',
        option: '--batch-size',
        kind: 'number',
      },
      {
        key: 'condense',
        label: 'Condense a window',
        note: 'to the latest event of each subject, or to one digest',
        option: '--condense',
        kind: 'text',
        choices: ['latest', 'digest'],
      },
      {
        key: 'windowSeconds',
        label: 'Length of the window',
        note: 'in seconds; 60 without a number',
        option: '--window',
        kind: 'number',
      },
      {
        key: 'confirm',
        label: 'Ask the webhook first',
        note: 'it gets no event before it has agreed',
        option: '--confirm',
        kind: 'check',
      },
    ],
  },
  {
    title: 'Refusals and secrets',
    fields: [
      {
        key: 'onRefusal',
        label: 'After a refused event',
        note: 'those of its subject wait, or continue',
        option: '--on-refusal',
        kind: 'text',
        choices: ['block', 'skip'],
      },
      {
        key: 'deadLetter',
        label: 'Dead letters go to',
        note: 'a webhook or queue:NAME',
        option: '--dead-letter',
        kind: 'text',
      },
      {
        key: 'credentials',
        label: 'Credentials of the broker',
        note: 'user:password',
        option: '--credentials',
        kind: 'secret',
      },
      {
        key: 'secret',
        label: 'Signing secret',
        note: 'whsec_…; made when it is empty',
        option: '--secret',
        kind: 'secret',
      },
    ],
  },
];

const fields = wishGroups.flatMap((group) => group.fields);

/** The texts that a person has written, by field. A check is `yes` or absent. */
export type SubscriptionWish = Readonly<Partial<Record<WishField['key'], string>>>;

/** The parts of a list that a person writes. */
export const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((each) => each !== '');

/** The reason why a field cannot be sent; undefined when it can. */
export function mistakeIn({ kind, label }: WishField, text: string): string | undefined {
  if (kind === 'number' && !/^[1-9]\d{0,8}$/.test(text)) return `${label} must be a whole number greater than zero.`;
  if (kind === 'filter' && !isObject(jsonIn(text))) return 'The filter must be one JSON object.';
  return undefined;
}

const filled = (wish: SubscriptionWish): (readonly [WishField, string])[] =>
  fields.flatMap((field) => {
    const text = (wish[field.key] ?? '').trim();
    return text === '' ? [] : [[field, text] as const];
  });

/** All mistakes of a form. */
export const mistakesIn = (wish: SubscriptionWish): string[] =>
  filled(wish).flatMap(([field, text]) => mistakeIn(field, text) ?? []);

function valueOf({ kind }: WishField, text: string): unknown {
  if (kind === 'list') return wordsIn(text);
  if (kind === 'number') return Number(text);
  if (kind === 'check') return true;
  return kind === 'filter' ? [jsonIn(text)] : text;
}

/** The optional part of the call; without mistakes only. */
export const wantedOf = (wish: SubscriptionWish): Omit<Wanted, 'name' | 'url' | 'types'> =>
  Object.fromEntries(filled(wish).map(([field, text]) => [field.key, valueOf(field, text)]));

/** The options of the command. A secret is not shown. */
export const wishOptions = (wish: SubscriptionWish): string[] =>
  filled(wish).flatMap(([{ kind, option, note }, text]) => {
    if (kind === 'check') return [option];
    if (kind === 'list') return wordsIn(text).map((word) => `${option} ${quoted(word)}`);
    return [`${option} ${kind === 'secret' ? (note.split(';')[0] ?? '') : quoted(text)}`];
  });
