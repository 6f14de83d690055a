#include "daemon/app/daemon.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/app/front_end.h"
#include "daemon/app/memory_plan.h"
#include "daemon/base/own_usage.h"
#include "daemon/budget/budget_keeper.h"
#include "daemon/budget/memory_keeper.h"
#include "daemon/elf/debug/debug_download.h"
#include "daemon/elf/sources/file_object_source.h"
#include "daemon/elf/sources/recording_object_source.h"
#include "daemon/history/history_recorder.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/python/feed/python_source.h"
#include "daemon/recording/recording_source.h"
#include "daemon/replay/replay_backend.h"
#include "daemon/server/grpc/transport/listen_address.h"
#include "daemon/source/bpf_source.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "daemon/symbolize/cache/caching_symbolizer.h"
#include "daemon/symbolize/cache/name_notes.h"
#include "daemon/symbolize/cache/timed_symbolizer.h"
#include "daemon/symbolize/live/host_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "daemon/symbolize/live/kernel_symbols.h"
#include "daemon/unwind/service/prefetch_source.h"
#include "daemon/unwind/service/table_notes.h"
#include "daemon/unwind/service/table_service.h"

namespace profd::app {
namespace {

double ClockLimitCpus(const config::Options& options) {
  return options.clock_limit_percent / 100 * std::max(1u, std::thread::hardware_concurrency());
}

// With what follows it 5 s from SIGTERM to the end. All go by one time: what is not done by its
// part of it is given up, and counted.
constexpr std::chrono::milliseconds kNamesUntil{1000};
constexpr std::chrono::milliseconds kSessionsUntil{3000};
constexpr std::chrono::milliseconds kHistoryUntil{3500};
constexpr std::chrono::milliseconds kCallsUntil{4500};
constexpr std::chrono::milliseconds kPythonAtStart{100};
constexpr std::chrono::milliseconds kCallsAtLeast{500};
// sizeof(struct thread) in bpf/maps.bpf.h, with what task storage adds, as kmalloc rounds it.
constexpr std::uint64_t kThreadStorageBytes = 1024;

class ReplayDaemon : public Daemon {
 public:
  ReplayDaemon(std::unique_ptr<replay::ReplayBackend> backend, const SystemClock& clock,
               spdlog::logger& logger)
      : backend_(std::move(backend)),
        clock_(clock),
        front_end_({.backend = *backend_,
                    .clock = clock,
                    .proc = proc_,
                    .logger = logger,
                    .history = nullptr,
                    .progress = {.last_ns = [this] { return ProgressNs(); },
                                 .trouble = [] { return std::string(); }}}) {}

  Result<void> Serve(FrontEndOptions options) { return front_end_.Serve(std::move(options)); }
  // There are only the threads of its sessions, which end.
  [[nodiscard]] std::uint64_t ProgressNs() const override { return clock_.MonotonicNs(); }
  void ReportHealth() const override { front_end_.ReportHealth(); }
  Result<void> Stop() override {
    front_end_.EndSessions(kSessionsUntil);
    front_end_.StopServing(kCallsAtLeast);
    return {};
  }

 private:
  const ProcFs proc_;
  const std::unique_ptr<replay::ReplayBackend> backend_;
  const SystemClock& clock_;
  FrontEnd front_end_;
};

// What stands between the live parts and the pipeline while a recording is made.
class Recorder {
 public:
  Recorder(std::unique_ptr<recording::RecordingWriter> writer, wire::EventSource& source,
           symbolize::KernelSymbols& kernel, elf::ObjectSource& objects, symbolize::JitSymbols& jit)
      : writer_(std::move(writer)),
        source_(source, *writer_),
        kernel_(kernel, Sink()),
        objects_(objects, Sink()),
        jit_(jit, Sink()) {}

  [[nodiscard]] wire::EventSource& source() { return source_; }
  [[nodiscard]] symbolize::KernelSymbols& kernel() { return kernel_; }
  [[nodiscard]] elf::ObjectSource& objects() { return objects_; }
  [[nodiscard]] symbolize::JitSymbols& jit() { return jit_; }
  void FlushEnvironment() {
    kernel_.Flush();
    objects_.Flush();
    jit_.Flush();
  }
  Result<void> Close() { return writer_->Close(); }

 private:
  using Record = std::function<void(std::string_view, std::string_view, std::string_view)>;
  [[nodiscard]] Record Sink() {
    return [this](std::string_view kind, std::string_view key, std::string_view value) {
      writer_->AddEnvironment(kind, key, value);
    };
  }

