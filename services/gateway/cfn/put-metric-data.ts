/**
 * CloudWatch's `PutMetricData`, as cfn-push-stats of heat-cfntools sends it: the measurements of a host or of a machine
 * credential, signed with its keys. Pure.
 */
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import { mostMeasurements, type Measurement } from '@anneal/contracts/calls/measuring.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';

/** The parameters of a request by name. */
type Params = ReadonlyMap<string, string>;

const mostDimensions = 10;

/**
 * The measurements of a request. Its dimensions and its namespace become labels.
 * @throws AnnealError InvalidRequest with every mistake
 */
export function measurementsOf(params: Params): Measurement[] {
  const namespace = params.get('Namespace') ?? '';
  const found: Measurement[] = [];
  const mistakes: Mistake[] = [];
  for (let index = 1; index <= mostMeasurements; index += 1) {
    const path = `MetricData.member.${index}`;
    const name = params.get(`${path}.MetricName`);
    if (name === undefined) break;
    const value = Number(params.get(`${path}.Value`) ?? Number.NaN);
    if (!Number.isFinite(value)) mistakes.push(mistakeAt(`${path}.Value`, 'must be a number'));
    const unit = params.get(`${path}.Unit`);
    const at = timeOf(params.get(`${path}.Timestamp`));
    if (at === null) mistakes.push(mistakeAt(`${path}.Timestamp`, 'must be a time'));
    const labels = { ...(namespace !== '' && { Namespace: namespace }), ...dimensionsOf(params, path) };
    found.push({ name, value, labels, ...(unit !== undefined && { unit }), ...(typeof at === 'string' && { at }) });
  }
  if (found.length === 0) mistakes.push(mistakeAt('MetricData.member.1.MetricName', 'must be given'));
  if (mistakes.length === 0) return found;
  const text = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `Cannot store the measurements: ${text}.`, { mistakes });
}

const mistakeAt = (path: string, message: string): Mistake => ({ code: 'InvalidField', path, message });

/** A time without a zone is in UTC, as the clients of AWS send it. Null when it is unreadable. */
function timeOf(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  const at = isoMoment(text);
  return at === undefined ? null : new Date(at).toISOString();
}

function dimensionsOf(params: Params, path: string): Record<string, string> {
  const dimensions: Record<string, string> = {};
  for (let index = 1; index <= mostDimensions; index += 1) {
    const name = params.get(`${path}.Dimensions.member.${index}.Name`);
    if (name === undefined) break;
    dimensions[name] = params.get(`${path}.Dimensions.member.${index}.Value`) ?? '';
  }
  return dimensions;
}
