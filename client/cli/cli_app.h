// CliApp: the commands and options of profctl as CLI11 knows them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace profd::client {

// Options as text: CLI11 knows names and numbers of arguments, what they mean is decided later.
struct RawOutputOptions {
  std::vector<std::string> files;
  std::string format;
  bool threads = false;
  bool signatures = false;
  bool mangled = false;
  bool interpreter_frames = false;
  bool gil = false;
};

struct RawOptions {
  bool quiet = false;
  bool verbose = false;
  bool version = false;
  std::string color = "auto";
  std::string host;
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;

  std::vector<std::string> pids;
  std::vector<std::string> tids;
  bool all = false;
  std::string comm;
  std::string cgroup;
  bool children = false;
  bool no_children = false;
  bool kernel_threads = false;
  std::string duration;
  std::string frequency;
  std::string budget;
  std::string mode = "wall";
  bool cycles = false;
  bool native = false;
  bool no_inlines = false;
  bool no_lines = false;
  bool no_progress = false;
  RawOutputOptions collect_output;

  std::string top_interval;
  std::string top_count;
  std::string top_sort;
  std::string top_filter;
  bool top_functions = false;
  bool top_threads = false;
  bool top_processes = false;
  bool top_batch = false;

  std::string input;
  std::vector<std::string> diff_sides;
  std::string diff_filter_a;
  std::string diff_filter_b;
  bool diff_absolute = false;
  RawOutputOptions diff_output;
  RawOutputOptions export_output;
  RawOutputOptions dump_output;  // the names only
  RawOutputOptions query_output;
  std::string since;
  std::string from;
  std::string to;
  std::vector<std::string> comms;
  std::vector<std::string> executables;
  std::vector<std::string> cgroups;
  std::vector<std::string> containers;
  std::vector<std::string> units;
  std::vector<std::string> users;
  std::vector<std::string> thread_names;
  std::string state;
  std::string wait;
  std::string group_by;
  std::vector<std::string> symbols_files;
  bool json = false;  // of dump, list, status and symbols
};

// Binds CLI11 to `raw`, which must outlive it. What it does not know it keeps: see Remaining.
class CliApp {
 public:
  explicit CliApp(RawOptions& raw);
  CliApp(const CliApp&) = delete;
  CliApp& operator=(const CliApp&) = delete;

  [[nodiscard]] CLI::App& root() { return root_; }
  // The command that was given; null for none.
  [[nodiscard]] const CLI::App* command() const;
  [[nodiscard]] const CLI::App& collect() const { return *collect_; }
  // Arguments nobody knew, in order.
  [[nodiscard]] std::vector<std::string> Remaining() const { return root_.remaining(true); }

 private:
  void AddCollect(RawOptions& raw);
  void AddTop(RawOptions& raw);
  void AddQuery(RawOptions& raw);
  void AddList(RawOptions& raw);
  void AddDump(RawOptions& raw);
  void AddSymbols(RawOptions& raw);
  void AddExport(RawOptions& raw);
  void AddDiff(RawOptions& raw);
  void AddOthers(RawOptions& raw);

  CLI::App root_;
  CLI::App* collect_ = nullptr;
};

}  // namespace profd::client
