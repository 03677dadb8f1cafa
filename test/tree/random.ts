/**
 * Trees that a seed draws: nesting, types, hidden parameters, groups, chains, conditions, and values that a worker must
 * evaluate. The same seed draws the same templates for all values.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { randomOf } from '../chaos/random.ts';
import type { TemplateDraft } from './draft.ts';
import { Library, type TemplateType } from './library.ts';
import {
  chosen,
  heavy,
  joined,
  joinedList,
  mapped,
  literalOf,
  replaced,
  shortened,
  type KnownValue,
  type KnownCondition,
} from './known.ts';
import type { Tree } from './overcloud.ts';

export interface RandomTree {
  readonly seed: number;
  /** Levels of nested stacks. A group counts twice. */
  readonly levels: number;
  /** Resources of a template. */
  readonly width: number;
  /** The values of the root's parameters, and of the default that only the deepest stacks read. */
  readonly text: string;
  readonly secret: string;
  readonly deep: string;
}

const typeOf = (level: number, index: number): string => `Tree::Level${level}::Number${index}`;
const typesALevel = 2;

/** Draws from the numbers of one template. */
class Draws {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomOf(seed);
  }

  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }
}

/** The texts that the resources of a template may read, and how they are combined. */
class Texts {
  readonly #all: KnownValue[];
  readonly #draws: Draws;
  readonly #condition: KnownCondition;

  constructor(all: readonly KnownValue[], draws: Draws, condition: KnownCondition) {
    this.#all = [...all];
    this.#draws = draws;
    this.#condition = condition;
  }

  add(text: KnownValue): void {
    this.#all.push(text);
  }

  /** Prefers the latest, so that values wait for each other, and several for the same one. */
  pick(): KnownValue {
    const late = this.#all.slice(-3);
    return this.#draws.of(this.#draws.chance(0.7) ? late : this.#all);
  }

