/** `anneal subscription …` */
import type { Client } from '@anneal/client/connect.ts';
import { formatAge, formatDuration } from '@anneal/client/text/time.ts';
import type { SubscriptionView } from '@anneal/contracts/calls/subscriptions.ts';
import { Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { exitCodes, Reported } from '../exit.ts';
import { confirm, yesOption } from './confirm.ts';
import { forEachOf } from './each.ts';
import { idOf as namedId } from './named.ts';
import { paintStatus } from '../print/status.ts';
import {
  collect,
  eventScopeOptions,
  exampleText,
  formatOption,
  positiveInteger,
  readJsonObject,
  wholeNumber,
} from '../options/options.ts';
import { gapText } from './event.ts';

export function addSubscriptionCommands(program: Command, context: CliContext): void {
  const noun = program.command('subscription').description('manage event subscriptions');
  addSubscriptionCreate(noun, context);
  addSubscriptionList(noun, context);
  addSubscriptionShow(noun, context);
  addSubscriptionDelete(noun, context);
  addSubscriptionDeliveries(noun, context);
  addSubscriptionVerbs(noun, context);
  addSubscriptionTest(noun, context);
  addSubscriptionRotate(noun, context);
  addSubscriptionLog(noun, context);
  addSubscriptionReplay(noun, context);
}

function addSubscriptionCreate(noun: Command, context: CliContext): void {
  const { output } = context;
  const scope = eventScopeOptions();
  noun
    .command('create <url>')
    .description('send events to a webhook (signed as Standard Webhooks define), queue:NAME, amqp://… or nats://…')
    .option('--name <name>', 'name of the subscription', '')
    .option('--type <pattern>', 'only events of this type; may be repeated (default: all)', collect, [])
    .option('--subject-prefix <text>', 'only events whose subject has this prefix')
    .addOption(scope.stack)
    .addOption(scope.tag)
    .addOption(scope.group)
    .addOption(scope.host)
    .addOption(scope.project)
    .option(
      '--filter <json>',
      'only events that pass this CloudEvents filter, e.g. {"prefix": {"data.stack_name": "web"}}; may be repeated, all must pass',
      collect,
      [],
    )
    .option('--credentials <user:password>', 'of the broker')
    .addOption(new Option('--format <name>', 'form of the messages').choices(['cloudevents', 'heat'] as const))
    .addOption(
      new Option('--mode <name>', 'content mode of CloudEvents (default: structured)').choices([
        'structured',
        'binary',
      ] as const),
    )
    .option('--batch-size <n>', 'send up to this many events in one request, as an array', positiveInteger)
    .addOption(
      new Option('--condense <how>', 'of each window send only the latest event of a subject, or one digest').choices([
        'latest',
        'digest',
      ] as const),
    )
    .option('--window <seconds>', 'length of the window of --condense (default: 60)', positiveInteger)
    .option('--confirm', 'send no event before the webhook has agreed (CloudEvents webhook validation)')
    .option('--dead-letter <url>', 'webhook or queue:NAME for events that the listener refused for good')
    .addOption(
      new Option(
        '--on-refusal <rule>',
        'what follows a refused event: the events of its subject wait, or continue',
      ).choices(['block', 'skip'] as const),
    )
    .option('--secret <whsec_…>', 'secret that signs the deliveries (default: generated)')
    .option('--after <id>', 'also send past events after the event with this id; `beginning` for all stored events')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        "subscription create https://ops.example/hook --type 'stack.#' --type 'node.#'",
        'subscription create queue:audit',
        'subscription create https://ops.example/hook --condense digest --window 300',
      ),
    )
    .action(async (url, { name, type, filter, window: windowSeconds, output: shown, ...form }) => {
      const made = await (
        await context.part('subscriptions')
      ).create({
        ...form,
        name,
        url,
        windowSeconds,
        types: type.length > 0 ? type : ['#'],
        filters: filter.map((text) =>
          readJsonObject(text, { option: '--filter', example: '{"exact": {"subject": "…"}}' }),
        ),
      });
      if (made.gap) output.note(gapText(made.gap));
      output.one(shown, made, () => [
        ...fieldsOf(made.subscription, context),
        ['secret', `${made.secret}  (shown only now)`],
      ]);
    });
}

function addSubscriptionList(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('list')
    .description('list subscriptions')
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription list'))
    .action(async ({ output: format }) => {
      const rows = await (await context.part('subscriptions')).list();
      output.list(format, {
        rows,
        none: 'No subscriptions.',
        key: 'id',
        columns: {
          url: (row) => row.url,
          // An active one may have a listener that does not answer.
          status: (row, colors) =>
            row.status === 'active' && row.outage ? colors.yellow('away') : paintStatus(row.status, colors),
          backlog: (row) => row.backlog,
          name: (row) => row.name,
          types: (row) => row.types.join(', '),
          dropped: (row) => row.dropped?.count ?? 0,
          id: (row) => row.id,
        },
      });
    });
}

