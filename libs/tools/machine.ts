/**
 * Small declarative tools for the machine itself: `file`, `package`, `service` and `user`. Each takes a map from names
 * to wanted states, changes only what differs, and lists what it changed in the output `changed`. A deletion of the
 * deployment removes files, packages and users, and stops services.
 */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { readChecked, type HostTool } from './tool.ts';

const changedHelper = shell`changed() {
  grep -Fqx -e "$1" "$heat_outputs_path.changed" && return
  echo "$1" && printf '%s\n' "$1" >>"$heat_outputs_path.changed"
}
: >"$heat_outputs_path.changed"
`;
const account = z.string().regex(/^[a-zA-Z_][\w.-]*\$?$/, 'must be the name of a user or group');
const word = z.string().regex(/^[^\s-]\S*$/, 'must be one word that does not begin with "-"');

/** A list of names means the default state of each. */
const named = <T extends z.ZodType>(name: z.ZodType<string, string>, state: T) =>
  z.preprocess(
    (value) => (Array.isArray(value) ? Object.fromEntries(value.map((entry) => [String(entry), {}])) : value),
    z.record(
      name,
      z.preprocess((value) => value ?? {}, state),
    ),
  );

const deleting = (request: HostRequest): boolean => request.action === 'DELETE';

// ---- file

const files = named(
  z.string().regex(/^\/[^\0\n]*[^/\0\n]$/, 'must be an absolute path'),
  z.strictObject({
    state: z.enum(['file', 'directory', 'link', 'absent']).optional(),
    content: z.string().optional(),
    target: z.string().optional(),
    mode: z
      .string()
      .regex(/^[0-7]{3,4}$/, 'must be an octal mode in quotes, such as "0644"')
      .optional(),
    owner: account.optional(),
    group: account.optional(),
  }),
);

const file: HostTool = {
  group: 'file',
  program(request) {
    const wanted = Object.entries(readChecked(request, 'config', files));
    const steps = wanted.map(([path, { state, content, target, mode, owner, group }]) => {
      const at = quoteForShell(path);
      const kind = deleting(request) ? 'absent' : (state ?? (target === undefined ? 'file' : 'link'));
      const rights = kind === 'file' || kind === 'directory' ? rightsOf(path, { mode, owner, group }) : '';
      if (kind === 'absent') {
        const remove = state === 'directory' ? `rmdir -- ${at}` : `rm -f -- ${at}`;
        return `if [ -e ${at} ] || [ -L ${at} ]; then ${remove} || exit; changed ${at}; fi\n`;
      }
      if (kind === 'directory') return `[ -d ${at} ] || { mkdir -p -- ${at} || exit; changed ${at}; }\n${rights}`;
      if (kind === 'link') {
        const to = quoteForShell(target ?? '');
        return `[ "$(readlink -- ${at} 2>/dev/null)" = ${to} ] || { ln -sfn -- ${to} ${at} || exit; changed ${at}; }\n`;
      }
      if (content === undefined) return `[ -e ${at} ] || { : >${at} || exit; changed ${at}; }\n${rights}`;
      return shell`${writeContent(content)}if ! cmp -s content ${at}; then
  mkdir -p -- "$(dirname -- ${at})" || exit
  cp -- content ${at}.new && ${mode === undefined ? 'chmod 0644' : `chmod ${mode}`} -- ${at}.new && mv -f -- ${at}.new ${at} || exit
  changed ${at}
fi
${rights}`;
    });
    return [prologue, changedHelper, ...steps].join('');
  },
};

/** A here-document ends with a newline, so a file without one loses its last byte again. */
const writeContent = (content: string): string =>
  content === ''
    ? ': >content\n'
    : content.endsWith('\n')
      ? writeFile('content', content)
      : `${writeFile('content.line', content)}head -c "$(($(wc -c <content.line) - 1))" content.line >content\n`;

function rightsOf(
  path: string,
  rights: { mode?: string | undefined; owner?: string | undefined; group?: string | undefined },
): string {
  const at = quoteForShell(path);
  const { mode, owner, group } = rights;
  const check = (format: string, wanted: string, command: string): string =>
    `[ "$(stat -c ${format} -- ${at})" = ${quoteForShell(wanted)} ] || { ${command} -- ${at} || exit; changed ${at}; }\n`;
  return [
    mode === undefined ? '' : check('%a', mode.replace(/^0+(?=.)/, ''), `chmod ${mode}`),
    owner === undefined ? '' : check('%U', owner, `chown ${quoteForShell(owner)}`),
    group === undefined ? '' : check('%G', group, `chgrp ${quoteForShell(group)}`),
  ].join('');
}

// ---- package

const packages = named(
  word,
  z.strictObject({ state: z.enum(['present', 'latest', 'absent']).default('present'), version: word.optional() }),
);

