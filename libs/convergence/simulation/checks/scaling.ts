/** Checks of scalings: each starts once, ends once, and is open exactly as long as the stack document says. */
import type { CheckedStep } from './checked-world.ts';
import { must } from './ledger.ts';

/** Follows the reports of a step. @throws Error that names the scaling */
export function checkScaling({ before, state: { stack }, inputs, outcome }: CheckedStep): void {
  let open = before.scaling ?? null;
  for (const report of outcome.changes.events.flatMap(({ scaling }) => scaling ?? [])) {
    if (report.stage === 'started') {
      must(open === null, `the scaling ${report.id} starts before ${open?.id} has ended`);
      open = report;
    } else {
      must(open?.id === report.id, `the scaling ${report.id} ends, but ${open?.id} is open`);
      must((report.stage === 'failed') === (report.failure !== undefined), `${report.id}: ${report.stage}`);
      open = null;
    }
  }
  must((stack.scaling?.id ?? null) === (open?.id ?? null), `the stack has the scaling ${stack.scaling?.id}`);
  must(stack.phase !== 'idle' || open === null, `the stack is idle, but the scaling ${open?.id} has not ended`);
  const [input] = inputs;
  if (inputs.length !== 1 || input?.kind !== 'group' || before.recent.includes(input.id)) return;
  if (before.deleted_at !== null) return;
  must(JSON.stringify(stack.group) === JSON.stringify(input.group), 'a decision about a group is not stored');
  const reported = outcome.changes.events.filter(({ group }) => group !== undefined);
  must(reported.length === input.reports.length, 'a decision about a group is not reported');
  must(stack.traversal === before.traversal, 'a decision about a group begins a traversal');
}
