/** The `package.json` of the npm package. Pure. */

/** The part of a `package.json` that the package takes over. */
export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface ProductManifest extends PackageManifest {
  readonly type: 'module';
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * The manifest of one package that has what all of our packages have. Versions are exact, as in the repository.
 * @throws when two packages need different versions of the same package
 */
export function manifestOf({
  root,
  packages,
}: {
  root: PackageManifest;
  packages: readonly PackageManifest[];
}): ProductManifest {
  const dependencies = new Map<string, string>();
  for (const { name: needing, dependencies: needed = {} } of [root, ...packages]) {
    for (const [name, version] of Object.entries(needed)) {
      if (name.startsWith('@anneal/')) continue;
      const other = dependencies.get(name) ?? version;
      if (other !== version) throw new Error(`${needing} needs ${name} ${version}, and another package ${other}.`);
      dependencies.set(name, version);
    }
  }
  const { name, version, description = '', license = '', engines = {} } = root;
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { anneal: 'services/cli/anneal.mjs' },
    engines,
    dependencies: Object.fromEntries([...dependencies].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
