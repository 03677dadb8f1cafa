# Completion of anneal for bash. Load it with: source <(anneal completion bash)
_anneal_completion() {
  local words cword first=1 line IFS=$'\n'
  if type _get_comp_words_by_ref &>/dev/null; then
    _get_comp_words_by_ref -n =@: -w words -i cword
  else
    cword=$COMP_CWORD words=("${COMP_WORDS[@]}")
  fi
  local ask=(anneal)
  if [ "${words[0]##*/}" = npx ]; then
    [ "$cword" -ge 2 ] && [ "${words[1]}" = anneal ] || return 0
    first=2
  elif [[ ${words[0]} == */* ]]; then
    ask=("${words[0]}")
  fi
  type "${ask[0]}" &>/dev/null || ask=(npx --no anneal)
  COMPREPLY=()
  while read -r line; do COMPREPLY+=("$line"); done < <(
    "${ask[@]}" completion-server bash -- "${words[@]:first:cword-first+1}" 2>/dev/null
  )
  if [ "${COMPREPLY[0]-}" = :files ]; then
    COMPREPLY=()
    while read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${words[cword]}")
    compopt -o filenames 2>/dev/null
  elif type __ltrim_colon_completions &>/dev/null; then
    __ltrim_colon_completions "${words[cword]}"
  fi
}
complete -o default -F _anneal_completion anneal npx
