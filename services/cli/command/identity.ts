/** `anneal project …`, `anneal user …` and `anneal token …`: who may use this server, and for what. */
import { roleMeanings, type AccessRuleView } from '@anneal/client/identity.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { quotaNames, type QuotaChanges, type QuotaName } from '@anneal/contracts/calls/quotas.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { readText } from '../options/files.ts';
import { collect, exampleText, formatOption } from '../options/options.ts';

/** Adds the nouns project, user and token. */
export function addIdentityCommands(program: Command, context: CliContext): void {
  addProjectCommands(program, context);
  addUserCommands(program, context);
  addTokenCommands(program, context);
}

function addProjectCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const calls = async () => (await context.part('identity')).projects;
  const noun = program.command('project').description('manage projects: what stacks, hosts and queues belong to');
  noun
    .command('list')
    .description('list the projects')
    .addOption(formatOption())
    .addHelpText('after', exampleText('project list', 'project list -o json'))
    .action(async ({ output: format }) => {
      output.list(format, {
        rows: await (await calls()).list(),
        none: 'No projects.',
        columns: {
          name: (row) => row.name,
          enabled: (row) => (row.enabled ? 'yes' : 'no'),
          description: (row) => row.description,
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('show <project>')
    .description('show a project and who has which role in it')
    .addOption(formatOption())
    .addHelpText('after', exampleText('project show web'))
    .action(async (name, { output: format }) => {
      const identity = await context.part('identity');
      const project = await identity.projects.show(name);
      const grants = await identity.roles.list({ project: project.id });
      output.one(format, { ...project, roles: grants }, () => [
        ['name', project.name],
        ['id', project.id],
        ['enabled', project.enabled ? 'yes' : 'no'],
        ['description', project.description],
        ...grants.map(({ user, group, role }): [string, string] => [
          user ? `user ${user.name}` : `group ${group?.name ?? ''}`,
          role.name,
        ]),
      ]);
    });
  noun
    .command('create <name>')
    .description('create a project')
    .option('--description <text>', 'what it is for')
    .addOption(formatOption())
    .addHelpText('after', exampleText('project create web', 'project create web --description "the shop"'))
    .action(async (name, { description, output: format }) => {
      const project = await (await calls()).create({ name, description });
      if (format === 'table') output.line(`Created the project ${name} (${project.id}).`);
      else output.one(format, project, () => []);
    });
  addQuotaCommand(noun, context);
  addProjectChanges(noun, context);
  noun
    .command('delete <project>')
    .description('delete a project that has no stacks')
    .addOption(yesOption())
    .addHelpText('after', exampleText('project delete web'))
    .action(async (name, { yes }) => {
      await confirm(context, {
        yes,
        what: () => [`Delete the project ${name} with its role assignments, permanently.`],
      });
      await (await calls()).remove(name);
      output.line(`Deleted the project ${name}.`);
    });
}

function addProjectChanges(noun: Command, context: CliContext): void {
  const { output } = context;
  const calls = async () => (await context.part('identity')).projects;
  noun
    .command('set <project>')
    .description('change the name or the description of a project')
    .option('--name <name>', 'its new name')
    .option('--description <text>', 'what it is for')
    .addHelpText('after', exampleText('project set web --description "the shop"', 'project set web --name shop'))
    .action(async (project, { name, description }) => {
      if (name === undefined && description === undefined) {
        throw new AnnealError('InvalidRequest', 'Nothing to change: give --name or --description.');
      }
      await (await calls()).set({ project, name, description });
      output.line(`Changed the project ${name ?? project}.`);
    });
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    noun
      .command(`${verb} <project>`)
      .description(
        enabled
          ? 'let users log in to a project again'
          : 'keep users from logging in to a project, and end its tokens; its stacks and hosts stay as they are',
      )
      .addHelpText('after', exampleText(`project ${verb} web`))
      .action(async (project) => {
        await (await calls()).set({ project, enabled });
        output.line(`The project ${project} is ${verb}d.`);
      });
  }
}

function addQuotaCommand(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('quota <project> [limits...]')
    .description('show what a project may use and uses, or set limits: stacks=20 hosts=default')
    .addOption(formatOption())
    .addHelpText(
      'after',
      `${exampleText('project quota web', 'project quota web stacks=20 hosts=50', 'project quota web hosts=default')}\nLimits: ${quotaNames.join(', ')}. Only administrators set them. A limit below what the project uses\nremoves nothing and refuses only more.`,
    )
    .action(async (project, given, { output: format }) => {
      const { projects } = await context.part('identity');
      const limits = limitsOf(given);
      const rows = given.length === 0 ? await projects.quota(project) : await projects.setQuota({ project, limits });
      output.list(format, {
        rows,
        none: 'No quotas.',
        columns: {
          limit: (row) => row.name,
          used: (row) => String(row.used),
          most: (row) => String(row.limit),
          default: (row) => (row.limit === row.default ? '' : String(row.default)),
        },
      });
    });
}

/** `stacks=20` and `hosts=default`. @throws AnnealError InvalidRequest that names each wrong one */
function limitsOf(given: readonly string[]): QuotaChanges {
  const limits: QuotaChanges = {};
  const mistakes: Mistake[] = [];
  for (const each of given) {
    const [, name = '', value = ''] = /^([^=]*)=(default|\d{1,15})$/.exec(each) ?? [];
    if (isQuotaName(name)) limits[name] = value === 'default' ? null : Number(value);
    else {
      const message = `is no limit: write NAME=NUMBER or NAME=default, with one of the names ${quotaNames.join(', ')}`;
      mistakes.push({ code: 'InvalidValue', path: each, message });
    }
  }
  if (mistakes.length > 0) throw new AnnealError('InvalidRequest', 'Could not set the quota.', { mistakes });
  return limits;
}

const isQuotaName = (name: string): name is QuotaName => (quotaNames as readonly string[]).includes(name);

const roleNames = Object.entries(roleMeanings)
  .map(([role, meaning]) => `${role} (${meaning})`)
  .join(', ');

function addUserCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const calls = () => context.part('identity');
  const noun = program.command('user').description('manage users and their roles in projects');
  noun
    .command('list')
    .description('list the users')
    .addOption(formatOption())
    .addHelpText('after', exampleText('user list'))
    .action(async ({ output: format }) => {
      output.list(format, {
        rows: await (await calls()).users.list(),
        none: 'No users.',
        columns: { name: (row) => row.name, enabled: (row) => (row.enabled ? 'yes' : 'no'), id: (row) => row.id },
      });
    });
  noun
    .command('show <user>')
    .description('show a user and its roles')
    .addOption(formatOption())
    .addHelpText('after', exampleText('user show ann'))
    .action(async (name, { output: format }) => {
      const identity = await calls();
      const user = await identity.users.show(name);
      const grants = await identity.roles.list({ user: user.id });
      output.one(format, { ...user, roles: grants }, () => [
        ['name', user.name],
        ['id', user.id],
        ['enabled', user.enabled ? 'yes' : 'no'],
        ...grants.map(({ scope, role }): [string, string] => [placeOf(scope), role.name]),
      ]);
    });
  noun
    .command('create <name>')
    .description('create a user; without a file, its password is generated and shown once')
    .option('--project <project>', 'project in which it gets the role, and its default project')
    .option('--role <role>', `role in that project: ${roleNames}`, 'member')
    .option('--password-file <file>', 'read its password from the first line of this file')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('user create ann --project web', 'user create ci --project web --role reader --password-file ci.txt'),
    )
    .action(async (name, { project, role, passwordFile, output: format }) => {
      const identity = await calls();
      const password = passwordFile === undefined ? generated() : await passwordIn(passwordFile, context.cwd);
      const user = await identity.users.create({ name, password, project });
      if (project !== undefined) await identity.roles.grant({ user: user.id, role, project });
      output.one(format, { ...user, ...(passwordFile === undefined && { password }) }, () => [
        ['name', user.name],
        ['id', user.id],
        ...(project === undefined ? [] : [[`project ${project}`, role] as [string, string]]),
        ...(passwordFile === undefined ? [['password', password] as [string, string]] : []),
      ]);
      if (format === 'table' && passwordFile === undefined) {
        output.note(`Give ${name} this password now: it is not shown again.`);
      }
    });
  addStateVerbs(noun, context);
  addRoleVerbs(noun, context);
}

function addStateVerbs(noun: Command, context: CliContext): void {
  const { output } = context;
  const calls = () => context.part('identity');
  noun
    .command('delete <user>')
    .description('delete a user; its tokens end at once')
    .addOption(yesOption())
    .addHelpText('after', exampleText('user delete ann'))
    .action(async (name, { yes }) => {
      const what = () => [`Delete the user ${name}, its roles and its tokens for programs, permanently.`];
      await confirm(context, { yes, what });
      await (await calls()).users.remove(name);
      output.line(`Deleted the user ${name}.`);
    });
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    noun
      .command(`${verb} <user>`)
      .description(enabled ? 'let a user log in again' : 'keep a user from logging in; its tokens end at once')
      .addHelpText('after', exampleText(`user ${verb} ann`))
      .action(async (name) => {
        await (await calls()).users.setEnabled({ user: name, enabled });
        output.line(`The user ${name} is ${verb}d.`);
      });
  }
}

