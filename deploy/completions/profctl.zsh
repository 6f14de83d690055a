#compdef profctl
# Zsh completion of profctl. The build fills in the commands and their options.

_profctl() {
  local curcontext="$curcontext" state line
  local -a root commands options
  root=(
      # @ROOT@
  )
  commands=(
      # @COMMANDS@
  )
  _arguments -C $root '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe -t commands command commands; return ;;
    argument) ;;
    *) return ;;
  esac
  case $words[1] in
    # @OPTIONS@
  esac
  _arguments $options
}

_profctl "$@"
