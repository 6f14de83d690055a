#include "client/commands/threads.h"

#include <utility>

#include "client/cli/values.h"
#include "client/commands/common/thread_reports.h"

namespace profd::client {

ThreadsVerb::ThreadsVerb()
    : AnySourceVerb(
          {.name = "threads",
           .usage = "profctl threads PID|TARGET [-d TIME] [-o FILE]... [OPTIONS]\n"
                    "       profctl threads TARGET [-d TIME] [OPTIONS] -- COMMAND [ARGUMENT]...\n"
                    "       profctl threads FILE.json [-o FILE]... [OPTIONS]\n"
                    "       profctl threads 2h..1h|--since SPAN|--from TIME [WHO]... [OPTIONS]",
           .summary = "show how well threads use CPUs, and how many run at once",
           .about = "Collects for 10 s, reads a json file of collect, or takes a range of the "
                    "history. For each process it shows what its threads do on average, which "
                    "part of the CPUs that it may use does work, how many of its threads ran at "
                    "once and how many wanted to, and what to change, where the numbers say so. "
                    "For each thread it shows its states, switches, CPUs, and how often it "
                    "moved how far. With --counters it shows what hardware counters have "
                    "counted, where the host has some. The history does not keep how many "
                    "threads ran at once.",
           .footer = "Examples:\n"
                     "  profctl threads 1234\n"
                     "  profctl threads 1234 --counters\n"
                     "  profctl threads out.json -o threads.csv\n"
                     "  profctl threads --since 1h --unit nginx"}) {
  AddSource();
  AddCounters(command(), source().sampling);
  AddOutputFiles(command(), source().files,
                 "write to FILE: .csv, .json or .txt; may be given again for more files; - is "
                 "standard output");
  AddFormat(command(), source().format, ThreadFormats(),
            "csv and json have all threads, with times in ns.");
  AddNoProgress(command(), source().no_progress);
}

Result<void> ThreadsVerb::Take() {
  OutputOptions output;
  output.report = Report::kThreads;
  output.question.counters = source().sampling.counters;
  return TakeSource(std::move(output), "");
}

}  // namespace profd::client
