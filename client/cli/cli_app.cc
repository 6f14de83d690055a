#include "client/cli/cli_app.h"

#include <memory>

#include "client/cli/help_formatter.h"

namespace profd::client {
namespace {

constexpr const char* kTarget = "Target (exactly one)";
constexpr const char* kWhat = "What is collected";
constexpr const char* kWhen = "When";
constexpr const char* kWho = "Who (all of these must fit; each may be given again for others)";
constexpr const char* kOutput = "Output";
constexpr const char* kOther = "Other";

void AddText(CLI::App& app, const char* group, const char* names, std::string& value,
             const char* title, const char* text) {
  app.add_option(names, value, text)->option_text(title)->group(group);
}

// May be given several times, with one argument each.
void AddTexts(CLI::App& app, const char* group, const char* names, std::vector<std::string>& values,
              const char* title, const char* text) {
  app.add_option(names, values, text)->option_text(title)->group(group)->allow_extra_args(false);
}

void AddFlag(CLI::App& app, const char* group, const char* names, bool& value, const char* text) {
  app.add_flag(names, value, text)->group(group);
}

void AddNameOptions(CLI::App& app, RawOutputOptions& raw) {
  AddFlag(app, kOutput, "--signatures", raw.signatures, "native names with their parameters");
  AddFlag(app, kOutput, "--no-demangle", raw.mangled, "C++ and Rust names as the files have them");
  AddFlag(app, kOutput, "--interpreter-frames", raw.interpreter_frames,
          "show the native frames of Python interpreters, too");
}

void AddOutputOptions(CLI::App& app, RawOutputOptions& raw) {
  AddTexts(app, kOutput, "-o,--output", raw.files, "FILE",
           "write to FILE, in the format of its extension; may be given again for more files; - is "
           "standard output");
  AddText(app, kOutput, "-f,--format", raw.format, "FORMAT",
          "folded, svg, speedscope, pprof, json or summary: for standard output and files whose "
          "names do not say it");
  AddFlag(app, kOutput, "--threads", raw.threads,
          "tell threads apart (folded, svg), and alike processes (svg)");
  AddNameOptions(app, raw);
  AddFlag(app, kOutput, "--gil", raw.gil,
          "only the time in which a thread of Python holds the GIL, running or not");
}

void AddIdOptions(CLI::App& app, RawOptions& raw) {
  AddTexts(app, kTarget, "-p,--pid", raw.pids, "PID[,PID]...", "these processes");
  AddTexts(app, kTarget, "-t,--tid", raw.tids, "TID[,TID]...", "these threads");
}

void AddTargetOptions(CLI::App& app, RawOptions& raw) {
  AddIdOptions(app, raw);
  AddFlag(app, kTarget, "-a,--all", raw.all, "all processes of the host");
  AddText(app, kTarget, "--comm", raw.comm, "NAME", "processes whose program is called NAME");
  AddText(app, kTarget, "--cgroup", raw.cgroup, "PATH",
          "processes in a cgroup: a directory below /sys/fs/cgroup");
}

void AddTimeOptions(CLI::App& app, RawOptions& raw) {
  AddText(app, kWhen, "--since", raw.since, "SPAN",
          "the last 30m, 1h, 2d; default 1h where no other is given");
  AddText(app, kWhen, "--from", raw.from, "TIME",
          "14:05, 2026-11-20, \"2026-11-20 14:05\", 2026-11-20T14:05:00Z, or 2h for two hours ago");
  AddText(app, kWhen, "--to", raw.to, "TIME", "likewise; default now");
}

void AddFilterOptions(CLI::App& app, RawOptions& raw) {
  AddTexts(app, kWho, "-p,--pid", raw.pids, "PID", "processes: -p 1234 or -p 1234,1235");
  AddTexts(app, kWho, "--comm", raw.comms, "NAME",
           "processes of a name; * and ? stand for any text");
  AddTexts(app, kWho, "--exe", raw.executables, "PATH",
           "processes of a program: a path or its end");
  AddTexts(app, kWho, "--cgroup", raw.cgroups, "PATH", "processes of a cgroup: /system.slice/*");
  AddTexts(app, kWho, "--container", raw.containers, "ID", "processes of a container");
  AddTexts(app, kWho, "--unit", raw.units, "UNIT", "processes of a systemd unit");
  AddTexts(app, kWho, "--user", raw.users, "USER", "processes of a user, by name or number");
  AddTexts(app, kWho, "--thread", raw.thread_names, "NAME", "threads of a name, or a tid");
  AddText(app, kWho, "--state", raw.state, "STATE", "only on_cpu, runnable or blocked time");
  AddText(app, kWho, "--wait", raw.wait, "REASON", "only time blocked for it: lock, io, net, ...");
}

void AddCommonOptions(CLI::App& app, RawOptions& raw) {
  AddFlag(app, kOther, "-q,--quiet", raw.quiet, "no words on standard error but errors");
  AddFlag(app, kOther, "-v,--verbose", raw.verbose,
          "explain choices, show all threads and counters");
  AddText(app, kOther, "--color", raw.color, "WHEN", "auto, always or never; auto obeys NO_COLOR");
  AddText(
      app, kOther, "--host", raw.host, "ADDRESS",
      "the profd to speak to, unix:///PATH, tls://HOST:PORT or HOST:PORT; else PROFD_HOST, else "
      "unix:///run/profd/profd.sock");
  AddText(app, kOther, "--tls-ca", raw.tls_ca, "FILE",
          "who signed the certificate of that profd, PEM; else PROFD_TLS_CA, else the system's");
  AddText(app, kOther, "--tls-cert", raw.tls_certificate, "FILE",
          "your certificate, PEM; else PROFD_TLS_CERT");
  AddText(app, kOther, "--tls-key", raw.tls_key, "FILE", "its key, PEM; else PROFD_TLS_KEY");
  app.set_help_flag("-h,--help", "show this help")->group(kOther);
  app.allow_extras();
}

}  // namespace

CliApp::CliApp(RawOptions& raw)
    : root_(
          "profctl COMMAND [OPTIONS]\n\n"
          "Shows where a Linux host's processes spend their time: on a CPU, waiting for one, or "
          "blocked, and on what.",
          "profctl") {
  root_.formatter(std::make_shared<HelpFormatter>());
  root_.require_subcommand(0, 1);
  AddCommonOptions(root_, raw);
  AddFlag(root_, kOther, "-V,--version", raw.version, "print the version");
  root_.footer(
      "Examples:\n"
      "  profctl collect -p 1234                10 seconds of a process, as a table\n"
      "  profctl collect -p 1234 -o out.svg     as a flame graph\n"
      "  profctl collect -o out.svg -- make     a command, from its first instruction\n"
      "  profctl top                            who is busy, live\n"
      "  profctl dump -p 1234                   what each of its threads does right now\n"
      "  profctl query --since 1h               what the host did in the last hour\n"
      "\n"
      "Options of a command: profctl COMMAND --help");
  AddCollect(raw);
  AddTop(raw);
  AddQuery(raw);
  AddList(raw);
  AddDump(raw);
  AddSymbols(raw);
  AddExport(raw);
  AddDiff(raw);
  AddOthers(raw);
}

void CliApp::AddCollect(RawOptions& raw) {
  collect_ = root_.add_subcommand(
      "collect",
      "profctl collect TARGET [-d TIME] [-o FILE]... [OPTIONS]\n"
      "       profctl collect [OPTIONS] -- COMMAND [ARGUMENT]...\n\n"
      "collect a wall-clock profile of processes that run, or of a command\n\n"
      "Without -o it prints a summary on a terminal and folded stacks into a pipe. Ctrl-C ends the "
      "collection early and still writes; a second Ctrl-C gives up.");
  collect_->alias("record");
  CLI::App& app = *collect_;
  AddTargetOptions(app, raw);

  AddText(app, kWhat, "-d,--duration", raw.duration, "TIME",
          "how long: 10s, 500ms, 2m; a bare number is seconds; default 10s, with -- COMMAND until "
          "it ends");
  AddText(app, kWhat, "-F,--frequency", raw.frequency, "HZ",
          "samples a second of each thread; default 99");
  AddText(app, kWhat, "--budget", raw.budget, "SHARE",
          "what sampling may cost, as 10% of a CPU, before waits are sampled more seldom; off: no "
          "limit; default 2% for every 8 CPUs, and more with -F");
  AddText(app, kWhat, "-m,--mode", raw.mode, "MODE",
          "wall: all time; on: on a CPU only; off: waiting only; default wall");
  AddFlag(app, kWhat, "-s,--children", raw.children,
          "also processes that the target starts; with -- COMMAND this is so without asking");
  AddFlag(app, kWhat, "--no-children", raw.no_children, "with -- COMMAND: only itself");
  AddFlag(app, kWhat, "--kernel-threads", raw.kernel_threads,
          "with -a and --comm: threads of the kernel, too");
  AddFlag(app, kWhat, "--cycles", raw.cycles,
          "take samples by the hardware's cycle counter instead of a timer");
  AddFlag(app, kWhat, "--native", raw.native, "accepted; native frames are always recorded");
  AddFlag(app, kWhat, "--no-inlines", raw.no_inlines,
          "no frames of inlined functions, which are shown where debug information is on the host");
  AddFlag(app, kWhat, "--no-lines", raw.no_lines, "no source files and lines, likewise");

  AddOutputOptions(app, raw.collect_output);
  AddCommonOptions(app, raw);
  AddFlag(app, kOther, "--no-progress", raw.no_progress, "no progress line");
  app.footer(
      "Examples:\n"
      "  profctl collect -p 1234 -d 30s -o out.svg -o out.json\n"
      "  profctl collect -a -d 5 -f folded > all.folded\n"
      "  sudo profctl collect -o out.svg -- ./program --its-option\n"
      "\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 target not found or no data,\n"
      "4 profd unreachable, 5 permission denied; with -- COMMAND that of the command.");
}

void CliApp::AddTop(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "top",
      "profctl top [TARGET] [--interval TIME] [OPTIONS]\n\n"
      "show live who spends time, and on what: processes, threads or functions\n\n"
      "A table every two seconds, of everything in them: running, runnable and blocked, and what "
      "most of the waiting is for. On a terminal h shows the keys; elsewhere the tables stand one "
      "below the other.");
  AddIdOptions(app, raw);
  AddFlag(app, kTarget, "-a,--all", raw.all, "all processes of the host: the default");
  AddText(app, kTarget, "--comm", raw.comm, "NAME", "processes whose program is called NAME");
  AddText(app, kTarget, "--cgroup", raw.cgroup, "PATH",
          "processes in a cgroup: a directory below /sys/fs/cgroup");
  AddText(app, kWhat, "-i,--interval", raw.top_interval, "TIME", "from table to table; default 2s");
  AddText(app, kWhat, "-F,--frequency", raw.frequency, "HZ",
          "samples a second of each thread; default 99");
  AddText(app, kWhat, "--budget", raw.budget, "SHARE", "what sampling may cost, as with collect");
  AddText(app, kWhat, "-m,--mode", raw.mode, "MODE", "wall, on or off, as with collect");
  AddFlag(app, kWhat, "-s,--children", raw.children, "also processes that the target starts");
  AddFlag(app, kWhat, "--kernel-threads", raw.kernel_threads,
          "with -a and --comm: threads of the kernel, too");
  AddFlag(app, kOutput, "--functions", raw.top_functions, "a row a function");
  AddFlag(app, kOutput, "--threads", raw.top_threads, "a row a thread");
  AddFlag(app, kOutput, "--processes", raw.top_processes, "a row a process: the default");
  AddText(app, kOutput, "--sort", raw.top_sort, "COLUMN",
          "running, runnable, blocked or name; of functions also self or total; default running");
  AddText(app, kOutput, "--filter", raw.top_filter, "TEXT", "only rows with TEXT in them");
  AddText(app, kOutput, "-n,--count", raw.top_count, "COUNT",
          "so many tables, one below the other");
  AddFlag(app, kOutput, "-b,--batch", raw.top_batch, "tables one below the other, without keys");
  AddCommonOptions(app, raw);
  app.footer(
      "Examples:\n"
      "  profctl top\n"
      "  profctl top -p 1234 --functions\n"
      "  profctl top -n 3 --threads --sort blocked --filter redis > out.txt\n"
      "\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 no such process or thread,\n"
      "4 profd unreachable, 5 permission denied.");
}

