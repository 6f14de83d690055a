# Fish completion of profctl. A test holds the words against `profctl --help`.

set -l commands collect record top query list dump symbols export diff doctor status formats version

# Of a command, before there is one.
function __profctl_command
    complete -c profctl -n "not __fish_seen_subcommand_from $argv[3..]" -a $argv[1] -d $argv[2]
end
# OPTION... of COMMANDS.
function __profctl_option
    complete -c profctl -n "__fish_seen_subcommand_from $argv[1]" $argv[2..]
end

complete -c profctl -f
__profctl_command collect 'collect a wall-clock profile of processes that run, or of a command' $commands
__profctl_command record 'collect a wall-clock profile of processes that run, or of a command' $commands
__profctl_command top 'show live who spends time, and on what' $commands
__profctl_command query 'show where time was spent, from the history that profd keeps' $commands
__profctl_command list 'list the processes of the history, or their threads, with their shares' $commands
__profctl_command dump 'show what every thread of a process does right now' $commands
__profctl_command symbols 'show where names come from, module by module, and what to install' $commands
__profctl_command export 'make other formats from a json file of collect' $commands
__profctl_command diff 'compare two profiles, of files or of the history' $commands
__profctl_command doctor 'say what keeps profd, or the profile of a process, from being complete' $commands
__profctl_command status 'show what profd does and what it costs' $commands
__profctl_command formats 'list the formats of output files and what opens them' $commands
__profctl_command version 'print the version' $commands

complete -c profctl -n "not __fish_seen_subcommand_from $commands" -s V -l version -d 'print the version'
complete -c profctl -s q -l quiet -d 'no words on standard error but errors'
complete -c profctl -s v -l verbose -d 'explain choices, show all threads and counters'
complete -c profctl -l color -x -a 'auto always never' -d 'auto, always or never'
complete -c profctl -l host -x -d 'the profd to speak to, unix:///PATH, tls://HOST:PORT or HOST:PORT'
complete -c profctl -l tls-ca -r -F -d 'who signed the certificate of that profd, PEM'
complete -c profctl -l tls-cert -r -F -d 'your certificate, PEM'
complete -c profctl -l tls-key -r -F -d 'its key, PEM'
complete -c profctl -s h -l help -d 'show this help'

__profctl_option 'collect record top symbols dump' -s p -l pid -x -a '(__fish_complete_pids)' -d 'these processes'
__profctl_option 'collect record top symbols dump' -s t -l tid -x -d 'these threads'
__profctl_option 'collect record top symbols' -s a -l all -d 'all processes of the host'
__profctl_option 'collect record top symbols' -l comm -x -d 'processes whose program is called NAME'
__profctl_option 'collect record top symbols' -l cgroup -x -a '(__fish_complete_directories)' -d 'processes in a cgroup'
__profctl_option 'collect record top symbols' -s s -l children -d 'also processes that the target starts'
__profctl_option 'collect record top symbols' -s F -l frequency -x -d 'samples a second of each thread'
__profctl_option 'collect record symbols' -s d -l duration -x -d 'how long, 10s or 2m'
__profctl_option 'collect record symbols' -l no-progress -d 'no progress line'
__profctl_option 'collect record top' -l budget -x -d 'what sampling may cost, as 10% of a CPU'
__profctl_option 'collect record top' -s m -l mode -x -a 'wall on off' -d 'all time, on a CPU only, or waiting only'
__profctl_option 'collect record top' -l kernel-threads -d 'with -a and --comm, threads of the kernel, too'
__profctl_option 'collect record' -l no-children -d 'with -- COMMAND, only itself'
__profctl_option 'collect record' -l cycles -d 'take samples by the cycle counter of the CPU'
__profctl_option 'collect record dump' -l native -d 'accepted; native frames are always recorded'
__profctl_option 'collect record dump' -l no-inlines -d 'no frames of inlined functions'
__profctl_option 'collect record dump' -l no-lines -d 'no source files and lines'

__profctl_option 'top' -s i -l interval -x -d 'from table to table'
__profctl_option 'top' -l functions -d 'a row a function'
__profctl_option 'top' -l processes -d 'a row a process'
__profctl_option 'top' -l sort -x -a 'running runnable blocked self total name' -d 'by which column'
__profctl_option 'top' -l filter -x -d 'only rows with TEXT in them'
__profctl_option 'top' -s n -l count -x -d 'so many tables, one below the other'
__profctl_option 'top' -s b -l batch -d 'tables one below the other, without keys'
__profctl_option 'top list' -l threads -d 'a row a thread'

__profctl_option 'query list' -l since -x -d 'the last 30m, 1h, 2d'
__profctl_option 'query list' -l from -x -d 'a time, 14:05 or 2h for two hours ago'
__profctl_option 'query list' -l to -x -d 'likewise'
__profctl_option 'query list' -l group-by -x -a 'process thread comm unit container user cgroup' -d 'in groups of these'
__profctl_option 'query list diff' -s p -l pid -x -a '(__fish_complete_pids)' -d 'processes'
__profctl_option 'query list diff' -l comm -x -d 'processes of a name'
__profctl_option 'query list diff' -l exe -x -d 'processes of a program'
__profctl_option 'query list diff' -l cgroup -x -a '(__fish_complete_directories)' -d 'processes of a cgroup'
__profctl_option 'query list diff' -l container -x -d 'processes of a container'
__profctl_option 'query list diff' -l unit -x -d 'processes of a systemd unit'
__profctl_option 'query list diff' -l user -x -d 'processes of a user, by name or number'
__profctl_option 'query list diff' -l thread -x -d 'threads of a name, or a tid'
__profctl_option 'query list diff' -l state -x -a 'on_cpu runnable blocked' -d 'only time in this state'
__profctl_option 'query list diff' -l wait -x -a 'lock gil io driver kernel sleep poll net pipe child fault other' -d 'only time blocked for it'

__profctl_option 'collect record query export symbols diff' -s o -l output -r -F -d 'write to FILE'
__profctl_option 'collect record query export' -s f -l format -x -a 'folded svg speedscope pprof json summary' -d 'for standard output and other names'
__profctl_option 'diff' -s f -l format -x -a 'folded svg json table' -d 'for standard output and other names'
__profctl_option 'collect record query export diff' -l threads -d 'tell threads apart'
__profctl_option 'collect record query export diff dump' -l signatures -d 'native names with their parameters'
__profctl_option 'collect record query export diff dump' -l no-demangle -d 'C++ and Rust names as the files have them'
__profctl_option 'collect record query export diff dump' -l interpreter-frames -d 'show the native frames of Python interpreters, too'
__profctl_option 'collect record query export' -l gil -d 'only the time in which a thread of Python holds the GIL'
__profctl_option 'diff' -l absolute -d 'compare times as they are, not scaled'
__profctl_option 'diff' -l filter-a -x -d 'only a part of A'
__profctl_option 'diff' -l filter-b -x -d 'only a part of B'
__profctl_option 'symbols export diff' -F

__profctl_option 'doctor' -s p -l pid -x -a '(__fish_complete_pids)' -d 'this process, too'
__profctl_option 'list dump symbols doctor status' -l json -d 'as JSON'

functions -e __profctl_command __profctl_option
