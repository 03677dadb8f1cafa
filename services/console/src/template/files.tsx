/** Files that a template names, and environments: chosen from the reader's machine. */
import { useRef } from 'react';

export interface ExtraFiles {
  readonly files: Readonly<Record<string, string>>;
  /** Names in `files`, merged in order. */
  readonly environments: readonly string[];
}

const isTemplate = (content: string): boolean => /^heat_template_version:/m.test(content);
const isEnvironment = (content: string): boolean =>
  !isTemplate(content) && /^(?:parameters|parameter_defaults|resource_registry|event_sinks):/m.test(content);

export function Files(props: {
  value: ExtraFiles;
  onChange: (value: ExtraFiles) => void;
  /** The first chosen template, when it is the only file. */
  onTemplate: (text: string) => void;
}) {
  const { value, onChange, onTemplate } = props;
  const input = useRef<HTMLInputElement>(null);
  const add = async (chosen: readonly File[]): Promise<void> => {
    const read = await Promise.all(chosen.map(async (file) => [file.name, await file.text()] as const));
    const [only] = read;
    if (read.length === 1 && only && isTemplate(only[1])) {
      onTemplate(only[1]);
      return;
    }
    const environments = read.flatMap(([name, content]) => (isEnvironment(content) ? [name] : []));
    onChange({
      files: { ...value.files, ...Object.fromEntries(read) },
      environments: [...new Set([...value.environments, ...environments])],
    });
  };
  const remove = (name: string): void => {
    const { [name]: _, ...files } = value.files;
    onChange({ files, environments: value.environments.filter((each) => each !== name) });
  };
  const toggle = (name: string): void => {
    const isOn = value.environments.includes(name);
    onChange({
      ...value,
      environments: isOn ? value.environments.filter((each) => each !== name) : [...value.environments, name],
    });
  };
  return (
    <div>
      <input
        ref={input}
        type="file"
        multiple
        className="hidden-label"
        aria-label="Files of the template"
        tabIndex={-1}
        onChange={({ target }) => {
          void add([...(target.files ?? [])]);
          target.value = '';
        }}
      />
      <button type="button" className="button" onClick={() => input.current?.click()}>
        Add a template or files …
      </button>
      <ul>
        {Object.keys(value.files).map((name) => (
          <li key={name} className="row">
            <span className="mono cut grow">{name}</span>
            <label className="row">
              <input type="checkbox" checked={value.environments.includes(name)} onChange={() => toggle(name)} />{' '}
              environment
            </label>
            <button type="button" className="button" aria-label={`Remove ${name}`} onClick={() => remove(name)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
