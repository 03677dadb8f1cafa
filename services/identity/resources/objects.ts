/** Groups, projects and roles as resources. */
import { nameField, tagsField, textField } from '@anneal/contracts/calls/identity-fields.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import { z } from 'zod';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { refuseParent, removeProject } from '../objects/removal.ts';
import { checkPlace, projectTaken, refuseDisabling } from '../objects/projects.ts';
import { takenInDomain } from '../objects/parts.ts';
import { rolesField } from './assignments.ts';
import { insertOwn, needsNew, type IdentityKind, type WantedObject } from './kind.ts';
import { domainId, grantsAfter, grantsOf, idIn } from './references.ts';

/** The fields of the properties; without a name the physical name of the resource. @throws AnnealError InvalidRequest */
export const fieldsGiven = <T>(fields: z.ZodType<T>, { properties, request }: WantedObject, what: string): T =>
  parseField(fields, { ...properties, name: properties['name'] ?? request.data.resource.physical_name }, what);

export const flagField = z.boolean().nullish();

const groupFields = z.object({
  name: nameField(255),
  domain: z.string().nullish(),
  description: textField.optional(),
  roles: rolesField,
});

/** `OS::Keystone::Group`. */
export const userGroupKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.groups.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.groups.find(id)) !== undefined,
  remove: ({ directory }, id) => directory.groups.remove(id),
  async apply({ directory }, wish) {
    const { id, before, applies } = wish;
    const { name, domain, description = '', roles } = fieldsGiven(groupFields, wish, 'The group');
    const { groups } = directory;
    const domain_id = await domainId(directory, domain ?? defaultDomain.id);
    const grants = await grantsOf(directory, roles ?? []);
    const taken = takenInDomain({ name, domain_id });
    const known = await groups.find(id);
    if (before && !known) return needsNew(`The group ${name} was deleted.`);
    if (known && known.domain_id !== domain_id) return needsNew(`The domain of the group ${name} cannot change.`);
    if (!known) {
      await insertOwn(groups, { id, name, domain_id, description, grants: [], extra: {} }, { name, taken });
    }
    await groups.update(
      id,
      (present) => ({
        ...present,
        ...(applies('name') && { name }),
        ...(applies('description') && { description }),
        grants: grantsAfter(present.grants, grants, id),
      }),
      taken,
    );
    return { kind: 'complete', physical_id: id, attributes: {} };
  },
};

const projectFields = z.object({
  name: nameField(64),
  domain: z.string().nullish(),
  description: textField.optional(),
  enabled: flagField,
  parent: z.string().nullish(),
  tags: tagsField.nullish(),
});

/** `OS::Keystone::Project`. */
export const projectKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.projects.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.projects.find(id)) !== undefined,
  async remove(options, id) {
    const project = await options.directory.projects.find(id);
    if (!project) return;
    await refuseParent(options, project);
    await removeProject(options, project);
  },
  async apply(options, wish) {
    const { id, before, applies } = wish;
    const { directory } = options;
    const { projects } = directory;
    const fields = fieldsGiven(projectFields, wish, 'The project');
    const { name, description = '', tags } = fields;
    const enabled = fields.enabled ?? true;
    const domain_id = await domainId(directory, fields.domain ?? defaultDomain.id);
    const known = await projects.find(id);
    if (before && !known) return needsNew(`The project ${name} was deleted.`);
    if (known && known.domain_id !== domain_id) return needsNew(`The domain of the project ${name} cannot change.`);
    const taken = projectTaken({ name, id });
    if (known) {
      if (applies('enabled') && !enabled) await refuseDisabling(options, known);
      const change = {
        ...(applies('name') && { name }),
        ...(applies('description') && { description }),
        ...(applies('enabled') && { enabled }),
        ...(applies('tags') && { tags: tags ?? [] }),
      };
      await projects.update(id, (present) => ({ ...present, ...change }), taken);
    } else {
      const parent =
        fields.parent == null ? undefined : await projects.get(await idIn(directory, projects, fields.parent));
      await checkPlace(options, { domain_id, parent });
      const parent_id = parent?.id ?? domain_id;
      const draft = { id, name, description, domain_id, parent_id, enabled, tags: tags ?? [], extra: {} };
      await insertOwn(projects, draft, { name, taken });
    }
    const now = await projects.get(id);
    const attributes = {
      name: now.name,
      parent_id: now.parent_id,
      domain_id,
      enabled: now.enabled,
      is_domain: false,
    };
    return { kind: 'complete', physical_id: id, attributes };
  },
};

const roleFields = z.object({ name: nameField(255), domain: z.string().nullish() });

/** `OS::Keystone::Role`. */
export const roleKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.roles.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.roles.find(id)) !== undefined,
  remove: ({ directory }, id) => directory.roles.remove(id),
  async apply({ directory }, wish) {
    const { id, before, applies } = wish;
    const { roles } = directory;
    const { name, domain } = fieldsGiven(roleFields, wish, 'The role');
    const known = await roles.find(id);
    if (before && !known) return needsNew(`The role ${name} was deleted.`);
    const taken = `Duplicate entry found with name ${name}.`;
    if (!known) {
      const domain_id = domain == null ? '' : await domainId(directory, domain);
      const draft = { id, name, domain_id, description: null, implies: [], extra: {} };
      await insertOwn(roles, draft, { name, taken });
    } else if (applies('name')) await roles.update(id, (present) => ({ ...present, name }), taken);
    return { kind: 'complete', physical_id: id, attributes: {} };
  },
};
