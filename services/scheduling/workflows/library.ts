/** The ad hoc actions and the environments of a project. Every method is safe under redelivery. */
import type { AdHocActionView, EnvironmentView } from '@anneal/contracts/calls/workflow.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { AdHocAction } from '@anneal/contracts/workflow.ts';
import { parseActions, type KnownActions } from '@anneal/hot/workflow/ad-hoc.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { AdHocDocument, WorkflowEnvironmentDocument } from '../documents/workflows.ts';

/** A project stores at most so many ad hoc actions, and so many environments. */
const mostStored = 1000;

const actionIdOf = (project: string, name: string): string => derivedId(`workflow action ${project}\n${name}`);
const environmentIdOf = (project: string, name: string): string => derivedId(`environment ${project}\n${name}`);

/** The error of a text with mistakes. @param what the noun of the text */
export function mistaken(what: string, mistakes: readonly Mistake[]): AnnealError {
  const count = mistakes.length;
  const message = `${what} has ${count} mistake${count === 1 ? '' : 's'}: ${mistakes.map((each) => each.message).join('; ')}`;
  return new AnnealError('InvalidRequest', message.slice(0, 4000), { mistakes: [...mistakes] });
}

/** Stores and finds what workflows of a project share. */
export class WorkflowLibrary {
  readonly #actions: Collection<AdHocDocument>;
  readonly #environments: Collection<WorkflowEnvironmentDocument>;
  readonly #now: () => Date;

  constructor(parts: {
    adHoc: Collection<AdHocDocument>;
    environments: Collection<WorkflowEnvironmentDocument>;
    now: () => Date;
  }) {
    this.#actions = parts.adHoc;
    this.#environments = parts.environments;
    this.#now = parts.now;
  }

  /** The ad hoc actions that the texts of a project may name. */
  async known(project: string): Promise<KnownActions> {
    const found = await this.#actions.find({ where: { project }, orderBy: ['name'], limit: mostStored });
    return new Map(found.map(({ name, action }) => [name, action]));
  }

  /** Stores all actions of a text, or none. @throws AnnealError InvalidRequest with every mistake, AlreadyExists */
  async create(given: {
    project: string;
    text: string;
    replace: boolean;
    request: string;
  }): Promise<AdHocActionView[]> {
    const { project, text, replace, request } = given;
    const known = await this.known(project);
    const parsed = parseActions(text, known);
    if (!parsed.ok) throw mistaken('The action', parsed.mistakes);
    const names = parsed.actions.map(({ name }) => name).filter((name) => known.has(name));
    const stored = await this.#actions.getMany(names.map((name) => actionIdOf(project, name)));
    const taken = stored.filter((one) => one.request !== request).map(({ name }) => name);
    if (!replace && taken.length > 0) {
      throw new AnnealError('AlreadyExists', `These ad hoc actions exist already: ${taken.join(', ')}. Update them.`);
    }
    requireRoom(known.size + parsed.actions.length - names.length, 'ad hoc actions');
    return this.put({ project, actions: parsed.actions, text, request });
  }

  /** Stores actions that are checked. */
  async put(given: {
    project: string;
    actions: readonly AdHocAction[];
    text: string;
    request: string;
  }): Promise<AdHocActionView[]> {
    const { project, actions, text, request } = given;
    const now = this.#now().toISOString();
    const views: AdHocActionView[] = [];
    for (const action of actions) {
      const id = actionIdOf(project, action.name);
      const { document } = await changeOrInsert(this.#actions, id, (known) => ({
        id,
        project,
        name: action.name,
        action,
        text,
        request,
        created_at: known?.created_at ?? now,
        updated_at: known?.request === request ? known.updated_at : now,
      }));
      views.push(actionView(document as AdHocDocument));
    }
    return views;
  }

  async list(project: string): Promise<AdHocActionView[]> {
    const found = await this.#actions.find({ where: { project }, orderBy: ['name'], limit: mostStored });
    return found.map(actionView);
  }

  /** @throws AnnealError NotFound */
  async remove(project: string, action: string): Promise<void> {
    const found = (await this.#actions.get(actionIdOf(project, action))) ?? (await this.#actions.get(action));
    if (found?.project !== project) {
      throw new AnnealError('NotFound', `The ad hoc action ${action} does not exist in this project.`);
    }
    await this.#actions.remove(found.id);
  }

  /** @throws AnnealError AlreadyExists, NotFound, QuotaExceeded */
  async setEnvironment(given: {
    project: string;
    name: string;
    verb: 'create' | 'update';
    description?: string | undefined;
    variables?: JsonObject | undefined;
  }): Promise<EnvironmentView> {
    const { project, name, verb, description, variables } = given;
    const now = this.#now().toISOString();
    const id = environmentIdOf(project, name);
    if (verb === 'create') requireRoom((await this.#environments.count({ project })) + 1, 'environments');
    const { document } = await changeOrInsert(this.#environments, id, (known) => {
      if (verb === 'update' && !known) throw missingEnvironment(name);
      if (verb === 'create' && known && JSON.stringify(known.variables) !== JSON.stringify(variables ?? {})) {
        throw new AnnealError('AlreadyExists', `The environment ${name} exists already. Update it.`);
      }
      return {
        id,
        project,
        name,
        description: description ?? known?.description ?? '',
        variables: variables ?? known?.variables ?? {},
        created_at: known?.created_at ?? now,
        updated_at: now,
      };
    });
    return environmentView(document as WorkflowEnvironmentDocument);
  }

  async environments(project: string): Promise<EnvironmentView[]> {
    const found = await this.#environments.find({ where: { project }, orderBy: ['name'], limit: mostStored });
    return found.map(environmentView);
  }

  /** @throws AnnealError NotFound */
  async environment(project: string, name: string): Promise<EnvironmentView> {
    const found = await this.#environments.get(environmentIdOf(project, name));
    if (!found) throw missingEnvironment(name);
    return environmentView(found);
  }

  /** @throws AnnealError NotFound */
  async removeEnvironment(project: string, name: string): Promise<void> {
    const { id } = await this.environment(project, name);
    await this.#environments.remove(id);
  }
}

const missingEnvironment = (name: string): AnnealError =>
  new AnnealError('NotFound', `The environment ${name} does not exist in this project.`);

/** @throws AnnealError QuotaExceeded */
function requireRoom(count: number, what: string): void {
  if (count <= mostStored) return;
  throw new AnnealError(
    'QuotaExceeded',
    `Cannot store more ${what}: a project has at most ${mostStored}. Delete some.`,
  );
}

const actionView = ({ id, name, action, text, created_at, updated_at }: AdHocDocument): AdHocActionView => ({
  id,
  name,
  description: action.description,
  tags: action.tags,
  base: action.base,
  input: action.input,
  definition: text,
  created_at,
  updated_at,
});

const environmentView = (document: WorkflowEnvironmentDocument): EnvironmentView => ({
  id: document.id,
  name: document.name,
  description: document.description,
  variables: document.variables,
  created_at: document.created_at,
  updated_at: document.updated_at,
});
