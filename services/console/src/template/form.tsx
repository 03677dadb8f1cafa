/** The parameters of a template as a form: their types, defaults and limits. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

export type Values = Readonly<Record<string, string>>;

const text = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

/** Parameters without a default and without a value. */
export const missingIn = (parameters: Readonly<Record<string, JsonObject>>, values: Values): string[] =>
  Object.entries(parameters).flatMap(([name, { Default: preset, Value: given }]) =>
    preset === undefined && given === undefined && (values[name] ?? '') === '' ? [name] : [],
  );

/** The limits of a parameter in words. */
function limitsOf(schema: JsonObject): string {
  const between = (least: Json | undefined, most: Json | undefined, what: string): string[] =>
    least === undefined && most === undefined
      ? []
      : [
          `${what} ${least === undefined ? `at most ${text(most)}` : most === undefined ? `at least ${text(least)}` : `${text(least)} to ${text(most)}`}`,
        ];
  return [
    ...between(schema['MinLength'], schema['MaxLength'], 'length'),
    ...between(schema['MinValue'], schema['MaxValue'], 'value'),
    ...(schema['AllowedPattern'] === undefined ? [] : [`matches ${text(schema['AllowedPattern'])}`]),
    ...(schema['ConstraintDescription'] === undefined ? [] : [text(schema['ConstraintDescription'])]),
  ].join(', ');
}

function Input(props: {
  id: string;
  schema: JsonObject;
  value: string;
  isWrong: boolean;
  onChange: (value: string) => void;
}) {
  const { id, schema, value, isWrong, onChange } = props;
  const preset = text(schema['Value'] ?? schema['Default']);
  const allowed = schema['AllowedValues'];
  const shared = { id, className: 'field', 'aria-invalid': isWrong, 'aria-describedby': `${id}-about` };
  const choices = Array.isArray(allowed)
    ? allowed.map(text)
    : schema['Type'] === 'Boolean'
      ? ['true', 'false']
      : undefined;
  if (choices) {
    return (
      <select {...shared} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{preset === '' ? 'Choose …' : `${preset} (default)`}</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  }
  if (schema['Type'] === 'Json') {
    return (
      <textarea
        {...shared}
        rows={3}
        value={value}
        placeholder={preset}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <input
      {...shared}
      type={schema['NoEcho'] === 'true' ? 'password' : 'text'}
      autoComplete="off"
      inputMode={schema['Type'] === 'Number' ? 'decimal' : 'text'}
      value={value}
      placeholder={preset}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export function ParameterForm(props: {
  parameters: Readonly<Record<string, JsonObject>>;
  values: Values;
  mistakes: readonly Mistake[];
  onChange: (values: Values) => void;
}) {
  const { parameters, values, mistakes, onChange } = props;
  const entries = Object.entries(parameters);
  const missing = new Set(missingIn(parameters, values));
  if (entries.length === 0) return <p className="dim">The template has no parameters.</p>;
  return (
    <div className="form">
      {entries.map(([name, schema]) => {
        const id = `parameter-${name}`;
        const wrong = mistakes.find(
          ({ path }) => path === `parameters.${name}` || path.startsWith(`parameters.${name}.`),
        );
        const about = [text(schema['Description']), limitsOf(schema)].filter((part) => part !== '').join(' · ');
        return (
          <div key={name}>
            <label htmlFor={id}>
              {text(schema['Label']) || name}{' '}
              <span className="dim">
                {text(schema['Type']).replace('CommaDelimitedList', 'list').toLowerCase()}
                {schema['NoEcho'] === 'true' && ', hidden'}
                {missing.has(name) && ', required'}
              </span>
            </label>
            <Input
              id={id}
              schema={schema}
              value={values[name] ?? ''}
              isWrong={wrong !== undefined}
              onChange={(value) => onChange({ ...values, [name]: value })}
            />
            <span id={`${id}-about`} className={wrong ? 'tone-failed' : 'dim'}>
              {wrong?.message ?? about}
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** The values that differ from those at the start, as they are sent. An emptied field returns to its default. */
export const changedValues = (values: Values, start: Values): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== '' && value !== start[name]));
