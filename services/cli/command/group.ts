/** `anneal group …`: groups that scale. */
import type { GroupAct, GroupView } from '@anneal/contracts/calls/scaling.ts';
import { Argument, InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { paintStatus } from '../print/status.ts';
import { exampleText, formatOption, wholeNumber } from '../options/options.ts';
import { outcomeLine } from './scaling-outcome.ts';

export function addGroupCommands(program: Command, context: CliContext): void {
  const noun = program.command('group').description('inspect and change groups that scale');
  addGroupList(noun, context);
  addGroupShow(noun, context);
  addGroupWishes(noun, context);
  addGroupChanges(noun, context);
  addGroupRefresh(noun, context);
  addGroupDecide(noun, context);
}

function addGroupList(noun: Command, context: CliContext): void {
  noun
    .command('list')
    .description('list the groups that scale')
    .option('--all-projects', 'the groups of every project; only operators may')
    .addOption(formatOption())
    .addHelpText('after', exampleText('group list', 'group list --all-projects -o json'))
    .action(async ({ output: format, allProjects = false }) => {
      context.output.list(format, {
        rows: await (await context.part('groups')).list({ allProjects }),
        none: 'No group that scales.',
        key: 'stack_id',
        columns: {
          stack: ({ root }) => root?.stack_name,
          group: ({ path }) => path,
          status: ({ status }, colors) => paintStatus(status, colors),
          size: ({ size, wanted }) => (wanted === size ? size : `${size} → ${wanted}`),
          limits: ({ min_size: least, max_size: most }) => `${least ?? 0} to ${most ?? 'any'}`,
          'last decision': ({ outcome }) => outcome?.message,
        },
      });
    });
}

function addGroupShow(noun: Command, context: CliContext): void {
  noun
    .command('show <stack> <group>')
    .description('show a group: its members, and why it scaled or did not')
    .addOption(formatOption())
    .addHelpText('after', exampleText('group show web workers', 'group show web workers -o json'))
    .action(async (stack, group, { output: format }) => {
      const shown = await (await context.part('groups')).show({ stack, group });
      context.output.one(format, shown, () => fieldsOf(shown, context.now()));
    });
}

function fieldsOf(group: GroupView, now: number): (readonly [string, string | number | null])[] {
  const { deciding, refresh, warm_pool: pool } = group;
  return [
    ['name', group.name],
    ['stack', group.stack_name],
    ['status', group.status],
    ['size', `${group.size} (${group.min_size ?? 0} to ${group.max_size ?? 'any'})`],
    ['paused', group.paused],
    ['cooling down until', group.cooldown_until],
    ...(deciding
      ? [
          [
            'deciding',
            `${deciding.before} → ${deciding.after} until ${deciding.deadline}, token ${deciding.token}`,
          ] as const,
        ]
      : []),
    ...(refresh ? [['refresh', `${refresh.state}: ${refresh.done} of ${refresh.total}`] as const] : []),
    ...(pool
      ? [
          [
            'warm pool',
            `${pool.members.length} of ${pool.size}${pool.unfilled ? `, not filled since ${pool.unfilled.since}: ${pool.unfilled.reason}` : ''}`,
          ] as const,
        ]
      : []),
    ...group.members.map((member) => ['member', memberLine(member, now)] as const),
    ...(pool?.members ?? []).map((member) => ['warm', memberLine(member, now)] as const),
    ...group.outcomes.map(
      (outcome) => ['request', `${outcome.at}  ${outcome.policy ?? outcome.reason}  ${outcomeLine(outcome)}`] as const,
    ),
  ];
}

function memberLine(member: GroupView['members'][number], now: number): string {
  const { name, status, created_at: created } = member;
  const marks = [
    ...(member.protected ? ['protected'] : []),
    ...(member.lost_since === null ? [] : [member.lost_reason ?? 'host is silent']),
  ];
  return [name, status, created === null ? '-' : formatAge(created, now), ...marks].join('  ');
}

interface OnGroup {
  readonly stack: string;
  readonly group: string;
  readonly action: GroupAct;
}

async function changeMembers(context: CliContext, given: OnGroup): Promise<void> {
  const { outcome } = await (await context.part('groups')).act(given);
  context.output.prose(outcome ? outcomeLine(outcome) : `Changed ${given.group} of ${given.stack}.`);
}

/** Commands that only note something: protected members, a pause. */
function addGroupWishes(noun: Command, context: CliContext): void {
  const act = async (given: OnGroup, line: string): Promise<void> => {
    await (await context.part('groups')).act(given);
    context.output.line(line);
  };
  for (const safe of [true, false]) {
    const name = safe ? 'protect' : 'unprotect';
    noun
      .command(`${name} <stack> <group> <members...>`)
      .description(safe ? 'keep members when the group shrinks' : 'let members leave again when the group shrinks')
      .addHelpText('after', exampleText(`group ${name} web workers a1b2c3d4e5f6`))
      .action((stack, group, members) => {
        const action = { kind: 'protect', members, protected: safe } as const;
        return act(
          { stack, group, action },
          `${safe ? 'Protected' : 'Unprotected'} ${members.join(', ')} of ${group}.`,
        );
      });
  }
  noun
    .command('pause <stack> <group>')
    .description('refuse what policies ask for, without deleting them')
    .addArgument(
      new Argument('[scaling]', 'the changes to refuse')
        .choices(['out', 'in', 'both'] as const)
        .default('both' as const),
    )
    .addHelpText('after', exampleText('group pause web workers', 'group pause web workers in'))
    .action((stack, group, scaling) =>
      act({ stack, group, action: { kind: 'pause', scaling } }, `Paused scaling (${scaling}) of ${group}.`),
    );
  noun
    .command('resume <stack> <group>')
    .description('let policies scale the group again')
    .addHelpText('after', exampleText('group resume web workers'))
    .action((stack, group) =>
      act({ stack, group, action: { kind: 'pause', scaling: 'none' } }, `Resumed scaling of ${group}.`),
    );
}

/** Commands that ask for other members. */
function addGroupChanges(noun: Command, context: CliContext): void {
  noun
    .command('resize <stack> <group>')
    .argument('<size>', 'number of members', wholeNumber)
    .description('change the number of members; ignores cooldowns')
    .addHelpText('after', exampleText('group resize web workers 4'))
    .action((stack, group, size) => changeMembers(context, { stack, group, action: { kind: 'resize', size } }));
  noun
    .command('remove <stack> <group> <members...>')
    .description('delete members; the group shrinks, or replaces them')
    .option('--replace', 'create new members in their place', false)
    .addOption(yesOption())
    .addHelpText(
      'after',
      exampleText('group remove web workers a1b2c3d4e5f6', 'group remove web workers a1b2c3d4e5f6 --replace'),
    )
    .action(async (...given) => {
      const [stack, group, members, { replace, yes }] = given;
      const what = [
        `Delete ${members.length} members of ${group} of ${stack}: ${members.join(', ')}. Machines in them are erased.`,
      ];
      await confirm(context, { yes, what: () => what });
      return changeMembers(context, { stack, group, action: { kind: 'remove', members, replace } });
    });
}

function addGroupRefresh(noun: Command, context: CliContext): void {
  noun
    .command('refresh <stack> <group>')
    .description('replace all members, in batches; or continue or cancel that')
    .option('--batch <number>', 'members replaced at once', wholeNumber, 1)
    .option('--checkpoint <percentages>', 'wait there until it is continued, for example 20,50', percentages, [])
    .option('--continue', 'continue after a checkpoint', false)
    .option('--cancel', 'stop; replaced members stay', false)
    .addHelpText(
      'after',
      exampleText('group refresh web workers --batch 2 --checkpoint 20,50', 'group refresh web workers --continue'),
    )
    .action(async (stack, group, { batch, checkpoint: checkpoints, continue: goes, cancel }) => {
      const action = cancel
        ? ({ kind: 'cancel refresh' } as const)
        : goes
          ? ({ kind: 'continue refresh' } as const)
          : ({ kind: 'refresh', batch, checkpoints } as const);
      await (await context.part('groups')).act({ stack, group, action });
      context.output.line(`${cancel ? 'Cancelled' : goes ? 'Continued' : 'Started'} the refresh of ${group}.`);
    });
}

function addGroupDecide(noun: Command, context: CliContext): void {
  noun
    .command('decide <stack> <group>')
    .description('answer a group that waits at its hook for a decision')
    .addArgument(new Argument('<result>', 'continue, or abandon the change').choices(['continue', 'abandon'] as const))
    .requiredOption('--token <token>', 'token from the event group.scaling.deciding')
    .option('--size <number>', 'another size than the proposed one', wholeNumber)
    .option('--victim <member...>', 'the members that leave')
    .option('--message <text>', 'the reason, for the events')
    .addHelpText('after', exampleText('group decide web workers continue --token 4711… --victim a1b2c3d4e5f6'))
    .action((...given) => {
      const [stack, group, result, { token, size, victim, message }] = given;
      const action = {
        kind: 'decide',
        token,
        result,
        ...(size !== undefined && { size }),
        ...(victim && { victims: victim }),
        ...(message !== undefined && { message }),
      } as const;
      return changeMembers(context, { stack, group, action });
    });
}

function percentages(text: string): number[] {
  const all = text.split(',').map((part) => wholeNumber(part.trim()));
  if (all.every((percent, index) => percent >= 1 && percent <= 100 && percent > (all[index - 1] ?? 0))) return all;
  throw new InvalidArgumentError(`${text}: give ascending percentages from 1 to 100, for example 20,50.`);
}
