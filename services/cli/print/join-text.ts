/** The forms in which `anneal host join` prints how a machine joins. Pure. */

export const joinFormats = ['line', 'cloud-init', 'user-data', 'ansible', 'seed'] as const;
export type JoinFormat = (typeof joinFormats)[number];

export interface JoinParameters {
  readonly url: string;
  /** The certificate of a private CA: where it is for the operator, and its text. */
  readonly ca?: { readonly file: string; readonly text: string } | undefined;
  /** The agent to install. Undefined: the `sh` agent, or the one that the machine has. */
  readonly agent?: string | undefined;
}

/** Where the printed forms put the certificate on the machine. */
const caFile = '/etc/anneal-ca.pem';

/** Quotes a word for a shell. Plain words stay as they are. */
const word = (text: string): string =>
  /^[A-Za-z0-9_./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

function lineWith({ url, agent }: JoinParameters, ca: string | undefined): string {
  const trust = ca === undefined ? '' : ` --cacert ${word(ca)}`;
  const options = `${trust}${agent === undefined ? '' : ` --agent ${agent}`}`;
  return `curl -fsS${trust} ${word(url)} | sh${options === '' ? '' : ` -s --${options}`}`;
}

const indented = (text: string, by: string): string => text.trimEnd().replaceAll(/^/gm, by);

export function joinText(format: Exclude<JoinFormat, 'seed'>, parameters: JoinParameters): string {
  const { ca } = parameters;
  const line = lineWith(parameters, ca && caFile);
  switch (format) {
    case 'line':
      return `${lineWith(parameters, ca?.file)}\n`;
    case 'user-data':
      return `#!/bin/sh\n${ca ? `cat >${caFile} <<'END'\n${ca.text.trimEnd()}\nEND\n` : ''}${line}\n`;
    case 'cloud-init': {
      const files = ca ? `write_files:\n  - path: ${caFile}\n    content: |\n${indented(ca.text, '      ')}\n` : '';
      // A JSON string is a YAML string.
      return `#cloud-config\n${files}runcmd:\n  - [sh, -c, ${JSON.stringify(line)}]\n`;
    }
    case 'ansible': {
      const copy = ca
        ? `- name: Trust the CA of Anneal\n  become: true\n  ansible.builtin.copy:\n    dest: ${caFile}\n    content: |\n${indented(ca.text, '      ')}\n`
        : '';
      return `${copy}- name: Join this machine as a host of Anneal\n  become: true\n  no_log: true\n  ansible.builtin.shell:\n    cmd: ${JSON.stringify(line)}\n    creates: /var/lib/anneal-agent/conf\n`;
    }
  }
}