  const std::unique_ptr<recording::RecordingWriter> writer_;
  recording::RecordingSource source_;
  symbolize::RecordingKernelSymbols kernel_;
  elf::RecordingObjectSource objects_;
  symbolize::RecordingJitSymbols jit_;
};

// Makes interpreters known to the kernel side.
class PythonSink : public python::PythonProcesses {
 public:
  explicit PythonSink(source::PythonProcessMap& map) : map_(map) {}
  bool Put(std::uint32_t pid, std::span<const profd_python_process> runtimes) override {
    return map_.Put(pid, runtimes).ok();
  }
  void Remove(std::uint32_t pid) override { map_.Remove(pid); }

 private:
  source::PythonProcessMap& map_;
};

// What finds the interpreters of processes.
struct PythonParts {
  explicit PythonParts(source::BpfSource& source)
      : sink(source.python_processes()), service(sink, facts, ProcFs()) {}
  PythonSink sink;
  python::FactQueue facts;
  python::PythonService service;
};

// Where the history is kept; no store: nowhere.
struct History {
  std::unique_ptr<store::ProfileStore> store;
  history::HistoryRecorder::Options options;
};

class LiveDaemon : public Daemon {
 public:
  // NOLINTNEXTLINE(readability-function-size): the parts that it is made of
  LiveDaemon(std::unique_ptr<source::BpfSource> source,
             std::unique_ptr<unwind::TableService> tables, std::unique_ptr<PythonParts> python,
             std::unique_ptr<recording::RecordingWriter> writer,
             const recording::RecordingInfo& info, const config::Options& options, History history,
             const SystemClock& clock, spdlog::logger& logger)
      : plan_(PlanMemory(options.memory_cap.count, &memory_)),
        source_(std::move(source)),
        tables_(std::move(tables)),
        python_(std::move(python)),
        python_source_(*source_, python_->service, python_->facts, clock),
        kernel_(proc_, clock),
        objects_(proc_, plan_.elf_file,
                 {.inlined = options.debug_info,
                  .download = elf::DebugDownload::HasServers(),
                  .pool = plan_.debug,
                  .memory = &memory_}),
        jit_(proc_, clock),
        recorder_(writer ? std::make_unique<Recorder>(std::move(writer), python_source_, kernel_,
                                                      objects_, jit_)
                         : nullptr),
        prefetch_(recorder_ ? recorder_->source() : python_source_, *tables_),
        host_(
            recorder_ ? recorder_->kernel() : kernel_, recorder_ ? recorder_->objects() : objects_,
            recorder_ ? &recorder_->jit() : static_cast<symbolize::JitSymbols*>(&jit_), plan_.elf),
        timed_(host_),
        symbolizer_(timed_, plan_.names_bytes),
        pipeline_(
            {.source = prefetch_,
             .control = *source_,
             .symbolizer = symbolizer_,
             .clock = clock,
             .proc = proc_,
             .logger = logger,
             .origin = {.host = info.host,
                        .kernel = info.kernel_release,
                        .profd_version = info.profd_version,
                        .boot_unix_ns = static_cast<std::uint64_t>(info.realtime_offset_ns)},
             .recording_file = options.record_file,
             .detach = [this] { source_->Detach(); },
             .flush_environment =
                 [this] {
                   if (recorder_) recorder_->FlushEnvironment();
                 },
             .describe_tables =
                 [this] {
                   auto report = Describe(*tables_);
                   auto names = symbolize::Describe(symbolizer_, timed_, objects_);
                   std::ranges::move(names.gauges, std::back_inserter(report.gauges));
                   std::ranges::move(names.counters, std::back_inserter(report.counters));
                   const auto heap = OwnHeapBytes();
                   report.gauges.push_back({"heap_used", "bytes of the heap in use", heap.used});
                   report.gauges.push_back(
                       {"heap_free", "bytes of the heap that are free", heap.free});
                   return report;
                 },
             .python_status = [this] { return python_->service.status(); },
             .budget_status = [this] { return keeper_.status(); },
             .memory_status = [this] { return memory_keeper_.status(); },
             .give_up_memory = [this] { GiveUpMemory(); },
             .memory = memory_,
             .limits = plan_.pipeline}),
        keeper_(*source_, clock, ClockLimitCpus(options),
                [this] {
                  const std::uint64_t all_ns = pipeline_.StageCpuNs();
                  return budget::BudgetKeeper::Work{
                      .cpu_ns = all_ns - std::min(all_ns, timed_.spent_ns()),
                      .samples = pipeline_.samples()};
                }),
        memory_keeper_(options.memory_cap.count, MemoryHolders(), memory_, proc_,
                       [this] { return KernelBytesBeyondResident(); }),
        history_(history.store
                     ? std::make_unique<history::HistoryRecorder>(
                           pipeline_, std::move(history.store), clock, logger, history.options)
                     : nullptr),
        front_end_({.backend = pipeline_,
                    .clock = clock,
                    .proc = proc_,
                    .logger = logger,
                    .history = history_.get(),
                    .progress = {.last_ns = [this] { return ProgressNs(); },
                                 .trouble =
                                     [this, &clock] {
                                       return pipeline::StuckStage(pipeline_.heartbeats(),
                                                                   clock.MonotonicNs());
                                     }}}) {}