function addSubscriptionShow(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('show <subscription>')
    .description('show a subscription and the state of its deliveries')
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription show ops', 'subscription show 0198…'))
    .action(async (given, { output: format }) => {
      const subscriptions = await context.part('subscriptions');
      const shown = await subscriptions.show({ id: await idOf(subscriptions, given) });
      output.one(format, shown, () => fieldsOf(shown, context));
    });
}

function addSubscriptionDelete(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('delete <subscriptions...>')
    .description('delete subscriptions')
    .addOption(yesOption())
    .addHelpText('after', exampleText('subscription delete 0198…'))
    .action(async (given, { yes }) => {
      await confirm(context, {
        yes,
        what: () => [`Delete subscriptions with the events that wait: ${given.join(', ')}`],
      });
      const subscriptions = await context.part('subscriptions');
      await forEachOf(given, context, async (each) => {
        await subscriptions.delete({ id: await idOf(subscriptions, each) });
        output.line(`Deleted ${each}.`);
      });
    });
}

function addSubscriptionDeliveries(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('deliveries <subscription>')
    .description('list the latest deliveries of a subscription and what waits, or send one again')
    .option('--replay <delivery>', 'send the delivery with this id again')
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription deliveries ops', 'subscription deliveries 0198… --replay 0199…'))
    .action(async (given, { replay, output: format }) => {
      const subscriptions = await context.part('subscriptions');
      const id = await idOf(subscriptions, given);
      if (replay !== undefined) await subscriptions.replay({ id, delivery: replay });
      const [rows, shown] = await Promise.all([subscriptions.deliveries({ id }), subscriptions.show({ id })]);
      if (format === 'table') for (const line of waitingLines(shown, context.now())) output.note(line);
      output.list(format, {
        rows,
        none: 'No deliveries.',
        columns: {
          event: (row) => row.event_type,
          status: (row, colors) => paintStatus(row.status, colors),
          answer: (row) => row.attempts.at(-1)?.error ?? row.attempts.at(-1)?.status,
          attempts: (row) => row.attempts.length,
          last: (row) => formatAge(row.attempts.at(-1)?.at, context.now()),
          next: (row) => untilText(row.next_attempt_at, context.now()),
          id: (row) => row.id,
        },
      });
    });
}

const verbs = [
  ['pause', 'stop sending; the events wait in the event log', 'Paused'],
  ['resume', 'send again, beginning with what the listener missed; also enables a disabled subscription', 'Resumed'],
  ['retry', 'attempt everything that waits for the listener now', 'Retrying'],
] as const;

function addSubscriptionVerbs(noun: Command, context: CliContext): void {
  for (const [verb, description, done] of verbs) {
    noun
      .command(`${verb} <subscriptions...>`)
      .description(description)
      .addHelpText('after', exampleText(`subscription ${verb} 0198…`))
      .action(async (given) => {
        const subscriptions = await context.part('subscriptions');
        await forEachOf(given, context, async (each) => {
          await subscriptions[verb]({ id: await idOf(subscriptions, each) });
          context.output.line(`${done} ${each}.`);
        });
      });
  }
}

function addSubscriptionTest(noun: Command, context: CliContext): void {
  noun
    .command('test <subscription>')
    .description(
      'send a test event to the listener, exit status 1 unless it accepts; ask a webhook first that has not agreed to receive events',
    )
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription test 0198…'))
    .action(async (given, { output: format }) => {
      const subscriptions = await context.part('subscriptions');
      const tested = await subscriptions.test({ id: await idOf(subscriptions, given) });
      context.output.one(format, tested, () => [
        ['answer', tested.error ?? tested.status],
        ['ms', tested.ms],
        ['status', paintStatus(tested.subscription.status, context.output.colors)],
      ]);
      // A webhook answers with a status; the other addresses have none.
      const isAccepted = tested.error === null && (tested.status ?? 200) < 300;
      if (!isAccepted) throw new Reported(exitCodes.failed);
    });
}

function addSubscriptionRotate(noun: Command, context: CliContext): void {
  noun
    .command('rotate-secret <subscription>')
    .description('replace the secret that signs the deliveries; both are valid for a while')
    .option('--secret <whsec_…>', 'the new secret (default: generated)')
    .option('--keep <seconds>', 'so long the previous secret signs too', wholeNumber, 86_400)
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription rotate-secret 0198… --keep 3600'))
    .action(async (given, { secret, keep, output: format }) => {
      const subscriptions = await context.part('subscriptions');
      const id = await idOf(subscriptions, given);
      const made = await subscriptions.rotateSecret({ id, secret, keepSeconds: keep });
      context.output.one(format, made, () => [
        ...fieldsOf(made.subscription, context),
        ['secret', `${made.secret}  (shown only now)`],
      ]);
    });
}