void CliApp::AddQuery(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "query",
      "profctl query [--since SPAN | --from TIME --to TIME] [WHO]...\n"
      "                     [-o FILE]... [OPTIONS]\n\n"
      "show where time was spent, from the history that profd keeps\n\n"
      "As collect, but of the past. Without -o it prints a summary on a terminal and folded stacks "
      "into a pipe. The history is told in windows: those at both ends are taken whole.");
  AddTimeOptions(app, raw);
  AddFilterOptions(app, raw);
  AddOutputOptions(app, raw.query_output);
  AddText(app, kOutput, "--group-by", raw.group_by, "WHAT",
          "process, thread, comm, unit, container, user or cgroup: a table, and the first frame");
  AddCommonOptions(app, raw);
  app.footer(
      "Examples:\n"
      "  profctl query --since 1h\n"
      "  profctl query --from 14:05 --to 14:20 --unit nginx -o out.svg\n"
      "  profctl query --since 1d --group-by unit\n"
      "\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 no data, 4 profd unreachable,\n"
      "5 permission denied.");
}

void CliApp::AddList(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "list",
      "profctl list [--since SPAN | --from TIME --to TIME] [WHO]... [OPTIONS]\n\n"
      "list the processes of the history, or their threads, with their shares of the time\n\n"
      "Running and runnable are shares of one CPU over the whole time range; blocked is one "
      "of the time that the threads lived.");
  AddTimeOptions(app, raw);
  AddFilterOptions(app, raw);
  AddFlag(app, kOutput, "--threads", raw.query_output.threads, "a row a thread");
  AddText(app, kOutput, "--group-by", raw.group_by, "WHAT",
          "a row a comm, unit, container, user or cgroup");
  AddFlag(app, kOutput, "--json", raw.json, "as JSON, all rows");
  AddCommonOptions(app, raw);
  app.footer("Examples:\n  profctl list --since 10m\n  profctl list --unit redis-server --threads");
}

