/** Refuses measurements that cannot be stored as given, with every mistake. Pure. */
import { placeLabels, type Labels, type Measurement } from '@anneal/contracts/calls/measuring.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';

/** A poster's clock may be ahead by this much. */
const mostAheadMs = 300_000;
const mostMistakes = 50;

export interface MeasurementLimits {
  readonly now: number;
  /** Older measurements would be removed at once. */
  readonly keepMs: number;
  /** Whether the server sets the labels of the place, so that the poster must not. */
  readonly placed: boolean;
  /** The names that the credential of the poster allows. Undefined: all. */
  readonly names?: readonly string[] | undefined;
}

/** @throws AnnealError InvalidRequest */
export function checkMeasurements(measurements: readonly Measurement[], options: MeasurementLimits): void {
  const mistakes = measurements.flatMap((each, index) => mistakesOf(each, `measurements.${index}`, options));
  if (mistakes.length === 0) return;
  const shown = mistakes.slice(0, mostMistakes);
  const more = mistakes.length > shown.length ? `; and ${mistakes.length - shown.length} more` : '';
  throw new AnnealError(
    'InvalidRequest',
    `Cannot store the measurements: ${shown.map(({ path, message }) => `${path}: ${message}`).join('; ')}${more}.`,
    { mistakes: shown },
  );
}

function mistakesOf({ name, at, labels = {} }: Measurement, path: string, options: MeasurementLimits): Mistake[] {
  const mistake = (field: string, message: string): Mistake => ({
    code: 'InvalidField',
    path: `${path}.${field}`,
    message,
  });
  const found: Mistake[] = [];
  if (options.names && !options.names.includes(name)) {
    found.push(mistake('name', `this credential may post only ${options.names.join(', ')}`));
  }
  const time = at === undefined ? options.now : Date.parse(at);
  if (time > options.now + mostAheadMs) {
    found.push(mistake('at', `${at ?? ''} is in the future; check the clock of the poster`));
  } else if (time < options.now - options.keepMs) {
    found.push(
      mistake('at', `${at ?? ''} is older than ${options.keepMs / 1000} s, from which measurements are removed`),
    );
  }
  if (options.placed) {
    const forged = placeLabels.filter((label) => Object.hasOwn(labels, label));
    found.push(...forged.map((label) => mistake(`labels.${label}`, 'the server sets this label; leave it out')));
  }
  return found;
}

/** Labels in one order, so that equal sets give equal texts. */
export const labelsText = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
