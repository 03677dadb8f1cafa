#compdef anneal npx
# Completion of anneal for zsh. Load it with: source <(anneal completion zsh)
_anneal_completion() {
  local first=2
  local -a ask reply
  ask=(anneal)
  if [[ ${words[1]:t} == npx ]]; then
    (( CURRENT >= 3 )) && [[ ${words[2]} == anneal ]] || { _default; return }
    first=3
  elif [[ ${words[1]} == */* ]]; then
    ask=(${words[1]})
  fi
  (( $+commands[${ask[1]}] )) || [[ -x ${ask[1]} ]] || ask=(npx --no anneal)
  reply=("${(@f)$("${ask[@]}" completion-server zsh -- "${(@)words[first,CURRENT]}" 2>/dev/null)}")
  if [[ ${reply[1]} == :files ]]; then
    _files
  elif [[ -n ${reply[1]} ]]; then
    _describe 'values' reply
  fi
}
if [[ $zsh_eval_context == *func ]]; then
  _anneal_completion "$@"
else
  compdef _anneal_completion anneal npx
fi