void CliApp::AddDump(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "dump",
      "profctl dump -p PID [--json] [OPTIONS]\n\n"
      "show what every thread of a process does right now\n\n"
      "Its state, what it waits for, and its stack: kernel, native and Python frames in one, the "
      "innermost first. Stops nothing: threads that wait are read as they stand, those that run "
      "are sampled.");
  AddIdOptions(app, raw);
  AddFlag(app, kOutput, "--json", raw.json, "as JSON");
  AddFlag(app, kOutput, "--no-inlines", raw.no_inlines, "no frames of inlined functions");
  AddFlag(app, kOutput, "--no-lines", raw.no_lines, "no source files and lines");
  AddFlag(app, kOutput, "--native", raw.native, "accepted; native frames are always shown");
  AddNameOptions(app, raw.dump_output);
  AddCommonOptions(app, raw);
  app.footer(
      "Examples:\n"
      "  profctl dump -p 1234\n"
      "  profctl dump -p 1234 --json | jq '.processes[].gil_holder'\n"
      "\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 no such process or thread,\n"
      "4 profd unreachable, 5 permission denied.");
}

void CliApp::AddSymbols(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "symbols",
      "profctl symbols TARGET [-d TIME] [--json] [-o FILE] [OPTIONS]\n"
      "       profctl symbols FILE.json [--json] [-o FILE] [OPTIONS]\n\n"
      "show where names come from, module by module, and what to install\n\n"
      "Collects for a moment, or takes a json file of collect, and counts the frames of each "
      "module: how many have a name and a source line, and why the others have none.");
  app.add_option("FILE", raw.input, "json file")->group("");
  AddTargetOptions(app, raw);
  AddText(app, kWhat, "-d,--duration", raw.duration, "TIME",
          "how long: 10s, 500ms, 2m; a bare number is seconds; default 2s");
  AddText(app, kWhat, "-F,--frequency", raw.frequency, "HZ",
          "samples a second of each thread; default 99");
  AddFlag(app, kWhat, "-s,--children", raw.children, "also processes that the target starts");
  AddFlag(app, kOutput, "--json", raw.json, "as JSON, with every frame that has no name");
  AddTexts(app, kOutput, "-o,--output", raw.symbols_files, "FILE",
           "write to FILE; - is standard output");
  AddCommonOptions(app, raw);
  AddFlag(app, kOther, "--no-progress", raw.no_progress, "no progress line");
  app.footer(
      "Examples:\n"
      "  profctl symbols -p 1234\n"
      "  profctl symbols out.json --json");
}