const packageTool: HostTool = {
  group: 'package',
  program(request) {
    const steps = Object.entries(readChecked(request, 'config', packages)).map(([name, { state, version }]) => {
      const wanted = deleting(request) ? 'absent' : state;
      if (wanted === 'absent')
        return `if has ${quoteForShell(name)}; then remove ${quoteForShell(name)} || exit; changed ${quoteForShell(name)}; fi\n`;
      const condition =
        wanted === 'latest'
          ? 'false'
          : `has ${quoteForShell(name)} ${version === undefined ? '' : quoteForShell(version)}`;
      return shell`if ! ${condition}; then
  before=$(version ${quoteForShell(name)})
  refresh
  install ${quoteForShell(name)} ${version === undefined ? "''" : quoteForShell(version)} || exit
  [ "$(version ${quoteForShell(name)})" = "$before" ] || changed ${quoteForShell(name)}
fi
`;
    });
    return [prologue, changedHelper, managers, ...steps].join('');
  },
};

/** One dialect for each package manager: `version NAME`, `install NAME VERSION`, `remove NAME`, `refresh`. */
const managers = shell`refreshed=
refresh() { [ -n "$refreshed" ] || { refreshed=yes; refresh_lists; }; }
refresh_lists() { :; }
has() { found=$(version "$1"); [ -n "$found" ] && { [ -z "\${2:-}" ] || [ "$found" = "$2" ]; }; }
if command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  version() { dpkg-query --show --showformat '\${db:Status-Status} \${Version}' "$1" 2>/dev/null | sed -n 's/^installed //p'; }
  refresh_lists() { apt-get --quiet --quiet update; }
  install() { apt-get --quiet --yes -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold install "$1\${2:+=$2}"; }
  remove() { apt-get --quiet --yes -o DPkg::Lock::Timeout=300 remove "$1"; }
elif command -v dnf >/dev/null 2>&1 || command -v yum >/dev/null 2>&1; then
  manager=$(command -v dnf || command -v yum)
  version() { rpm --query --queryformat '%{VERSION}-%{RELEASE}' "$1" 2>/dev/null || :; }
  install() { "$manager" --assumeyes install "$1\${2:+-$2}" && { [ -n "$2" ] || "$manager" --assumeyes upgrade "$1"; }; }
  remove() { "$manager" --assumeyes remove "$1"; }
elif command -v zypper >/dev/null 2>&1; then
  version() { rpm --query --queryformat '%{VERSION}-%{RELEASE}' "$1" 2>/dev/null || :; }
  install() { zypper --non-interactive install "$1\${2:+=$2}"; }
  remove() { zypper --non-interactive remove "$1"; }
elif command -v apk >/dev/null 2>&1; then
  version() { apk info --exists "$1" >/dev/null 2>&1 && apk list --installed "$1" 2>/dev/null | sed -n "1s/^$1-\([^ ]*\) .*/\1/p"; }
  refresh_lists() { apk update --quiet; }
  install() { apk add --upgrade "$1\${2:+=$2}"; }
  remove() { apk del "$1"; }
elif command -v pacman >/dev/null 2>&1; then
  version() { pacman --query "$1" 2>/dev/null | cut -d ' ' -f 2; }
  refresh_lists() { pacman --sync --refresh; }
  install() { pacman --sync --noconfirm "$1"; }
  remove() { pacman --remove --noconfirm "$1"; }
else
  echo 'no package manager found: apt-get, dnf, yum, zypper, apk and pacman are supported' >&2
  exit 127
fi
`;

// ---- service

const services = named(
  word,
  z.strictObject({
    state: z.enum(['running', 'stopped', 'restarted', 'reloaded']).optional(),
    enabled: z.boolean().optional(),
  }),
);

const service: HostTool = {
  group: 'service',
  program(request) {
    const steps = Object.entries(readChecked(request, 'config', services)).map(([name, { state, enabled }]) => {
      const at = quoteForShell(name);
      const wanted = deleting(request) ? 'stopped' : (state ?? (enabled === undefined ? 'running' : undefined));
      return [
        deleting(request) || enabled === undefined
          ? ''
          : enabled
            ? `is_enabled ${at} || { enable ${at} || exit; changed ${at}; }\n`
            : `if is_enabled ${at}; then disable ${at} || exit; changed ${at}; fi\n`,
        wanted === 'running' ? `is_running ${at} || { act start ${at} || exit; changed ${at}; }\n` : '',
        wanted === 'stopped' ? `if is_running ${at}; then act stop ${at} || exit; changed ${at}; fi\n` : '',
        wanted === 'restarted' ? `act restart ${at} || exit; changed ${at}\n` : '',
        wanted === 'reloaded' ? `act reload ${at} || exit; changed ${at}\n` : '',
      ].join('');
    });
    return [prologue, changedHelper, serviceManagers, ...steps].join('');
  },
};

