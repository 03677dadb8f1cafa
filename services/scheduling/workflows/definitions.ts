/** The workflows of a project. An execution reads the checked form of its workflow by content hash, as a stack its plan. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { WorkflowView } from '@anneal/contracts/calls/workflow.ts';
import type { WorkflowSpec } from '@anneal/contracts/workflow.ts';
import { parseWorkflows, workflowFrom, type ParsedWorkflows } from '@anneal/hot/workflow/parse.ts';
import { parseActions } from '@anneal/hot/workflow/ad-hoc.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { AdHocDocument, WorkflowDocument, WorkflowEnvironmentDocument } from '../documents/workflows.ts';
import { mistaken, WorkflowLibrary } from './library.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, Store } from '@anneal/store/port.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';

const cached = 256;

/** Stores and finds workflows. Every method is safe under redelivery. */
export class WorkflowDefinitions {
  readonly #workflows: Collection<WorkflowDocument>;
  readonly #store: Store;
  readonly #now: () => Date;
  readonly library: WorkflowLibrary;
  readonly #specs = new Map<string, WorkflowSpec>();

  constructor({
    workflows,
    adHoc,
    environments,
    store,
    now,
  }: {
    workflows: Collection<WorkflowDocument>;
    adHoc: Collection<AdHocDocument>;
    environments: Collection<WorkflowEnvironmentDocument>;
    store: Store;
    now: () => Date;
  }) {
    this.library = new WorkflowLibrary({ adHoc, environments, now });
    this.#workflows = workflows;
    this.#store = store;
    this.#now = now;
  }

  /** The checked workflow of a hash. @throws AnnealError NotFound when its content is missing */
  async spec(hash: string): Promise<WorkflowSpec> {
    const known = this.#specs.get(hash);
    if (known) return known;
    const text = await this.#store.blobs.getText(hash);
    if (text === undefined) throw new AnnealError('NotFound', `The workflow ${hash} is missing in the store.`);
    const spec = parseExact(text) as unknown as WorkflowSpec;
    if (this.#specs.size >= cached) this.#specs.clear();
    this.#specs.set(hash, spec);
    return spec;
  }

  /** Stores all workflows of a text, or none. @throws AnnealError InvalidRequest with every mistake, AlreadyExists */
  async create({
    project,
    text,
    replace,
    request,
  }: {
    project: string;
    text: string;
    replace: boolean;
    request: string;
  }): Promise<WorkflowView[]> {
    const { workflows: specs, actions } = accepted(parseWorkflows(text, await this.library.known(project)));
    for (const { name } of specs) await this.#refuseTaken({ project, name, replace, resource: null, request });
    await this.library.put({ project, actions, text: '', request });
    const views: WorkflowView[] = [];
    for (const spec of specs) views.push(await this.#put({ project, spec, text, resource: null, request }));
    return views;
  }

  /** Stores the workflow of a resource. @throws AnnealError InvalidRequest with every mistake, AlreadyExists */
  async createFor(given: {
    project: string;
    name: string;
    definition: JsonObject;
    resource: string;
  }): Promise<WorkflowView> {
    const { project, name, resource } = given;
    const known = await this.library.known(project);
    const [spec] = accepted(workflowFrom(name, given.definition, known)).workflows;
    if (!spec) throw new AnnealError('InvalidRequest', `The workflow ${name} has no tasks.`);
    await this.#refuseTaken({ project, name, replace: true, resource });
    return this.#put({ project, spec, text: '', resource });
  }

  async #refuseTaken(given: {
    project: string;
    name: string;
    replace: boolean;
    resource: string | null;
    request?: string;
  }): Promise<void> {
    const { project, name, replace, resource, request } = given;
    const found = await this.#workflows.get(idOf(project, name));
    if (!found || (replace && found.resource === resource)) return;
    if (request !== undefined && found.request === request) return;
    const owner = found.resource === null ? 'a client' : `the resource ${found.resource}`;
    const remedy = found.resource === resource ? 'Update it instead' : 'Choose another name';
    throw new AnnealError('AlreadyExists', `The workflow ${name} exists already; ${owner} made it. ${remedy}.`);
  }

  async #put(given: {
    project: string;
    spec: WorkflowSpec;
    text: string;
    resource: string | null;
    request?: string;
  }): Promise<WorkflowView> {
    const { project, spec, text, resource, request } = given;
    const hash = await this.#store.blobs.put(JSON.stringify(spec));
    const now = this.#now().toISOString();
    const id = idOf(project, spec.name);
    const asked = request !== undefined && { request };
    const times = { created_at: now, updated_at: now };
    const wanted = { id, project, name: spec.name, spec: hash, text, resource, ...asked, ...times };
    const { document } = await changeOrInsert(this.#workflows, id, (known) => {
      if (known && request !== undefined && known.request === request) return undefined;
      return { ...wanted, created_at: known?.created_at ?? now };
    });
    return viewOf(document as WorkflowDocument, spec);
  }

  /** Every mistake of a text. Stores nothing. */
  async check(project: string, text: string, kind: 'workflows' | 'actions'): Promise<Mistake[]> {
    const known = await this.library.known(project);
    const parsed = kind === 'workflows' ? parseWorkflows(text, known) : parseActions(text, known);
    return parsed.ok ? [] : parsed.mistakes;
  }

  async list(project: string): Promise<WorkflowView[]> {
    const found = await this.#workflows.find({ where: { project }, orderBy: ['name'] });
    return Promise.all(found.map(async (document) => viewOf(document, await this.spec(document.spec))));
  }

  /** @throws AnnealError NotFound */
  async find(project: string, workflow: string): Promise<WorkflowDocument> {
    const named = await this.#workflows.get(idOf(project, workflow));
    const found = named ?? (await this.#workflows.get(workflow));
    if (found?.project === project) return found;
    throw new AnnealError('NotFound', `The workflow ${workflow} does not exist in this project.`);
  }

  /** @throws AnnealError NotFound */
  async show(project: string, workflow: string): Promise<WorkflowView> {
    const found = await this.find(project, workflow);
    return viewOf(found, await this.spec(found.spec));
  }

  /** Deletes a workflow of a client. @throws AnnealError NotFound, Conflict for the workflow of a resource */
  async remove(project: string, workflow: string): Promise<void> {
    const found = await this.find(project, workflow);
    if (found.resource !== null) {
      const message = `Cannot delete workflow ${found.name}: the resource ${found.resource} of a stack owns it. Delete the resource.`;
      throw new AnnealError('Conflict', message);
    }
    await this.#workflows.remove(found.id);
  }

  /** Deletes the workflow of a resource; does nothing when it is gone, or belongs to another resource. */
  async removeFor({ project, name, resource }: { project: string; name: string; resource: string }): Promise<void> {
    const found = await this.#workflows.get(idOf(project, name));
    if (found?.resource === resource) await this.#workflows.remove(found.id);
  }
}

const idOf = (project: string, name: string): string => derivedId(`workflow ${project}\n${name}`);

function accepted(parsed: ParsedWorkflows): Extract<ParsedWorkflows, { ok: true }> {
  if (parsed.ok) return parsed;
  throw mistaken('The workflow', parsed.mistakes);
}

const viewOf = (document: WorkflowDocument, spec: WorkflowSpec): WorkflowView => ({
  id: document.id,
  name: document.name,
  project: document.project,
  description: spec.description,
  type: spec.type,
  tags: spec.tags,
  input: spec.input,
  tasks: spec.tasks.map(({ name }) => name),
  definition: document.text,
  resource: document.resource,
  created_at: document.created_at,
  updated_at: document.updated_at,
});
