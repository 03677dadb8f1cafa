/** `anneal inspection-rule …` */
import type { InspectionRuleCalls } from '@anneal/client/inspection-rules.ts';
import type { InspectionRuleRepresentation } from '@anneal/client/representation.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { readYamlFile } from '../options/files.ts';
import { idOf } from './named.ts';
import { exampleText, formatOption } from '../options/options.ts';

export function addInspectionRuleCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program
    .command('inspection-rule')
    .description('manage the rules that change nodes after their inspection');
  noun
    .command('create <file>')
    .description('create a rule from a file in YAML or JSON: description, priority, conditions and actions')
    .addOption(formatOption())
    .addHelpText('after', exampleText('inspection-rule create gpu.yaml'))
    .action(async (file, { output: format }) => {
      const rule = await readRule(file, context.cwd);
      const created = await (await context.part('inspectionRules')).create({ rule });
      output.one(format, created, () => ruleFields(created));
    });
  noun
    .command('list')
    .description('list inspection rules in the order in which they run')
    .addOption(formatOption())
    .addHelpText('after', exampleText('inspection-rule list', 'inspection-rule list -o json'))
    .action(async ({ output: format }) => {
      output.list(format, {
        rows: await (await context.part('inspectionRules')).list(),
        none: 'No inspection rules. Create one: anneal inspection-rule create FILE',
        key: 'uuid',
        columns: {
          priority: (row) => row.priority,
          description: (row) => row.description,
          id: (row) => row.uuid,
        },
      });
    });
  noun
    .command('show <inspection-rule>')
    .description('show an inspection rule by id or description')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('inspection-rule show 0198…', 'inspection-rule show "machines with a GPU" -o yaml'),
    )
    .action(async (given, { output: format }) => {
      const rules = await context.part('inspectionRules');
      const shown = await rules.show({ rule: await ruleId(given, rules) });
      output.one(format, shown, () => ruleFields(shown));
    });
  noun
    .command('delete <inspection-rule>')
    .description('delete an inspection rule by id or description; nodes keep what it has set')
    .addOption(yesOption())
    .addHelpText('after', exampleText('inspection-rule delete "machines with a GPU"'))
    .action(async (given, { yes }) => {
      await confirm(context, {
        yes,
        what: () => [`Delete the inspection rule ${given}. It runs after no inspection.`],
      });
      const rules = await context.part('inspectionRules');
      await rules.remove({ rule: await ruleId(given, rules) });
      output.line(`Deleted the inspection rule ${given}.`);
    });
}

const ruleId = (given: string, rules: Pick<InspectionRuleCalls, 'list'>): Promise<string> =>
  idOf(given, {
    kind: 'inspection rule',
    list: async () => (await rules.list()).map(({ uuid: id, description: name }) => ({ id, name })),
  });

/** @throws AnnealError InvalidRequest for a file that holds no rule */
async function readRule(file: string, cwd: string) {
  const rule = await readYamlFile(file, cwd);
  if (isObject(rule)) return rule;
  throw new AnnealError(
    'InvalidRequest',
    `The file ${file} holds no inspection rule, such as {actions: [{op: add-trait, args: {name: CUSTOM_GPU}}]}.`,
  );
}

const ruleFields = (rule: InspectionRuleRepresentation): [string, unknown][] => [
  ['id', rule.uuid],
  ['description', rule.description],
  ['priority', rule.priority],
  ['sensitive', rule.sensitive],
  ['conditions', rule.conditions],
  ['actions', rule.actions],
  ['created', rule.created_at],
];
