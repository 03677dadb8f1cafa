/** The only account of the lab, and the roles that every Redfish service defines. */
import { bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound } from './errors.ts';
import { tagged } from './etag.ts';
import { collection, link, redfishResource } from './representation.ts';

const privileges: Readonly<Record<string, readonly string[]>> = {
  Administrator: ['Login', 'ConfigureManager', 'ConfigureUsers', 'ConfigureComponents', 'ConfigureSelf'],
  Operator: ['Login', 'ConfigureComponents', 'ConfigureSelf'],
  ReadOnly: ['Login', 'ConfigureSelf'],
};

export function accountRoutes({ app, sessions }: BmcEndpoint): void {
  const service = `${root}/AccountService`;
  const rolePath = (name: string): string => `${service}/Roles/${name}`;

  app.get(service, () =>
    redfishResource(service, 'v1_15_1.AccountService', {
      Id: 'AccountService',
      Name: 'Accounts',
      ServiceEnabled: true,
      Accounts: link(`${service}/Accounts`),
      Roles: link(`${service}/Roles`),
    }),
  );
  app.get(`${service}/Accounts`, () =>
    collection({
      path: `${service}/Accounts`,
      type: 'ManagerAccountCollection',
      name: 'Accounts',
      members: [`${service}/Accounts/1`],
    }),
  );
  app.get(`${service}/Accounts/1`, (request, reply) =>
    tagged(
      request,
      reply,
      redfishResource(`${service}/Accounts/1`, 'v1_12_1.ManagerAccount', {
        Id: '1',
        Name: 'Account 1',
        UserName: sessions.userName,
        Password: null,
        AccountTypes: ['Redfish'],
        RoleId: 'Administrator',
        Enabled: true,
        Locked: false,
        Links: { Role: link(rolePath('Administrator')) },
      }),
    ),
  );
  app.get(`${service}/Roles`, () =>
    collection({
      path: `${service}/Roles`,
      type: 'RoleCollection',
      name: 'Roles',
      members: Object.keys(privileges).map(rolePath),
    }),
  );
  app.get<ById>(`${service}/Roles/:id`, (request) => {
    const assigned = privileges[request.params.id];
    if (!assigned) throw notFound(bmcPath(request));
    return redfishResource(rolePath(request.params.id), 'v1_3_3.Role', {
      Id: request.params.id,
      Name: `Role ${request.params.id}`,
      RoleId: request.params.id,
      IsPredefined: true,
      AssignedPrivileges: assigned,
    });
  });
}
