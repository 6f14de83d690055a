// What a command line means. Passive structs: parsed once, then only read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/link/host.h"
#include "client/profile/grouping.h"
#include "client/screens/top/top_state.h"
#include "client/system/terminal.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

struct GlobalOptions {
  bool quiet = false;
  bool verbose = false;
  ColorChoice color = ColorChoice::kAuto;
  Host host;  // no address: PROFD_HOST, else the default
};

// What a summary and a terminal show of a profile.
enum class Report { kSummary, kSymbols, kSymbolsJson, kList, kListJson };

// Where a profile goes, and how it is written.
struct OutputOptions {
  std::vector<std::string> files;    // "-" is stdout; empty: stdout, as fits what it is
  std::string format;                // empty: by the file name
  Report report = Report::kSummary;  // the others take the place of every format
  bool threads = false;
  bool signatures = false;
  bool mangled = false;
  bool interpreter_frames = false;
  bool gil = false;                  // only time with the GIL held
  std::optional<GroupKey> group_by;  // none: by process, and the summary by thread
};

struct CollectOptions {
  v1::Target target;                         // `kind` is not set when there is a command
  std::vector<std::string> command;          // behind `--`
  std::optional<std::uint64_t> duration_ns;  // none: 10 s, or until the command ends
  std::uint32_t frequency_hz = 99;
  double budget_cpus = 0;  // as in CollectRequest
  v1::Mode mode = v1::MODE_WALL;
  bool hardware_cycles = false;
  bool inlined = true;
  bool lines = true;
  bool no_progress = false;
  OutputOptions output;
};

struct TopOptions {
  v1::Target target;
  v1::Mode mode = v1::MODE_WALL;
  std::uint32_t frequency_hz = 99;
  double budget_cpus = 0;  // as in CollectRequest
  std::uint64_t interval_ns = 2'000'000'000;
  std::uint64_t count = 0;  // of tables; 0: until it is ended
  bool plain = false;       // lines, also on a terminal
  TopState state;           // at the start
};

struct ExportCommandOptions {
  std::string input;  // "-" is stdin
  OutputOptions output;
};

struct DumpCommandOptions {
  v1::Target target;  // pids or tids
  bool json = false;
  bool inlined = true;
  bool lines = true;
  bool signatures = false;
  bool mangled = false;
  bool interpreter_frames = false;
};

// What of the history is requested.
struct HistoryQuestion {
  v1::QueryRequest request;
  std::string who;    // the filter, for people: "comm redis-server"
  std::string range;  // the time range, likewise
};

struct DiffInput {
  std::string source;                      // as it was written; without `history` a json file
  std::optional<HistoryQuestion> history;  // none: "-" is stdin
  std::string filter;                      // as ThreadFilter::Parse has it; empty: everything
};

struct DiffCommandOptions {
  DiffInput a;
  DiffInput b;
  std::vector<std::string> files;  // as OutputOptions
  std::string format;
  bool absolute = false;
  bool threads = false;
  bool signatures = false;
  bool mangled = false;
  bool interpreter_frames = false;
};

// Of `query` and `list`.
struct QueryOptions {
  HistoryQuestion question;
  OutputOptions output;
};

struct DoctorOptions {
  std::optional<std::uint32_t> pid;
  bool json = false;
};

struct StatusOptions {
  bool json = false;
};

enum class Verb {
  kHelp,
  kVersion,
  kCollect,
  kTop,
  kQuery,
  kDump,
  kDiff,
  kDoctor,
  kStatus,
  kFormats,
  kExport
};

struct CommandLine {
  Verb verb = Verb::kHelp;
  std::string help;  // kHelp: the text
  GlobalOptions global;
  CollectOptions collect;
  TopOptions top;
  QueryOptions query;
  DumpCommandOptions dump;
  ExportCommandOptions export_command;
  DiffCommandOptions diff;
  DoctorOptions doctor;
  StatusOptions status;
};

}  // namespace profd::client
