#compdef profctl
# Zsh completion of profctl. A test holds the words against `profctl --help`.

_profctl() {
  local curcontext="$curcontext" state line
  local -a common commands options
  common=(
      '(-q --quiet)'{-q,--quiet}'[no words on standard error but errors]'
      '(-v --verbose)'{-v,--verbose}'[explain choices, show all threads and counters]'
      '--color[auto, always or never]:when:(auto always never)'
      '--host[the profd to speak to, unix:///PATH, tls://HOST:PORT or HOST:PORT]:address: '
      '--tls-ca[who signed the certificate of that profd, PEM]:file:_files'
      '--tls-cert[your certificate, PEM]:file:_files'
      '--tls-key[its key, PEM]:file:_files'
      '(-h --help)'{-h,--help}'[show this help]'
  )
  commands=(
      'collect:collect a wall-clock profile of processes that run, or of a command'
      'record:collect a wall-clock profile of processes that run, or of a command'
      'top:show live who spends time, and on what'
      'query:show where time was spent, from the history that profd keeps'
      'list:list the processes of the history, or their threads, with their shares'
      'dump:show what every thread of a process does right now'
      'symbols:show where names come from, module by module, and what to install'
      'export:make other formats from a json file of collect'
      'diff:compare two profiles, of files or of the history'
      'doctor:say what keeps profd, or the profile of a process, from being complete'
      'status:show what profd does and what it costs'
      'formats:list the formats of output files and what opens them'
      'version:print the version'
  )
  _arguments -C $common \
      '(-V --version)'{-V,--version}'[print the version]' \
      '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe -t commands command commands; return ;;
    argument) ;;
    *) return ;;
  esac
  options=()
  case $words[1] in
    collect|record)
      options=(
      '*-p[these processes]:process:_pids'
      '*--pid[these processes]:process:_pids'
      '*-t[these threads]:tid: '
      '*--tid[these threads]:tid: '
      '(-a --all)'{-a,--all}'[all processes of the host]'
      '*--comm[processes whose program is called NAME]:name: '
      '*--cgroup[processes in a cgroup]:directory:_directories'
      '(-d --duration)'{-d,--duration}'[how long]:time: '
      '(-F --frequency)'{-F,--frequency}'[samples a second of each thread]:hz: '
      '--budget[what sampling may cost, as 10% of a CPU, before waits are sampled more]:share: '
      '(-m --mode)'{-m,--mode}'[wall]:mode:(wall on off)'
      '(-s --children)'{-s,--children}'[also processes that the target starts]'
      '--no-children[with -- COMMAND]'
      '--kernel-threads[with -a and --comm]'
      '--cycles[take samples by the hardwares cycle counter instead of a timer]'
      '--native[accepted]'
      '--no-inlines[no frames of inlined functions, which are shown where debug informatio]'
      '--no-lines[no source files and lines, likewise]'
      '*-o[write to FILE, in the format of its extension]:file:_files'
      '*--output[write to FILE, in the format of its extension]:file:_files'
      '(-f --format)'{-f,--format}'[folded, svg, speedscope, pprof, json or summary]:format:(folded svg speedscope pprof json summary)'
      '--threads[tell threads apart]'
      '--signatures[native names with their parameters]'
      '--no-demangle[C++ and Rust names as the files have them]'
      '--interpreter-frames[show the native frames of Python interpreters, too]'
      '--gil[only the time in which a thread of Python holds the GIL, running or no]'
      '--no-progress[no progress line]'
      '*:::command:_normal'
      ) ;;
    top)
      options=(
      '*-p[these processes]:process:_pids'
      '*--pid[these processes]:process:_pids'
      '*-t[these threads]:tid: '
      '*--tid[these threads]:tid: '
      '(-a --all)'{-a,--all}'[all processes of the host]'
      '*--comm[processes whose program is called NAME]:name: '
      '*--cgroup[processes in a cgroup]:directory:_directories'
      '(-i --interval)'{-i,--interval}'[from table to table]:time: '
      '(-F --frequency)'{-F,--frequency}'[samples a second of each thread]:hz: '
      '--budget[what sampling may cost]:share: '
      '(-m --mode)'{-m,--mode}'[wall, on or off]:mode:(wall on off)'
      '(-s --children)'{-s,--children}'[also processes that the target starts]'
      '--kernel-threads[with -a and --comm]'
      '--functions[a row a function]'
      '--threads[a row a thread]'
      '--processes[a row a process]'
      '--sort[running, runnable, blocked or name]:column:(running runnable blocked self total name)'
      '--filter[only rows with TEXT in them]:text: '
      '(-n --count)'{-n,--count}'[so many tables, one below the other]:count: '
      '(-b --batch)'{-b,--batch}'[tables one below the other, without keys]'
      ) ;;
    query)
      options=(
      '--since[the last 30m, 1h, 2d]:span: '
      '--from[14:05, 2026-11-20, "2026-11-20 14:05", 2026-11-20T14:05:00Z, or 2h for]:time: '
      '--to[likewise]:time: '
      '*-p[processes]:process:_pids'
      '*--pid[processes]:process:_pids'
      '*--comm[processes of a name]:name: '
      '*--exe[processes of a program]:path: '
      '*--cgroup[processes of a cgroup]:directory:_directories'
      '*--container[processes of a container]:id: '
      '*--unit[processes of a systemd unit]:unit: '
      '*--user[processes of a user, by name or number]:user: '
      '*--thread[threads of a name, or a tid]:name: '
      '--state[only on_cpu, runnable or blocked time]:state:(on_cpu runnable blocked)'
      '--wait[only time blocked for it]:reason:(lock gil io driver kernel sleep poll net pipe child fault other)'
      '*-o[write to FILE, in the format of its extension]:file:_files'
      '*--output[write to FILE, in the format of its extension]:file:_files'
      '(-f --format)'{-f,--format}'[folded, svg, speedscope, pprof, json or summary]:format:(folded svg speedscope pprof json summary)'
      '--threads[tell threads apart]'
      '--signatures[native names with their parameters]'
      '--no-demangle[C++ and Rust names as the files have them]'
      '--interpreter-frames[show the native frames of Python interpreters, too]'
      '--gil[only the time in which a thread of Python holds the GIL, running or no]'
      '--group-by[process, thread, comm, unit, container, user or cgroup]:what:(process thread comm unit container user cgroup)'
      ) ;;
    list)
      options=(
      '--since[the last 30m, 1h, 2d]:span: '
      '--from[14:05, 2026-11-20, "2026-11-20 14:05", 2026-11-20T14:05:00Z, or 2h for]:time: '
      '--to[likewise]:time: '
      '*-p[processes]:process:_pids'
      '*--pid[processes]:process:_pids'
      '*--comm[processes of a name]:name: '
      '*--exe[processes of a program]:path: '
      '*--cgroup[processes of a cgroup]:directory:_directories'
      '*--container[processes of a container]:id: '
      '*--unit[processes of a systemd unit]:unit: '
      '*--user[processes of a user, by name or number]:user: '
      '*--thread[threads of a name, or a tid]:name: '
      '--state[only on_cpu, runnable or blocked time]:state:(on_cpu runnable blocked)'
      '--wait[only time blocked for it]:reason:(lock gil io driver kernel sleep poll net pipe child fault other)'
      '--threads[a row a thread]'
      '--group-by[a row a comm, unit, container, user or cgroup]:what:(process thread comm unit container user cgroup)'
      '--json[as JSON, all rows]'
      ) ;;
    dump)
      options=(
      '*-p[these processes]:process:_pids'
      '*--pid[these processes]:process:_pids'
      '*-t[these threads]:tid: '
      '*--tid[these threads]:tid: '
      '--json[as JSON]'
      '--no-inlines[no frames of inlined functions]'
      '--no-lines[no source files and lines]'
      '--native[accepted]'
      '--signatures[native names with their parameters]'
      '--no-demangle[C++ and Rust names as the files have them]'
      '--interpreter-frames[show the native frames of Python interpreters, too]'
      ) ;;
    symbols)
      options=(
      '*-p[these processes]:process:_pids'
      '*--pid[these processes]:process:_pids'
      '*-t[these threads]:tid: '
      '*--tid[these threads]:tid: '
      '(-a --all)'{-a,--all}'[all processes of the host]'
      '*--comm[processes whose program is called NAME]:name: '
      '*--cgroup[processes in a cgroup]:directory:_directories'
      '(-d --duration)'{-d,--duration}'[how long]:time: '
      '(-F --frequency)'{-F,--frequency}'[samples a second of each thread]:hz: '
      '(-s --children)'{-s,--children}'[also processes that the target starts]'
      '--json[as JSON, with every frame that has no name]'
      '*-o[write to FILE]:file:_files'
      '*--output[write to FILE]:file:_files'
      '--no-progress[no progress line]'
      '*:file:_files -g "*.json"'
      ) ;;
    export)
      options=(
      '*-o[write to FILE, in the format of its extension]:file:_files'
      '*--output[write to FILE, in the format of its extension]:file:_files'
      '(-f --format)'{-f,--format}'[folded, svg, speedscope, pprof, json or summary]:format:(folded svg speedscope pprof json summary)'
      '--threads[tell threads apart]'
      '--signatures[native names with their parameters]'
      '--no-demangle[C++ and Rust names as the files have them]'
      '--interpreter-frames[show the native frames of Python interpreters, too]'
      '--gil[only the time in which a thread of Python holds the GIL, running or no]'
      '*:file:_files -g "*.json"'
      ) ;;
    diff)
      options=(
      '*-p[processes]:process:_pids'
      '*--pid[processes]:process:_pids'
      '*--comm[processes of a name]:name: '
      '*--exe[processes of a program]:path: '
      '*--cgroup[processes of a cgroup]:directory:_directories'
      '*--container[processes of a container]:id: '
      '*--unit[processes of a systemd unit]:unit: '
      '*--user[processes of a user, by name or number]:user: '
      '*--thread[threads of a name, or a tid]:name: '
      '--state[only on_cpu, runnable or blocked time]:state:(on_cpu runnable blocked)'
      '--wait[only time blocked for it]:reason:(lock gil io driver kernel sleep poll net pipe child fault other)'
      '--absolute[compare times as they are, not scaled]'
      '--filter-a[only a part of A]:filter: '
      '--filter-b[only a part of B]:filter: '
      '*-o[write to FILE]:file:_files'
      '*--output[write to FILE]:file:_files'
      '(-f --format)'{-f,--format}'[folded, svg, json or table]:format:(folded svg speedscope pprof json summary)'
      '--threads[tell threads apart by their names]'
      '--signatures[native names with their parameters]'
      '--no-demangle[C++ and Rust names as the files have them]'
      '--interpreter-frames[show the native frames of Python interpreters, too]'
      '*:file:_files -g "*.json"'
      ) ;;
    doctor)
      options=(
      '*-p[this process, too]:process:_pids'
      '*--pid[this process, too]:process:_pids'
      '--json[as JSON]'
      ) ;;
    status)
      options=(
      '--json[as JSON]'
      ) ;;
  esac
  _arguments $common $options
}

_profctl "$@"