  Result<void> Serve(FrontEndOptions options) { return front_end_.Serve(std::move(options)); }
  [[nodiscard]] std::uint64_t ProgressNs() const override {
    return pipeline_.heartbeats().OldestNs();
  }
  void ReportHealth() const override { front_end_.ReportHealth(); }
  Result<void> Stop() override {
    const auto begin = std::chrono::steady_clock::now();
    pipeline_.FinishWithin(kNamesUntil);
    if (history_) history_->BeginStop(begin + kHistoryUntil);
    front_end_.EndSessions(kSessionsUntil);
    if (history_) history_->Stop();
    keeper_.Stop();
    memory_keeper_.Stop();
    pipeline_.Stop();
    const auto left = begin + kCallsUntil - std::chrono::steady_clock::now();
    front_end_.StopServing(
        std::max(kCallsAtLeast, std::chrono::duration_cast<std::chrono::milliseconds>(left)));
    return recorder_ ? recorder_->Close() : Result<void>{};
  }

 private:
  // On the symbolizer thread.
  void GiveUpMemory() {
    if (objects_.pool() != nullptr) objects_.pool()->GiveUp();
    host_.elf().GiveUp();
    symbolizer_.GiveUp();
  }
  // What is cheapest to make again goes first.
  [[nodiscard]] std::vector<budget::MemoryHolder> MemoryHolders() {
    std::vector<budget::MemoryHolder> holders;
    if (objects_.pool() != nullptr)
      holders.push_back({"debug information", &objects_.pool()->memory()});
    holders.push_back({"files being unwound", &tables_->readers_memory()});
    holders.push_back({"symbol tables", &host_.elf().memory()});
    holders.push_back({"names", &symbolizer_.memory()});
    for (auto& holder : pipeline_.memory_holders()) holders.push_back(std::move(holder));
    holders.push_back({"unwind tables", &tables_->tables_memory(), false});
    return holders;
  }
  // What the kernel has for profd beyond what is resident: maps that are not mapped, and of each
  // thread of the host the map's value. Unwind tables are mapped and none of `map_bytes`; rings are
  // mapped twice, so that what wraps around can be read in one piece.
  [[nodiscard]] std::int64_t KernelBytesBeyondResident() const {
    constexpr std::uint64_t kRings = PROFD_RING_ON_CPU_BYTES + PROFD_RING_SCHED_BYTES;
    return static_cast<std::int64_t>(source_->MapBytes() +
                                     ThreadsOnHost(proc_) * kThreadStorageBytes) -
           static_cast<std::int64_t>(2 * kRings);
  }

