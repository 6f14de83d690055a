#include "tests/accuracy/truth_run.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "bpf/shared/events.h"
#include "client/format/json.h"
#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "tests/support/eventually.h"
#include "tests/support/host_time.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::accuracy {
namespace {

std::string Program(const std::string& path) { return test::BinaryDirectory() + "/" + path; }

class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "profd-truth-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ / "profile.json"; }

 private:
  std::filesystem::path folder_;
};

Result<v1::Profile> ReadProfile(const std::string& path) {
  std::ifstream in(path);
  return client::ReadJson(in);
}

bool HasSleepingThread(pid_t pid, const std::string& name) {
  const ProcFs proc;
  const std::string tasks = std::to_string(pid) + "/task";
  const auto tids = proc.ListNumbers(tasks);
  return tids && std::ranges::any_of(*tids, [&](std::uint32_t tid) {
           const auto stat = proc.Read(tasks + "/" + std::to_string(tid) + "/stat");
           return stat && stat->find("(" + name + ") S") != std::string::npos;
         });
}

bool IsOn(Side side, v1::State state) {
  if (side == Side::kBlocked) return state == v1::STATE_BLOCKED;
  return (state == v1::STATE_ON_CPU) == (side == Side::kOnCpu);
}

// For each node, whether the path from it to the root has a frame of this name.
std::vector<char> NodesWith(const v1::Profile& profile, const std::string& function) {
  std::vector<char> with(static_cast<std::size_t>(profile.nodes_size()) + 1, 0);
  for (int i = 0; i < profile.nodes_size(); ++i) {
    const v1::StackNode& node = profile.nodes(i);
    const bool here = profile.frames(static_cast<int>(node.frame())).name() == function;
    with[static_cast<std::size_t>(i) + 1] = static_cast<char>(here || with[node.parent()] != 0);
  }
  return with;
}

using WeightOf = std::uint64_t (v1::Samples::*)(int) const;

// Of the threads that `takes` takes, by index.
template <typename Takes>
MeasuredShare ShareOf(const v1::Profile& profile, const std::string& function, Side side,
                      WeightOf weight_of, const Takes& takes) {
  const std::vector<char> with = NodesWith(profile, function);
  const v1::Samples& samples = profile.samples();
  MeasuredShare measured;
  double inside_ns = 0;
  double not_ready_ns = 0;
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (!takes(static_cast<int>(samples.thread(i))) || !IsOn(side, samples.state(i))) continue;
    const auto weight = static_cast<double>((samples.*weight_of)(i));
    measured.total_ns += weight;
    if (with[samples.node(i)] != 0) inside_ns += weight;
    const bool ready = (samples.stack_flags(i) & PROFD_STACK_TABLES_NOT_READY) == 0;
    if (!ready && with[samples.node(i)] == 0) not_ready_ns += weight;
    if (!samples.exact(i)) measured.weights.Add(samples.raw_weight_ns(i), samples.count(i));
  }
  if (measured.total_ns > 0) {
    measured.share = inside_ns / measured.total_ns;
    measured.not_ready = not_ready_ns / measured.total_ns;
  }
  return measured;
}

}  // namespace

MeasuredShare ThreadView::Share(const std::string& function, Side side) const {
  return ShareOf(*profile_, function, side, &v1::Samples::weight_ns,
                 [this](int thread) { return thread == index_; });
}

ThreadView::Stacks ThreadView::CountStacks() const {
  const v1::Samples& samples = profile_->samples();
  const std::vector<char> at_end = NodesWith(*profile_, "do_exit");
  Stacks stacks;
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (static_cast<int>(samples.thread(i)) != index_ || samples.count(i) == 0 ||
        at_end[samples.node(i)] != 0)
      continue;
    if ((samples.stack_flags(i) & PROFD_STACK_TABLES_NOT_READY) != 0) {
      ++stacks.not_ready;
    } else if ((samples.stack_flags(i) & PROFD_STACK_COMPLETE) == 0) {
      ++stacks.cut;
    } else {
      ++stacks.complete;
      std::uint32_t node = samples.node(i);
      const auto parent = [&] { return profile_->nodes(static_cast<int>(node) - 1).parent(); };
      while (parent() != 0) node = parent();
      const auto root = profile_->nodes(static_cast<int>(node) - 1).frame();
      stacks.roots.insert(profile_->frames(static_cast<int>(root)).name());
    }
  }
  return stacks;
}

