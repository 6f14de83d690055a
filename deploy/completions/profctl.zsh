#compdef profctl
# Zsh completion of profctl. A test holds the words against `profctl --help`.

_profctl() {
  local curcontext="$curcontext" state line
  local -a common commands options
  local -a ids targets rates lines out formats texts times who reasons files
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
  # What several commands have.
  ids=(
      '*-p[these processes]:process:_pids'
      '*--pid[these processes]:process:_pids'
      '*-t[these threads]:tid: '
      '*--tid[these threads]:tid: '
  )
  targets=(
      $ids
      '(-a --all)'{-a,--all}'[all processes of the host]'
      '*--comm[processes whose program is called NAME]:name: '
      '*--cgroup[processes in a cgroup]:directory:_directories'
      '(-s --children)'{-s,--children}'[also processes that the target starts]'
      '(-F --frequency)'{-F,--frequency}'[samples a second of each thread]:hz: '
  )
  rates=(
      '--budget[what sampling may cost, as 10% of a CPU]:share: '
      '(-m --mode)'{-m,--mode}'[all time, on a CPU only, or waiting only]:mode:(wall on off)'
      '--kernel-threads[with -a and --comm, threads of the kernel, too]'
  )
  lines=(
      '--no-inlines[no frames of inlined functions]'
      '--no-lines[no source files and lines]'
      '--native[accepted; native frames are always recorded]'
  )
  out=(
      '*-o[write to FILE]:file:_files'
      '*--output[write to FILE]:file:_files'
  )
  texts=(
      '--signatures[native names with their parameters]'
      '--no-demangle[C++ and Rust names as the files have them]'
      '--interpreter-frames[show the native frames of Python interpreters, too]'
  )
  formats=(
      $out $texts
      '(-f --format)'{-f,--format}'[for standard output and other names]:format:(folded svg speedscope pprof json summary)'
      '--threads[tell threads apart]'
      '--gil[only the time in which a thread of Python holds the GIL]'
  )
  times=(
      '--since[the last 30m, 1h, 2d]:span: '
      '--from[a time, 14:05 or 2h for two hours ago]:time: '
      '--to[likewise]:time: '
  )
  reasons=(lock gil io driver kernel sleep poll net pipe child fault other)
  who=(
      '*-p[processes]:process:_pids'
      '*--pid[processes]:process:_pids'
      '*--comm[processes of a name]:name: '
      '*--exe[processes of a program]:path: '
      '*--cgroup[processes of a cgroup]:directory:_directories'
      '*--container[processes of a container]:id: '
      '*--unit[processes of a systemd unit]:unit: '
      '*--user[processes of a user, by name or number]:user: '
      '*--thread[threads of a name, or a tid]:name: '
      '--state[only time in this state]:state:(on_cpu runnable blocked)'
      "--wait[only time blocked for it]:reason:($reasons)"
  )
  files=('*:file:_files -g "*.json"')
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
      $targets $rates $lines $formats
      '(-d --duration)'{-d,--duration}'[how long, 10s or 2m]:time: '
      '--no-children[with -- COMMAND, only itself]'
      '--cycles[take samples by the cycle counter of the CPU]'
      '--no-progress[no progress line]'
      '*:::command:_normal'
      ) ;;
    top)
      options=(
      $targets $rates
      '(-i --interval)'{-i,--interval}'[from table to table]:time: '
      '--functions[a row a function]'
      '--threads[a row a thread]'
      '--processes[a row a process]'
      '--sort[by which column]:column:(running runnable blocked self total name)'
      '--filter[only rows with TEXT in them]:text: '
      '(-n --count)'{-n,--count}'[so many tables, one below the other]:count: '
      '(-b --batch)'{-b,--batch}'[tables one below the other, without keys]'
      ) ;;
    query)
      options=(
      $times $who $formats
      '--group-by[in groups of these]:what:(process thread comm unit container user cgroup)'
      ) ;;
    list)
      options=(
      $times $who
      '--threads[a row a thread]'
      '--group-by[a row for each of these]:what:(process thread comm unit container user cgroup)'
      '--json[as JSON, all rows]'
      ) ;;
    dump) options=($ids $lines $texts '--json[as JSON]') ;;
    symbols)
      options=(
      $targets $out $files
      '(-d --duration)'{-d,--duration}'[how long, 10s or 2m]:time: '
      '--json[as JSON, with every frame that has no name]'
      '--no-progress[no progress line]'
      ) ;;
    export) options=($formats $files) ;;
    diff)
      options=(
      $who $out $texts $files
      '--absolute[compare times as they are, not scaled]'
      '--filter-a[only a part of A]:filter: '
      '--filter-b[only a part of B]:filter: '
      '(-f --format)'{-f,--format}'[for standard output and other names]:format:(folded svg json table)'
      '--threads[tell threads apart by their names]'
      ) ;;
    doctor)
      options=(
      '*-p[this process, too]:process:_pids'
      '*--pid[this process, too]:process:_pids'
      '--json[as JSON]'
      ) ;;
    status) options=('--json[as JSON]') ;;
  esac
  _arguments $common $options
}

_profctl "$@"
