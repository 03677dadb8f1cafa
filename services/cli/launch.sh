# Read by anneal.mjs when a shell runs it. Replaces the shell with Node, because a second Node doubles the start time.
file=$(readlink -f -- "$0")
root=$(dirname -- "$(dirname -- "$(dirname -- "$file")")")
modules=$root/node_modules
# Only a clone has a lock file. npm installs the dependencies of a package in its folder or beside it.
if [ -e "$root/package-lock.json" ]
then package=
else
  package=yes
  [ -x "$modules/node/bin/node" ] || modules=$(dirname -- "$root")
fi
# The copy has the lock file of the installation: see launch.mjs. A server starts over launch.mjs, which ends it when
# its npm is killed.
if [ "${1-}" != serve ] && [ -x "$modules/node/bin/node" ] &&
  { [ "$package" ] || cmp -s "$root/package-lock.json" "$modules/.anneal-lock"; }
then
  : "${NODE_COMPILE_CACHE:=$modules/.cache/anneal/compiled}"
  PATH=$modules/node/bin:$modules/.bin:$PATH
  export NODE_COMPILE_CACHE PATH
  exec "$modules/node/bin/node" --disable-warning=ExperimentalWarning "$root/services/cli/main.ts" "$@"
fi
exec node "$file" "$@"
