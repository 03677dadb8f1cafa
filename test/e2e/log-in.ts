/** A login over plain HTTP, for tests that send requests which the client does not. */
interface Login {
  /** The address of the gateway. */
  readonly url: string;
  readonly password: string;
  /** Default: the administrator. */
  readonly username?: string;
  /** The name of the project. Default: that of the administrator. */
  readonly project?: string;
}

/** @returns the token and the id of its project. @throws with the answer when the gateway refuses the login */
export async function logInOverHttp(login: Login): Promise<{ token: string; project: string }> {
  const { url, password, username = 'admin', project = 'admin' } = login;
  const domain = { id: 'default' };
  const identity = { methods: ['password'], password: { user: { name: username, domain, password } } };
  const answer = await fetch(`${url}/identity/v3/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: { identity, scope: { project: { name: project, domain } } } }),
  });
  const token = answer.headers.get('x-subject-token');
  const text = await answer.text();
  if (token === null) throw new Error(`The gateway refused the login of ${username}: ${answer.status} ${text}`);
  return { token, project: (JSON.parse(text) as { token: { project: { id: string } } }).token.project.id };
}
