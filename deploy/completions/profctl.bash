# Bash completion of profctl. The build fills in the commands and their options.

_profctl()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command= word words= files=
    # @COMMANDS@
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        # Behind the dashes stands another command.
        [[ $word == -- ]] && { compopt -o default; return; }
        [[ -z $command && " $commands " == *" $word "* ]] && command=$word
    done
    # The value of an option.
    case "$command $previous" in
        # @VALUES@
    esac
    case $command in
        # @OPTIONS@
    esac
    if [[ -n $files && $current != -* ]]; then
        compopt -o default
    else
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    fi
} && complete -F _profctl profctl