  combine(label: string): KnownValue<string> {
    const [first, second] = [this.pick(), this.pick()];
    switch (this.#draws.below(4)) {
      case 0:
        return replaced(`${label} of _first_ and _second_`, { _first_: first, _second_: second });
      case 1:
        return joined('|', [literalOf(label), chosen(this.#condition, [first, second])]);
      case 2:
        return joined('+', [literalOf(label), second, this.pick(), first]);
      default:
        return joined('-', [literalOf(label), first]);
    }
  }
}

type Kind = 'value' | 'heavy' | 'slow' | 'random' | 'conditional' | 'map' | 'nested' | 'group' | 'chain';
const leaves: readonly Kind[] = ['value', 'value', 'value', 'heavy', 'slow', 'slow', 'random', 'conditional', 'map'];
const nesting: readonly Kind[] = ['nested', 'group', 'chain'];

/** Adds a drawn resource. Returns the text that others may read from it. */
function addDrawn(
  draft: TemplateDraft,
  { name, kind, level, texts, draws }: { name: string; kind: Kind; level: number; texts: Texts; draws: Draws },
  condition: KnownCondition,
): KnownValue {
  const given = (): Record<string, KnownValue> => ({
    Text: shortened(texts.combine(name)),
    Secret: shortened(texts.pick()),
  });
  switch (kind) {
    case 'value':
      return draft.value(name, texts.combine(name));
    case 'heavy':
      return draft.value(name, heavy(texts.combine(name), 20 + draws.below(20)));
    case 'slow':
      return draft.slow(name, texts.combine(name), { seconds: draws.of([0, 0.02, 0.05, 0.1]) });
    case 'random':
      return draft.random(name, {
        letter: draws.of(['a', 'b', 'c']),
        length: 5 + draws.below(20),
        salt: literalOf(''),
      });
    case 'conditional': {
      const held = draft.value(name, texts.combine(name), { when: condition });
      return chosen(condition, [held, texts.pick()]);
    }
    case 'map': {
      const held = draft.value(name, mapped({ one: texts.combine('one'), two: texts.pick() }), { type: 'json' });
      return { hot: { get_attr: [name, 'value', 'one'] }, value: (held.value as JsonObject)['one'] ?? null };
    }
    case 'nested':
      return draft.nested(name, typeOf(level + 1, draws.below(typesALevel)), given()).read(draws.of(['one', 'two']));
    case 'group': {
      const [type, own] = [typeOf(level + 1, draws.below(typesALevel)), given()];
      const group = draft.group(name, {
        count: literalOf(1 + draws.below(2)),
        type,
        properties: (index) => ({ ...own, Text: joined('#', [index, own['Text'] ?? literalOf('')]) }),
      });
      return draws.chance(0.5) ? joinedList('/', group.read('one')) : group.readOne(0, 'two');
    }
    case 'chain': {
      const types = draft.parameter(`Types${level}`, { type: 'comma_delimited_list' });
      return joinedList('/', draft.chain(name, types, given()).read(draws.of(['one', 'two'])));
    }
  }
}

/** The template of a type. Its draws do not depend on values, so that all its stacks have the same text. */
function template({ seed, levels, width }: RandomTree, level: number, index: number) {
  return (draft: TemplateDraft): void => {
    const draws = new Draws(seed * 1000 + level * 10 + index);
    const text = draft.parameter('Text', { type: 'string' });
    const secret = draft.parameter('Secret', { type: 'string', hidden: level === 0 || draws.chance(0.3) });
    const deep = draft.parameter(`Deep${level}`, { type: 'string', default: 'unset' });
    const condition = draft.condition('drawn', [deep, literalOf(draws.chance(0.5) ? 'unset' : `first-${level}`)]);
    const texts = new Texts([text, secret, deep], draws, condition);
    const isLast = level === levels;
    for (let count = 0; count < width; count += 1) {
      // The stacks below the root reach others only by types that come as values.
      const isNested = !isLast && (count === 1 || draws.chance(0.15));
      const kind = isNested ? (level === 1 ? 'chain' : draws.of(nesting)) : draws.of(leaves);
      const name = `${kind}-${count}`;
      texts.add(addDrawn(draft, { name, kind, level, texts, draws }, condition));
    }
    // Two resources that do not wait for each other, and values that wait for both or for the later one.
    const early = draft.slow('early', texts.combine('early'), { seconds: 0 });
    const late = draft.slow('late', joined(' ', [literalOf('late'), texts.pick()]), { seconds: 0.1 });
    const both = draft.value('both', joined('&', [secret, late, early]));
    const one = draft.value('one', joined('&', [literalOf('one'), late]));
    const worker = draft.value('worker', heavy(joined('&', [late, deep]), 20 + index));
    draft.output('one', shortened(joined('~', [one, text, both])));
    draft.output('two', shortened(joined('~', [literalOf(`${level}.${index}`), worker, texts.pick()])));
    draft.output('all', mapped({ both, one, worker, last: texts.pick() }));
  };
}

export function randomTree(drawn: RandomTree): Tree {
  const { levels, text, secret, deep } = drawn;
  const draws = new Draws(drawn.seed);
  const types: Record<string, TemplateType> = {};
  const defaults: { [name: string]: JsonObject[string] } = {};
  for (let level = 1; level <= levels; level += 1) {
    for (let index = 0; index < typesALevel; index += 1)
      types[typeOf(level, index)] = {
        file: `level-${level}-${index}.yaml`,
        write: template(drawn, level, index),
      };
    // The types of chains come from the environment, so that no template names them.
    defaults[`Types${level - 1}`] = Array.from({ length: 1 + draws.below(2) }, () =>
      typeOf(level, draws.below(typesALevel)),
    );
  }
  // Only the deepest stacks read it.
  defaults[`Deep${levels}`] = `${deep}-${levels}`;
  const library = new Library({ types, defaults });
  const parameters = { Text: text, Secret: secret };
  const draft = library.draft({ write: template(drawn, 0, 0) }, parameters);
  return {
    template: JSON.stringify(draft.template()),
    files: Object.fromEntries(library.files),
    environment: library.environment(),
    parameters,
    expected: draft.expected,
    secrets: [secret],
  };
}