void CliApp::AddExport(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "export",
      "profctl export FILE.json [-o FILE]... [OPTIONS]\n\n"
      "make other formats from a json file of collect\n\n"
      "Needs no profd. Without -o it prints a summary on a terminal and folded stacks into a "
      "pipe; the file - is standard input.");
  app.add_option("FILE", raw.input, "json file")->group("");
  AddOutputOptions(app, raw.export_output);
  AddCommonOptions(app, raw);
  app.footer("Example:\n  profctl export out.json -o out.svg -o out.pb.gz");
}

void CliApp::AddDiff(RawOptions& raw) {
  CLI::App& app = *root_.add_subcommand(
      "diff",
      "profctl diff A B [WHO]... [-o FILE]... [OPTIONS]\n\n"
      "compare two profiles, of files or of the history: what changed from A to B\n\n"
      "A and B are json files of collect or query, - for standard input, or ranges of the "
      "history that profd keeps: 2h..1h, 14:05..14:20, 1h.. up to now, ..1h from its beginning. "
      "Times of A are scaled to the elapsed time of B. Processes and threads are compared by their "
      "names, not their ids. Without -o it prints a table on a terminal and folded stacks with two "
      "columns into a pipe. Two files need no profd.");
  app.add_option("SIDES", raw.diff_sides, "json files or time ranges")->group("");
  AddFilterOptions(app, raw);
  AddFlag(app, kWhat, "--absolute", raw.diff_absolute, "compare times as they are, not scaled");
  AddText(app, kWhat, "--filter-a", raw.diff_filter_a, "FILTER",
          "only a part of A: pid=N, tid=N, or comm, exe, cgroup, container, unit, user or "
          "thread=NAME, with commas between them");
  AddText(app, kWhat, "--filter-b", raw.diff_filter_b, "FILTER", "only a part of B");
  AddTexts(
      app, kOutput, "-o,--output", raw.diff_output.files, "FILE",
      "write to FILE: .svg, .folded or .json; may be given again for more files; - is standard "
      "output");
  AddText(app, kOutput, "-f,--format", raw.diff_output.format, "FORMAT",
          "folded, svg, json or table: for standard output and files whose names do not say it");
  AddFlag(app, kOutput, "--threads", raw.diff_output.threads, "tell threads apart by their names");
  AddNameOptions(app, raw.diff_output);
  AddCommonOptions(app, raw);
  app.footer(
      "Examples:\n"
      "  profctl diff before.json after.json\n"
      "  profctl diff before.json after.json -o diff.svg\n"
      "  profctl diff 2h..1h 1h.. --unit nginx\n"
      "  profctl diff all.json all.json --filter-a pid=12 --filter-b pid=13");
}

