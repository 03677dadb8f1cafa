# Completion of anneal for fish. Load it with: anneal completion fish | source
function __anneal_completion
    set -l words (commandline -opc) (commandline -ct)
    set -l ask anneal
    set -e words[1]
    test (commandline -opc)[1] = npx; and set -e words[1]
    type -q anneal; or set ask npx --no anneal
    set -l found ($ask completion-server fish -- $words 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else
        string join \n -- $found
    end
end
function __anneal_follows_npx
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = anneal
end
complete -c anneal -f -a '(__anneal_completion)'
complete -c npx -f -n __anneal_follows_npx -a '(__anneal_completion)'