function addRoleVerbs(noun: Command, context: CliContext): void {
  const { output } = context;
  const calls = () => context.part('identity');
  noun
    .command('password <user>')
    .description('give a user another password; its tokens end at once')
    .option('--password-file <file>', 'read it from the first line of this file (default: generate one and show it)')
    .addHelpText('after', exampleText('user password ann', 'user password ann --password-file ann.txt'))
    .action(async (name, { passwordFile }) => {
      const password = passwordFile === undefined ? generated() : await passwordIn(passwordFile, context.cwd);
      await (await calls()).users.setPassword({ user: name, password });
      output.line(passwordFile === undefined ? password : `The user ${name} has a new password.`);
      if (passwordFile === undefined) output.note(`Give ${name} this password now: it is not shown again.`);
    });
  noun
    .command('grant <user> <role>')
    .description('give a user a role in a project')
    .requiredOption('--project <project>', 'the project')
    .addHelpText('after', `\nRoles: ${roleNames}.\n${exampleText('user grant ann member --project web')}`)
    .action(async (user, role, { project }) => {
      await (await calls()).roles.grant({ user, role, project });
      output.line(`The user ${user} has the role ${role} in the project ${project}.`);
    });
  noun
    .command('revoke <user> <role>')
    .description('take a role in a project from a user')
    .requiredOption('--project <project>', 'the project')
    .addHelpText('after', exampleText('user revoke ann member --project web'))
    .action(async (user, role, { project }) => {
      await (await calls()).roles.revoke({ user, role, project });
      output.line(`The user ${user} no longer has the role ${role} in the project ${project}.`);
    });
}

function addTokenCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const calls = async () => (await context.part('identity')).tokens;
  const noun = program
    .command('token')
    .description('manage tokens by which programs log in for you (application credentials)');
  noun
    .command('create <name>')
    .description('create a token for a program, in the present project; its secret is shown once')
    .option('--role <role>', 'only this role; may be repeated (default: all of yours)', collect, [])
    .option('--expires <time>', 'end of its validity in ISO 8601 (default: never)')
    .option(
      '--allow <request>',
      'only this request, as "METHOD SERVICE PATH"; may be repeated (default: all that its roles allow)',
      collect,
      [],
    )
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'token create ci --role reader',
        'token create ci --expires 2030-01-01T00:00:00Z',
        'token create ci --allow "GET orchestration /v1/*/stacks" --allow "POST messaging /v2/queues/jobs/messages"',
      ),
    )
    .action(async (name, { role, expires, allow, output: format }) => {
      const rules = allow.map(ruleOf);
      const token = await (await calls()).create({ name, roles: role, expiresAt: expires, rules });
      output.one(format, token, () => [
        ['name', token.name],
        ['roles', token.roles.map((each) => each.name).join(', ')],
        ['expires', token.expires_at ?? 'never'],
        ...(token.access_rules ?? []).map(({ method, service, path }): [string, string] => [
          'allows',
          `${method} ${service} ${path}`,
        ]),
        ['OS_AUTH_TYPE', 'v3applicationcredential'],
        ['OS_APPLICATION_CREDENTIAL_ID', token.id],
        ['OS_APPLICATION_CREDENTIAL_SECRET', token.secret],
      ]);
      if (format === 'table') output.note('Store the secret now: it is not shown again.');
    });
  noun
    .command('list')
    .description('list your tokens for programs')
    .addOption(formatOption())
    .addHelpText('after', exampleText('token list'))
    .action(async ({ output: format }) => {
      output.list(format, {
        rows: await (await calls()).list(),
        none: 'No tokens.',
        columns: {
          name: (row) => row.name,
          roles: (row) => row.roles.map((each) => each.name).join(', '),
          expires: (row) => row.expires_at ?? 'never',
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('revoke <token>')
    .description('revoke a token by its name or id; it stops working at once')
    .addHelpText('after', exampleText('token revoke ci'))
    .action(async (token) => {
      await (await calls()).revoke(token);
      output.line(`Revoked the token ${token}.`);
    });
}

/** @throws AnnealError InvalidRequest for a text of another form */
function ruleOf(text: string): AccessRuleView {
  const [, method, service, path] = /^([A-Za-z]+) +([\w-]+) +(\/\S*)$/.exec(text.trim()) ?? [];
  if (method !== undefined && service !== undefined && path !== undefined) {
    return { method: method.toUpperCase(), service, path };
  }
  throw new AnnealError(
    'InvalidRequest',
    `--allow must be a method, a service and a path, such as "GET orchestration /v1/*/stacks", not ${JSON.stringify(text)}.`,
  );
}

const generated = (): string => newCredential(18);

/** @throws AnnealError InvalidRequest for a file that cannot be read or whose first line is empty */
async function passwordIn(file: string, cwd: string): Promise<string> {
  const text = await readText(file, cwd);
  const [line = ''] = text.split('\n');
  if (line.trim() === '') throw new AnnealError('InvalidRequest', `The first line of ${file} is empty.`);
  return line.trim();
}

function placeOf({
  project,
  domain,
}: {
  project?: { name: string } | undefined;
  domain?: { name: string } | undefined;
}): string {
  if (project) return `project ${project.name}`;
  return domain ? `domain ${domain.name}` : 'the system';
}
