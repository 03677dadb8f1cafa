/** `anneal subscription …` */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { SubscriptionView } from '@anneal/contracts/calls/notification.ts';
import { Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '../print/time.ts';
import { collect, eventScopeOptions, exampleText, formatOption, positiveInteger, wholeNumber } from './options.ts';
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
      ),
    )
    .action(async (url, { name, type, filter, output: shown, ...form }) => {
      const made = await (
        await context.client()
      ).subscriptions.create({
        ...form,
        name,
        url,
        types: type.length > 0 ? type : ['#'],
        filters: filter.map(readFilter),
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
      const rows = await (await context.client()).subscriptions.list();
      output.list(format, {
        rows,
        none: 'No subscriptions.',
        columns: {
          id: (row) => row.id,
          name: (row) => row.name,
          url: (row) => row.url,
          types: (row) => row.types.join(', '),
          status: (row, colors) => paintStatus(row.status, colors),
          backlog: (row) => row.backlog,
          dropped: (row) => row.dropped?.count ?? 0,
        },
      });
    });
}

function addSubscriptionShow(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('show <id>')
    .description('show a subscription and the state of its deliveries')
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription show 0198…'))
    .action(async (id, { output: format }) => {
      const shown = await (await context.client()).subscriptions.show({ id });
      output.one(format, shown, () => fieldsOf(shown, context));
    });
}

function addSubscriptionDelete(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('delete <ids...>')
    .description('delete subscriptions')
    .addHelpText('after', exampleText('subscription delete 0198…'))
    .action(async (ids) => {
      const client = await context.client();
      for (const id of ids) {
        await client.subscriptions.delete({ id });
        output.line(`Deleted ${id}.`);
      }
    });
}

function addSubscriptionDeliveries(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('deliveries <id>')
    .description('list the latest deliveries of a subscription, or send one again')
    .option('--replay <delivery>', 'send the delivery with this id again')
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription deliveries 0198…', 'subscription deliveries 0198… --replay 0199…'))
    .action(async (id, { replay, output: format }) => {
      const client = await context.client();
      if (replay !== undefined) await client.subscriptions.replay({ id, delivery: replay });
      const rows = await client.subscriptions.deliveries({ id });
      output.list(format, {
        rows,
        none: 'No deliveries.',
        columns: {
          id: (row) => row.id,
          event: (row) => row.event_type,
          status: (row, colors) => paintStatus(row.status, colors),
          attempts: (row) => row.attempts.length,
          last: (row) => formatAge(row.attempts.at(-1)?.at, context.now()),
          answer: (row) => row.attempts.at(-1)?.error ?? row.attempts.at(-1)?.status,
        },
      });
    });
}

function readFilter(text: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed)) return parsed;
  } catch {
    // Reported below, like any other value that is not an object.
  }
  throw new AnnealError(
    'InvalidRequest',
    `--filter must be a JSON object such as {"exact": {"subject": "…"}}, not ${text}`,
  );
}

const verbs = [
  ['pause', 'stop sending; the events wait in the event log', 'Paused'],
  ['resume', 'send again, beginning with what the listener missed; also enables a disabled subscription', 'Resumed'],
  ['retry', 'attempt everything that waits for the listener now', 'Retrying'],
] as const;

function addSubscriptionVerbs(noun: Command, context: CliContext): void {
  for (const [verb, description, done] of verbs) {
    noun
      .command(`${verb} <ids...>`)
      .description(description)
      .addHelpText('after', exampleText(`subscription ${verb} 0198…`))
      .action(async (ids) => {
        const client = await context.client();
        for (const id of ids) {
          await client.subscriptions[verb]({ id });
          context.output.line(`${done} ${id}.`);
        }
      });
  }
}

function addSubscriptionTest(noun: Command, context: CliContext): void {
  noun
    .command('test <id>')
    .description('send a test event to the listener; ask a webhook first that has not agreed to receive events')
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription test 0198…'))
    .action(async (id, { output: format }) => {
      const tested = await (await context.client()).subscriptions.test({ id });
      context.output.one(format, tested, () => [
        ['answer', tested.error ?? tested.status],
        ['ms', tested.ms],
        ['status', paintStatus(tested.subscription.status, context.output.colors)],
      ]);
    });
}

function addSubscriptionRotate(noun: Command, context: CliContext): void {
  noun
    .command('rotate-secret <id>')
    .description('replace the secret that signs the deliveries; both are valid for a while')
    .option('--secret <whsec_…>', 'the new secret (default: generated)')
    .option('--keep <seconds>', 'so long the previous secret signs too', wholeNumber, 86_400)
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription rotate-secret 0198… --keep 3600'))
    .action(async (id, { secret, keep, output: format }) => {
      const made = await (await context.client()).subscriptions.rotateSecret({ id, secret, keepSeconds: keep });
      context.output.one(format, made, () => [
        ...fieldsOf(made.subscription, context),
        ['secret', `${made.secret}  (shown only now)`],
      ]);
    });
}

function addSubscriptionReplay(noun: Command, context: CliContext): void {
  noun
    .command('replay <id>')
    .description('send stored events again, from an event or time to another')
    .requiredOption('--from <id|time>', 'the first event: its id, or the earliest time')
    .option('--to <id|time>', 'the last event: its id, or the latest time (default: the newest)')
    .addHelpText(
      'after',
      exampleText('subscription replay 0198… --from 2030-01-01T00:00:00Z --to 2030-01-01T01:00:00Z'),
    )
    .action(async (id, { from, to }) => {
      const count = await (await context.client()).subscriptions.replayRange({ id, from, to });
      context.output.line(`Sending ${count} event${count === 1 ? '' : 's'} again.`);
    });
}

function addSubscriptionLog(noun: Command, context: CliContext): void {
  noun
    .command('log <id>')
    .description('list the latest requests to the listener, the newest first')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 50)
    .addOption(formatOption())
    .addHelpText('after', exampleText('subscription log 0198… --limit 10'))
    .action(async (id, { limit, output: format }) => {
      const rows = await (await context.client()).subscriptions.attempts({ id, limit });
      context.output.list(format, {
        rows,
        none: 'No attempts.',
        columns: {
          at: (row) => row.at,
          event: (row) => row.event_type,
          id: (row) => row.event_id,
          events: (row) => row.events,
          answer: (row) => row.error ?? row.status,
          ms: (row) => row.ms,
        },
      });
    });
}

const fieldsOf = (shown: SubscriptionView, { output }: CliContext): (readonly [string, string | number | null])[] => [
  ['name', shown.name],
  ['id', shown.id],
  ['url', shown.url],
  ['types', shown.types.join(', ')],
  ['filters', shown.filters && shown.filters.length > 0 ? JSON.stringify(shown.filters) : null],
  ['status', paintStatus(shown.status, output.colors)],
  ['reason', shown.reason ?? null],
  ['on refusal', shown.on_refusal ?? null],
  ['dead letters', shown.dead_letter ?? null],
  ['next attempt', shown.next_attempt_at ?? null],
  ['backlog', shown.backlog],
  ['dropped', droppedText(shown)],
  ['last success', shown.last_success_at],
  ['last failure', shown.last_failure_at],
  ['last error', shown.last_error],
];

function droppedText({ dropped }: SubscriptionView): string {
  if (!dropped) return '0';
  return `${dropped.count}, from ${dropped.since} to ${dropped.last}`;
}