function addSubscriptionReplay(noun: Command, context: CliContext): void {
  noun
    .command('replay <subscription>')
    .description('send stored events again, from an event or time to another')
    .requiredOption('--from <id|time>', 'the first event: its id, or the earliest time')
    .option('--to <id|time>', 'the last event: its id, or the latest time (default: the newest)')
    .addHelpText(
      'after',
      exampleText('subscription replay 0198… --from 2030-01-01T00:00:00Z --to 2030-01-01T01:00:00Z'),
    )
    .action(async (given, { from, to }) => {
      const subscriptions = await context.part('subscriptions');
      const count = await subscriptions.replayRange({ id: await idOf(subscriptions, given), from, to });
      context.output.line(`Sending ${count} event${count === 1 ? '' : 's'} again.`);
    });
}

function addSubscriptionLog(noun: Command, context: CliContext): void {
  noun
    .command('log <subscription>')
    .description('list the latest requests to the listener, the newest first')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 50)
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription log 0198… --limit 10'))
    .action(async (given, { limit, output: format }) => {
      const subscriptions = await context.part('subscriptions');
      const rows = await subscriptions.attempts({ id: await idOf(subscriptions, given), limit });
      context.output.list(format, {
        rows,
        none: 'No attempts.',
        columns: {
          at: (row) => row.at,
          event: (row) => row.event_type,
          answer: (row) => row.error ?? row.status,
          ms: (row) => row.ms,
          events: (row) => row.events,
          id: (row) => row.event_id,
        },
      });
    });
}

const fieldsOf = (shown: SubscriptionView, { output }: CliContext): (readonly [string, string | number | null])[] => [
  ['name', shown.name],
  ['id', shown.id],
  ['url', shown.url],
  ['types', shown.types.join(', ')],
  ...(shown.events_project === undefined ? [] : [['events of', `project ${shown.events_project}`] as const]),
  ['filters', shown.filters && shown.filters.length > 0 ? JSON.stringify(shown.filters) : null],
  ['status', paintStatus(shown.status, output.colors)],
  ['reason', shown.reason ?? null],
  ['condense', shown.condense ? `${shown.condense}, windows of ${shown.window_seconds ?? 0} s` : null],
  ['on refusal', shown.on_refusal ?? null],
  ['dead letters', shown.dead_letter ?? null],
  ['away since', shown.outage ? `${shown.outage.since}, ${attemptsText(shown.outage.attempts)}` : null],
  ['next attempt', shown.next_attempt_at ?? null],
  ['backlog', shown.backlog],
  ['dropped', droppedText(shown)],
  ...(shown.allowed_rate ? [['allowed rate', `${shown.allowed_rate} requests per minute`] as const] : []),
  ['last success', shown.last_success_at],
  ['last failure', shown.last_failure_at],
  ['last error', shown.last_error],
];

function droppedText({ dropped }: SubscriptionView): string {
  if (!dropped) return '0';
  return `${dropped.count}, from ${dropped.since} to ${dropped.last}`;
}

const idOf = (subscriptions: Client['subscriptions'], given: string): Promise<string> =>
  namedId(given, { kind: 'subscription', list: () => subscriptions.list() });

/** Sentences about the listener and the events that wait for it. */
function waitingLines(shown: SubscriptionView, now: number): string[] {
  const { id, status, backlog, outage, last_error: error } = shown;
  const waiting = backlog === 1 ? '1 event waits' : `${backlog} events wait`;
  if (status !== 'active') {
    const remedy = status === 'unconfirmed' ? `anneal subscription test ${id}` : `anneal subscription resume ${id}`;
    return [
      `The subscription is ${status}${shown.reason ? `: ${shown.reason}` : ''}; ${waiting}. Send them: ${remedy}`,
    ];
  }
  if (!outage) return backlog === 0 ? [] : [`${waiting} for the listener.`];
  return [
    `The listener has been away for ${formatAge(outage.since, now)}: ${attemptsText(outage.attempts)}, the last one ${formatAge(shown.last_failure_at, now)} ago${error === null ? '' : ` (${error})`}.`,
    `${waiting}; the next attempt is ${untilText(shown.next_attempt_at, now)}. Attempt now: anneal subscription retry ${id}`,
  ];
}

const attemptsText = (count: number): string => (count === 1 ? '1 attempt failed' : `${count} attempts failed`);

function untilText(at: string | null | undefined, now: number): string {
  if (!at) return '';
  const left = Date.parse(at) - now;
  return left <= 0 ? 'now' : `in ${formatDuration(left)}`;
}
