# Completion of anneal for fish. Load it with: anneal completion fish | source
function __anneal_completion
    set -l words (commandline -opc) (commandline -ct)
    set -l ask anneal
    set -e words[1]
    if test (commandline -opc)[1] = npx
        test (count $words) -ge 2; and test "$words[1]" = anneal; or return
        set -e words[1]
    end
    type -q anneal; or set ask npx --no anneal
    set -l found ($ask completion-server fish -- $words 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else
        string join \n -- $found
    end
end
complete -c anneal -f -a '(__anneal_completion)'
complete -c npx -a '(__anneal_completion)'
