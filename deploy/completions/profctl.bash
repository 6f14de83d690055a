# Bash completion of profctl. A test holds the words against `profctl --help`.

_profctl()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local common="--quiet --verbose --color --host --tls-ca --tls-cert --tls-key --help"
    local output="--output --format --threads --signatures --no-demangle --interpreter-frames --gil"
    local who="--pid --comm --exe --cgroup --container --unit --user --thread --state --wait"
    local past="--since --from --to $who"
    local command= word
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        # Behind the dashes stands another command.
        [[ $word == -- ]] && { compopt -o default; return; }
        [[ -z $command && $word != -* ]] && command=$word
    done
    case $previous in
        -o|--output|--tls-ca|--tls-cert|--tls-key) compopt -o default; return ;;
        -f|--format) COMPREPLY=($(compgen -W "folded svg speedscope pprof json summary" -- "$current")); return ;;
        -m|--mode) COMPREPLY=($(compgen -W "wall on off" -- "$current")); return ;;
        --state) COMPREPLY=($(compgen -W "on_cpu runnable blocked" -- "$current")); return ;;
        --wait) COMPREPLY=($(compgen -W "lock gil io driver kernel sleep poll net pipe child fault other" -- "$current")); return ;;
        --group-by) COMPREPLY=($(compgen -W "process thread comm unit container user cgroup" -- "$current")); return ;;
        --sort) COMPREPLY=($(compgen -W "running runnable blocked self total name" -- "$current")); return ;;
        --color) COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
        --cgroup) compopt -o dirnames; return ;;
        -p|--pid) COMPREPLY=($(compgen -W "$(cd /proc && echo [0-9]*)" -- "$current")); return ;;
        --comm) COMPREPLY=($(compgen -W "$(cat /proc/[0-9]*/comm 2> /dev/null)" -- "$current")); return ;;
        -t|--tid|-d|--duration|-F|--frequency|--budget|-i|--interval|-n|--count|--filter|--host|--filter-a|--filter-b) return ;;
    esac
    case $command in
        "") COMPREPLY=($(compgen -W "collect record top query list dump symbols export diff doctor status formats version $common --version" -- "$current")) ;;
        collect|record)
            COMPREPLY=($(compgen -W "--pid --tid --all --comm --cgroup --duration --frequency --budget --mode --children
                --no-children --kernel-threads --cycles --native --no-inlines --no-lines --no-progress $output $common" -- "$current")) ;;
        top)
            COMPREPLY=($(compgen -W "--pid --tid --all --comm --cgroup --interval --frequency --budget --mode --children
                --kernel-threads --functions --threads --processes --sort --filter --count --batch $common" -- "$current")) ;;
        query) COMPREPLY=($(compgen -W "$past --group-by $output $common" -- "$current")) ;;
        list) COMPREPLY=($(compgen -W "$past --group-by --threads --json $common" -- "$current")) ;;
        dump) COMPREPLY=($(compgen -W "--pid --tid --json --no-inlines --no-lines --native --signatures --no-demangle
                --interpreter-frames $common" -- "$current")) ;;
        symbols)
            if [[ $current == -* ]]; then
                COMPREPLY=($(compgen -W "--pid --tid --all --comm --cgroup --duration --frequency --children --json
                    --output --no-progress $common" -- "$current"))
            else
                compopt -o default
            fi ;;
        export)
            if [[ $current == -* ]]; then
                COMPREPLY=($(compgen -W "$output $common" -- "$current"))
            else
                compopt -o default
            fi ;;
        diff)
            if [[ $current == -* ]]; then
                COMPREPLY=($(compgen -W "$who --absolute --filter-a --filter-b --output --format --threads --signatures
                    --no-demangle --interpreter-frames $common" -- "$current"))
            else
                compopt -o default
            fi ;;
        doctor) COMPREPLY=($(compgen -W "--pid --json $common" -- "$current")) ;;
        status) COMPREPLY=($(compgen -W "--json $common" -- "$current")) ;;
        formats|version) COMPREPLY=($(compgen -W "$common" -- "$current")) ;;
    esac
} && complete -F _profctl profctl
