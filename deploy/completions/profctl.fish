# Fish completion of profctl. The build fills in the commands and their options.

complete -c profctl -f
# @COMMANDS@

# @OPTIONS@
