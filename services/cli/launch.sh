# Read by anneal.mjs when a shell runs it, with its path in $file. Replaces the shell with Node, because a second Node
# doubles the start time.
root=${file%/services/cli/*}
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
  program=$root/services/cli/main.ts
  # See bundle/bundle.ts. A changed source is newer than the bundle, and so is the folder of a source that has gone.
  case " $* " in
    *" backup "* | *" restore "* | *" provider "*) ;;
    *) if [ "$package" ]
      then [ ! -e "$root/services/cli/dist/main.js" ] || program=$root/services/cli/dist/main.js
      else
        bundle=$modules/.cache/anneal/commands
        if [ -e "$bundle/sources.sha256" ] &&
          [ -z "$(find "$root/libs" "$root/services/cli" -newer "$bundle/sources.sha256" -print -quit)" ]
        then program=$bundle/main.js
        fi
      fi ;;
  esac
  exec "$modules/node/bin/node" --disable-warning=ExperimentalWarning --min-semi-space-size=16 "$program" "$@"
fi
exec node "$file" "$@"