const serviceManagers = shell`if [ -d /run/systemd/system ]; then
  is_running() { systemctl --quiet is-active "$1"; }
  is_enabled() { systemctl --quiet is-enabled "$1" 2>/dev/null; }
  enable() { systemctl enable "$1"; }
  disable() { systemctl disable "$1"; }
  act() { systemctl "$1" "$2"; }
elif command -v rc-service >/dev/null 2>&1; then
  is_running() { rc-service "$1" status >/dev/null 2>&1; }
  is_enabled() { rc-update show | grep -q "^ *$1 |"; }
  enable() { rc-update add "$1"; }
  disable() { rc-update del "$1"; }
  act() { rc-service "$2" "$1"; }
elif command -v service >/dev/null 2>&1; then
  is_running() { service "$1" status >/dev/null 2>&1; }
  is_enabled() { ls /etc/rc?.d/S??"$1" >/dev/null 2>&1; }
  enable() { update-rc.d "$1" defaults; }
  disable() { update-rc.d "$1" remove; }
  act() { service "$2" "$1"; }
else
  echo 'no service manager found: systemd, OpenRC and SysV init are supported' >&2
  exit 127
fi
`;

// ---- user

const users = named(
  account,
  z.strictObject({
    state: z.enum(['present', 'absent']).default('present'),
    uid: z.number().int().nonnegative().optional(),
    group: account.optional(),
    groups: z.array(account).default([]),
    home: z.string().startsWith('/').optional(),
    shell: z.string().startsWith('/').optional(),
    comment: z
      .string()
      .regex(/^[^:\n]*$/)
      .optional(),
    system: z.boolean().default(false),
    authorized_keys: z.array(z.string().regex(/^[^\n]+$/)).optional(),
  }),
);
type User = z.infer<typeof users>[string];

const user: HostTool = {
  group: 'user',
  program(request) {
    const steps = Object.entries(readChecked(request, 'config', users)).map(([name, wanted]) => {
      const at = quoteForShell(name);
      if (deleting(request) || wanted.state === 'absent')
        return `if id -u ${at} >/dev/null 2>&1; then delete_user ${at} || exit; changed ${at}; fi\n`;
      return [
        `if ! id -u ${at} >/dev/null 2>&1; then create_user ${creation(wanted)} ${at} || exit; changed ${at}; fi\n`,
        ...wanted.groups.map((group) => groupStep(name, group)),
        wanted.authorized_keys === undefined ? '' : keysStep(name, wanted.authorized_keys),
      ].join('');
    });
    return [prologue, changedHelper, accounts, ...steps].join('');
  },
};

/** Flags of useradd; busybox's adduser gets their equivalents. */
const creation = (wanted: User): string =>
  [
    wanted.uid === undefined ? '' : `--uid ${wanted.uid}`,
    wanted.group === undefined ? '' : `--gid ${quoteForShell(wanted.group)}`,
    wanted.home === undefined ? '' : `--home-dir ${quoteForShell(wanted.home)}`,
    `--shell ${quoteForShell(wanted.shell ?? '/bin/sh')}`,
    wanted.comment === undefined ? '' : `--comment ${quoteForShell(wanted.comment)}`,
    wanted.system ? '--system' : '--create-home',
  ]
    .filter((flag) => flag !== '')
    .join(' ');

const groupStep = (
  name: string,
  group: string,
): string => shell`grep -q ${quoteForShell(`^${group}:`)} /etc/group || create_group ${quoteForShell(group)} || exit
id -nG ${quoteForShell(name)} | tr ' ' '\n' | grep -Fqx ${quoteForShell(group)} || { join_group ${quoteForShell(name)} ${quoteForShell(group)} || exit; changed ${quoteForShell(name)}; }
`;

const keysStep = (name: string, keys: readonly string[]): string => shell`${writeFile('keys', keys.join('\n'))}
home=$(awk -F: -v name=${quoteForShell(name)} '$1 == name { print $6 }' /etc/passwd)
if ! cmp -s keys "$home/.ssh/authorized_keys"; then
  mkdir -p "$home/.ssh" && cp keys "$home/.ssh/authorized_keys" && chmod 0700 "$home/.ssh" && chmod 0600 "$home/.ssh/authorized_keys" || exit
  chown -R ${quoteForShell(name)} "$home/.ssh" || exit
  changed ${quoteForShell(name)}
fi
`;

const accounts = shell`if command -v useradd >/dev/null 2>&1; then
  create_user() { useradd "$@"; }
  delete_user() { userdel "$1"; }
  create_group() { groupadd "$1"; }
  join_group() { usermod --append --groups "$2" "$1"; }
else
  create_user() {
    set -- "$@" end
    while [ "$1" != end ]; do
      case "$1" in
        --uid) set -- "$@" -u "$2"; shift 2 ;;
        --gid) set -- "$@" -G "$2"; shift 2 ;;
        --home-dir) set -- "$@" -h "$2"; shift 2 ;;
        --shell) set -- "$@" -s "$2"; shift 2 ;;
        --comment) set -- "$@" -g "$2"; shift 2 ;;
        --system) set -- "$@" -S; shift ;;
        --create-home) shift ;;
        *) set -- "$@" "$1"; shift ;;
      esac
    done
    shift
    adduser -D "$@"
  }
  delete_user() { deluser "$1"; }
  create_group() { addgroup "$1"; }
  join_group() { addgroup "$1" "$2"; }
fi
`;

export const machineTools: readonly HostTool[] = [file, packageTool, service, user];