void CliApp::AddOthers(RawOptions& raw) {
  CLI::App& doctor = *root_.add_subcommand(
      "doctor",
      "profctl doctor [-p PID] [--json] [OPTIONS]\n\n"
      "say what keeps profd, or the profile of a process, from being complete, and what fixes "
      "it\n\n"
      "A line a check: ok, warn, fail, or unknown where nobody here can tell. Exit code 0 when "
      "nothing fails, else 1.");
  AddTexts(doctor, kWhat, "-p,--pid", raw.pids, "PID",
           "this process, too: it is looked at for a second");
  AddFlag(doctor, kOutput, "--json", raw.json, "as JSON");
  AddCommonOptions(doctor, raw);
  CLI::App& status = *root_.add_subcommand(
      "status", "profctl status [--json] [OPTIONS]\n\nshow what profd does and what it costs");
  AddFlag(status, kOutput, "--json", raw.json, "as JSON");
  AddCommonOptions(status, raw);
  CLI::App& formats = *root_.add_subcommand(
      "formats", "profctl formats\n\nlist the formats of output files and what opens them");
  AddCommonOptions(formats, raw);
  CLI::App& version = *root_.add_subcommand("version", "profctl version\n\nprint the version");
  AddCommonOptions(version, raw);
}

const CLI::App* CliApp::command() const {
  const auto parsed = root_.get_subcommands();
  return parsed.empty() ? nullptr : parsed.front();
}

}  // namespace profd::client