std::uint64_t ThreadView::BlockedNs(const std::string& function, v1::WaitReason wait) const {
  const std::vector<char> with = NodesWith(*profile_, function);
  const v1::Samples& samples = profile_->samples();
  std::uint64_t ns = 0;
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (static_cast<int>(samples.thread(i)) == index_ && samples.state(i) == v1::STATE_BLOCKED &&
        samples.wait(i) == wait && with[samples.node(i)] != 0) {
      ns += samples.weight_ns(i);
    }
  }
  return ns;
}

std::uint64_t ThreadView::WeightNs() const {
  const v1::Samples& samples = profile_->samples();
  std::uint64_t ns = 0;
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (static_cast<int>(samples.thread(i)) == index_) ns += samples.weight_ns(i);
  }
  return ns;
}

TruthRun TruthRun::OfHistory(nlohmann::json truth, v1::Profile profile, double most_unseen,
                             int borders) {
  TruthRun run;
  run.truth_ = std::move(truth);
  run.profile_ = std::move(profile);
  run.most_unseen_ = most_unseen;
  run.borders_ = borders;
  return run;
}

Result<TruthRun> TruthRun::Collect(const std::string& program,
                                   const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& options) {
  std::vector<std::string> command = {Program("testprogs/" + program)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return CollectCommand(command, options);
}

Result<TruthRun> TruthRun::CollectCommand(const std::vector<std::string>& program,
                                          const std::vector<std::string>& options) {
  const TemporaryFile file;
  std::vector<std::string> command = {
      Program("bin/profctl"), "collect", "-q", "--budget", "off", "-o", file.path()};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back("--");
  command.insert(command.end(), program.begin(), program.end());
  const SystemClock clock;
  TruthRun run;
  const std::uint64_t stolen_before_ns = testing::StealNs();
  const std::uint64_t first_before_ns = testing::FirstProcessCpuNs();
  run.before_ns_ = clock.MonotonicNs();
  const testing::Outcome outcome = testing::Run(command);
  run.after_ns_ = clock.MonotonicNs();
  run.most_stolen_ns_ = testing::StealNs() + testing::kStealUnitNs - stolen_before_ns;
  // A thread of it that has ended is not counted.
  const std::uint64_t first_ns = std::max(testing::FirstProcessCpuNs(), first_before_ns);
  run.most_unseen_ = static_cast<double>(first_ns - first_before_ns) /
                     static_cast<double>(run.after_ns_ - run.before_ns_);
  if (outcome.exit_code != 0) {
    return Error{ErrorCode::kInternal,
                 "profctl ended with " + std::to_string(outcome.exit_code) + ": " + outcome.err,
                 ""};
  }
  auto profile = ReadProfile(file.path());
  if (!profile) return profile.error();
  run.profile_ = std::move(*profile);
  run.truth_ = nlohmann::json::parse(outcome.out);
  return run;
}

Result<TruthRun> TruthRun::CollectRunning(const std::string& name,
                                          const std::vector<std::string>& arguments,
                                          const std::string& seconds) {
  const TemporaryFile file;
  std::vector<std::string> command = {Program("testprogs/" + name)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto program = testing::Subprocess::Start(command);
  if (!program) return program.error();
  if (!test::Eventually([&] { return HasSleepingThread(program->pid(), "long-sleeper"); }))
    return Error{ErrorCode::kInternal, name + " has no thread that sleeps", ""};
  const SystemClock clock;
  TruthRun run;
  run.before_ns_ = clock.MonotonicNs();
  const testing::Outcome outcome =
      testing::Run({Program("bin/profctl"), "collect", "-q", "--budget", "off", "-p",
                    std::to_string(program->pid()), "-d", seconds, "-o", file.path()});
  run.after_ns_ = clock.MonotonicNs();
  program->Signal(SIGTERM);
  const testing::Outcome said = program->Wait();
  if (outcome.exit_code != 0) return Error{ErrorCode::kInternal, outcome.err, ""};
  auto profile = ReadProfile(file.path());
  if (!profile) return profile.error();
  run.profile_ = std::move(*profile);
  run.truth_ = nlohmann::json::parse(said.out);
  return run;
}

Result<ThreadView> TruthRun::Thread(std::uint32_t tid) const {
  int found = -1;
  for (int i = 0; i < profile_.threads_size(); ++i) {
    if (profile_.threads(i).tid() != tid) continue;
    if (found >= 0) return Error{ErrorCode::kNotFound, "two threads " + std::to_string(tid), ""};
    found = i;
  }
  if (found < 0) return Error{ErrorCode::kNotFound, "no thread " + std::to_string(tid), ""};
  return ThreadView(profile_, found);
}

const nlohmann::json& TruthRun::Truth(const std::string& name) const {
  const auto& threads = truth_.at("threads");
  return *std::ranges::find_if(threads,
                               [&](const auto& thread) { return thread.at("name") == name; });
}

ThreadView TruthRun::MustThread(const std::string& name) const {
  return Thread(Truth(name).at("tid").get<std::uint32_t>()).value();
}

ThreadView TruthRun::MainThread() const {
  return Thread(truth_.at("pid").get<std::uint32_t>()).value();
}

MeasuredShare TruthRun::ShareOfAll(const std::string& function, Side side) const {
  std::set<std::uint32_t> reported;
  for (const auto& thread : truth_.at("threads"))
    reported.insert(thread.at("tid").get<std::uint32_t>());
  const auto takes = [&](int thread) { return reported.contains(profile_.threads(thread).tid()); };
  MeasuredShare measured = ShareOf(profile_, function, side, &v1::Samples::raw_weight_ns, takes);
  if (side == Side::kOnCpu) return measured;
  std::map<std::uint64_t, std::int64_t> changes;  // of the number of threads
  for (int i = 0; i < profile_.threads_size(); ++i) {
    if (!takes(i)) continue;
    ++changes[profile_.threads(i).begin_ns()];
    --changes[profile_.threads(i).end_ns()];
  }
  std::int64_t now = 0;
  std::int64_t most = 1;
  for (const auto& [time_ns, change] : changes) most = std::max(most, now += change);
  measured.weights.ShareTheirPoints(static_cast<std::uint32_t>(most));
  return measured;
}

double TruthRun::NotReadyShare() const {
  const v1::Samples& samples = profile_.samples();
  double not_ready = 0;
  for (int i = 0; i < samples.stack_flags_size(); ++i)
    not_ready += (samples.stack_flags(i) & PROFD_STACK_TABLES_NOT_READY) != 0 ? 1 : 0;
  return not_ready / std::max(1, samples.stack_flags_size());
}

double TruthRun::StolenShare() const {
  const double cpus = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<double>(most_stolen_ns_) /
         (cpus * static_cast<double>(after_ns_ - before_ns_));
}

std::string WhyNotObserved() {
  const auto kallsyms = ProcFs().Read("kallsyms", 64u << 20);
  if (!kallsyms || kallsyms->find(" bpf_iter_task_new") == std::string::npos)
    return "this kernel has no iterator over tasks for programs";
  return std::thread::hardware_concurrency() > 1 ? "" : "one CPU has no observer";
}

KernelAccounting AccountingOf(const nlohmann::json& thread) {
  const auto& accounting = thread.at("schedstat");
  return {.read_ns = accounting.at("read_ns"),
          .cpu_when_read_ns = accounting.at("cpu_when_read_ns"),
          .run_ns = accounting.at("run_ns"),
          .run_delay_ns = accounting.at("run_delay_ns"),
          .cpu_at_begin_ns = thread.at("cpu_at_begin_ns")};
}

TrueTime TrueTimeIn(const nlohmann::json& thread, const std::string& function) {
  TrueTime time;
  for (const auto& phase : thread.at("phases")) {
    if (phase.at("function") != function) continue;
    time.wall_ns += phase.at("wall_ns").get<double>();
    time.cpu_ns += phase.at("cpu_ns").get<double>();
    time.count += phase.at("count").get<double>();
  }
  return time;
}

}  // namespace profd::accuracy
