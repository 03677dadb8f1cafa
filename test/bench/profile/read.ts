/** Reads processor profiles of V8: the time of each function itself, without the functions that it calls. */

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples?: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas?: readonly number[];
}

export interface FunctionTime {
  readonly name: string;
  /** `file:line`. */
  readonly place: string;
  readonly milliseconds: number;
}

export interface ThreadTime {
  /** Without the idle time. */
  readonly milliseconds: number;
  readonly functions: readonly FunctionTime[];
  /** The entries beside functions: the idle time, the garbage collector, and native code that is not a call. */
  readonly apart: readonly { readonly name: string; readonly milliseconds: number }[];
}

export const idle = '(idle)';
const apartNames = [idle, '(garbage collector)', '(program)', '(root)'];

/** The times of several profiles together. `root` is a folder that places are relative to. */
export function timesOf(profiles: readonly CpuProfile[], root: string): ThreadTime {
  const functions = new Map<string, FunctionTime>();
  const apart = new Map<string, number>();
  for (const { nodes, samples = [], timeDeltas = [] } of profiles) {
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
    samples.forEach((id, index) => {
      const frame = frames.get(id);
      if (!frame) return;
      // A sample lasts until the next one.
      const milliseconds = Math.max(0, timeDeltas[index + 1] ?? 0) / 1000;
      const { functionName, url, lineNumber } = frame;
      if (apartNames.includes(functionName)) {
        apart.set(functionName, (apart.get(functionName) ?? 0) + milliseconds);
        return;
      }
      const name = functionName === '' ? '(anonymous)' : functionName;
      const place = url === '' ? 'native' : `${url.replace(`file://${root}/`, '')}:${lineNumber + 1}`;
      const key = `${name} ${place}`;
      functions.set(key, { name, place, milliseconds: (functions.get(key)?.milliseconds ?? 0) + milliseconds });
    });
  }
  const dearest = [...functions.values()].toSorted((one, other) => other.milliseconds - one.milliseconds);
  const others = [...apart].map(([name, milliseconds]) => ({ name, milliseconds }));
  const busy = others.filter(({ name }) => name !== idle);
  return {
    milliseconds: [...dearest, ...busy].reduce((sum, { milliseconds }) => sum + milliseconds, 0),
    functions: dearest,
    apart: others.filter(({ milliseconds }) => milliseconds > 0),
  };
}