  budget::MemoryGate memory_;
  const MemoryPlan plan_;
  const ProcFs proc_;
  const std::unique_ptr<source::BpfSource> source_;
  const std::unique_ptr<unwind::TableService> tables_;
  const std::unique_ptr<PythonParts> python_;
  python::PythonSource python_source_;
  symbolize::LiveKernelSymbols kernel_;
  elf::FileObjectSource objects_;
  symbolize::LiveJitSymbols jit_;
  const std::unique_ptr<Recorder> recorder_;
  unwind::PrefetchSource prefetch_;
  symbolize::HostSymbolizer host_;
  symbolize::TimedSymbolizer timed_;
  symbolize::CachingSymbolizer symbolizer_;
  pipeline::LivePipeline pipeline_;
  budget::BudgetKeeper keeper_;
  budget::MemoryKeeper memory_keeper_;
  const std::unique_ptr<history::HistoryRecorder> history_;
  FrontEnd front_end_;
};

// Its address has been checked; "" where there is to be none.
std::string PublicSocketOf(const config::Options& options) {
  if (options.public_socket == "on") return server::kPublicSocket;
  const auto path = server::ParseSocketAddress(options.public_socket);
  return path ? *path : "";
}

FrontEndOptions AccessOf(const config::Options& options, server::InheritedSockets sockets) {
  FrontEndOptions access;
  access.server = {.address = options.listen,
                   .group = options.private_use ? "" : server::kGroup,
                   .public_socket = PublicSocketOf(options),
                   .inherited = std::move(sockets)};
  if (options.private_use) return access;  // nobody else reaches it
  access.metrics = options.metrics_listen;
  if (!options.tls_listen.empty())
    access.server.tls = {options.tls_listen,
                         {.certificate = options.tls_certificate,
                          .key = options.tls_key,
                          .client_ca = options.tls_client_ca}};
  return access;
}

Result<std::unique_ptr<Daemon>> StartReplay(const config::Options& options,
                                            server::InheritedSockets sockets,
                                            const SystemClock& clock, spdlog::logger& logger) {
  auto backend = replay::ReplayBackend::Open(options.replay_file, clock, logger);
  if (!backend) return backend.error();
  auto daemon = std::make_unique<ReplayDaemon>(std::move(*backend), clock, logger);
  PROFD_TRY(daemon->Serve(AccessOf(options, std::move(sockets))));
  return std::unique_ptr<Daemon>(std::move(daemon));
}

Result<History> OpenHistory(const config::Options& options, const Clock& clock) {
  History history;
  const std::string directory = config::HistoryDirectory(options, std::getenv("STATE_DIRECTORY"));
  if (directory.empty()) return history;
  history.options.frequency_hz = static_cast<std::uint32_t>(options.history_frequency_hz);
  history.options.window = options.history_window;
  history.options.budget = options.history_budget_percent / 100;
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return ErrorFromErrno(failed.value(), "cannot make " + directory);
  auto store = store::SqliteStore::Open(
      {.path = directory + "/history.db",
       .limit_bytes = options.history_max_size.count,
       .limit_ns = static_cast<std::uint64_t>(options.history_max_age.count()),
       .compact_ns = static_cast<std::uint64_t>(options.history_compact.count()),

       .query_limits = PlanMemory(options.memory_cap.count).query},
      clock);
  if (!store) return store.error().Wrap("cannot open the history");
  history.store = *std::move(store);
  return history;
}

Result<std::unique_ptr<Daemon>> StartLive(const config::Options& options,
                                          server::InheritedSockets sockets,
                                          const SystemClock& clock, spdlog::logger& logger) {
  auto source = source::BpfSource::Create({.force_hook = config::ForcedHook(options)});
  if (!source) return source.error();
  auto info = recording::DescribeThisMachine(clock);
  info.hook = (*source)->Status().hook;
  logger.info("kernel {}, hook {}", info.kernel_release, info.hook);
  std::unique_ptr<recording::RecordingWriter> writer;
  if (!options.record_file.empty()) {
    auto created = recording::RecordingWriter::Create(options.record_file, info, {}, clock);
    if (!created) return created.error();
    writer = std::move(*created);
  }
  auto history = OpenHistory(options, clock);
  if (!history) return history.error();
  auto& maps = (*source)->unwind_maps();
  auto tables = std::make_unique<unwind::TableService>(
      maps, maps, ProcFs(), PlanMemory(options.memory_cap.count).unwind_bytes);
  (*source)->OnWanted([&tables = *tables](const profd_wanted& wanted) { tables.Want(wanted); });
  auto python = std::make_unique<PythonParts>(**source);
  using For = source::BlockedStacks::For;
  (*source)->UseTables({
      .prefetch =
          [&tables = *tables, &python = python->service](const ProcessKey& process) {
            python.Look(process);
            tables.Prefetch(process.pid);
          },
      .await =
          [&tables = *tables, &python = python->service](For whom, std::uint64_t requests,
                                                         std::chrono::milliseconds timeout) {
            const bool looked = python.Await(kPythonAtStart);
            return (whom == For::kDump ? tables.AwaitMissed(requests, timeout)
                                       : tables.Await(requests, timeout)) &&
                   looked;
          },
  });
  auto daemon = std::make_unique<LiveDaemon>(std::move(*source), std::move(tables),
                                             std::move(python), std::move(writer), info, options,
                                             *std::move(history), clock, logger);
  PROFD_TRY(daemon->Serve(AccessOf(options, std::move(sockets))));
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::Start(const config::Options& options,
                                              const SystemClock& clock, spdlog::logger& logger) {
  auto sockets = server::TakeInheritedSockets();
  if (!sockets) return sockets.error();
  return options.replay_file.empty() ? StartLive(options, *std::move(sockets), clock, logger)
                                     : StartReplay(options, *std::move(sockets), clock, logger);
}

}  // namespace profd::app
