#include "daemon/app/live_daemon.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/app/parts/live_cache.h"
#include "daemon/app/stop_times.h"
#include "daemon/base/proc/own_usage.h"
#include "daemon/base/proc/proc_stat.h"
#include "daemon/elf/probes/step_places.h"
#include "daemon/python/merge/python_report.h"
#include "daemon/source/perf/cpu_list.h"
#include "daemon/source/perf/on_cpu_events.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "daemon/unwind/service/table_notes.h"

namespace profd::app {
namespace {

constexpr std::chrono::milliseconds kPythonAtStart{100};
constexpr std::chrono::milliseconds kLabelsAtStart{50};
constexpr std::uint64_t kKeptShare = 4;  // of symbol tables, in what they may hold
// sizeof(struct thread) and struct observed in bpf/maps.bpf.h, with what task storage adds, as
// kmalloc rounds it.
constexpr std::uint64_t kThreadStorageBytes = 512 + 256 + 256;

double ClockLimitCpus(const config::Options& options) {
  return options.clock_limit_percent / 100 * std::max(1u, std::thread::hardware_concurrency());
}

// Context switches of all CPUs since boot.
std::optional<std::uint64_t> HostSwitches(const ProcFs& proc) {
  constexpr std::size_t kMaxBytes = 1u << 20;  // some 20 KiB with 100 CPUs
  const auto text = proc.Read("stat", kMaxBytes);
  if (!text) return {};
  std::string_view line = StatusLine(*text, "ctxt");
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  std::uint64_t switches = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), switches);
  if (parsed.ec != std::errc()) return {};
  return switches;
}

history::HistoryRecorder::Options HistoryOptions(const config::Options& options,
                                                 const source::BpfSource& source) {
  return {.frequency_hz = static_cast<std::uint32_t>(options.history_frequency_hz),
          .budget = options.history_budget_percent / 100,
          .window = options.history_window,
          .observed = options.history_mode == "snapshot" && source.can_observe(),
          .wakers = options.history_wakers != "off"};
}

aggregate::MergeLimits QueryLimits(double share) {
  const aggregate::MergeLimits most = store::SqliteOptions{}.query_limits;
  const auto part = [share](std::size_t bound) {
    return static_cast<std::size_t>(share * static_cast<double>(bound));
  };
  return {.processes = part(most.processes),
          .threads = part(most.threads),
          .frames = part(most.frames),
          .nodes = part(most.nodes),
          .samples = part(most.samples),
          .paths = part(most.paths)};
}

// Null: the options say that no history is kept.
Result<std::unique_ptr<store::ProfileStore>> OpenStore(const config::Options& options,
                                                       const budget::MemoryLimits& memory,
                                                       const Clock& clock) {
  const std::string directory = config::HistoryDirectory(options, std::getenv("STATE_DIRECTORY"));
  if (directory.empty()) return std::unique_ptr<store::ProfileStore>();
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return ErrorFromErrno(failed.value(), "cannot make " + directory);
  auto store = store::SqliteStore::Open(
      {.path = directory + "/history.db",
       .limit_bytes = options.history_max_size.count,
       .limit_ns = static_cast<std::uint64_t>(options.history_max_age.count()),
       .compact_ns = static_cast<std::uint64_t>(options.history_compact.count()),
       .query_limits = QueryLimits(memory.query)},
      clock);
  if (!store) return store.error().Wrap("cannot open the history");
  return std::unique_ptr<store::ProfileStore>(*std::move(store));
}

// What a session's start and end wait for, and what each new process is announced to.
source::Sessions::Tables TablesFor(unwind::TableService& tables, python::PythonService& python,
                                   labels::LabelService& labels) {
  using For = source::BlockedStacks::For;
  return {.prefetch =
              [&tables, &python, &labels](For whom, const ProcessKey& process) {
                python.Look(process);
                labels.Look(process);
                // A dump takes a moment: what its few stacks miss is there sooner than all files
                // are.
                if (whom != For::kDump) tables.Prefetch(process.pid);
              },
          .await =
              [&tables, &python, &labels](For whom, std::uint64_t requests,
                                          std::chrono::milliseconds timeout) {
                const bool python_is_ready = python.Await(kPythonAtStart);
                (void)labels.Await(kLabelsAtStart);
                return (whom == For::kDump ? tables.AwaitMissed(requests, timeout)
                                           : tables.Await(requests, timeout)) &&
                       python_is_ready;
              }};
}

source::StepProbes::Tools StepsFor(LiveReaders& readers) {
  auto places = std::make_shared<elf::StepPlaces>(readers.step_places());
  return {.make_attacher = [&readers] { return readers.MakeStepAttacher(); },
          .find = [places](const source::ExecutableFile& file,
                           const session::StepSpec& spec) { return places->Find(file, spec); }};
}

// 0: the kernel does not say.
std::uint32_t OnlineCpuCount() {
  const auto cpus = source::OnlineCpus();
  return cpus ? static_cast<std::uint32_t>(cpus->size()) : 0;
}

}  // namespace

Result<std::unique_ptr<Daemon>> LiveDaemon::Start(
    const config::Options& options, server::InheritedSockets sockets,
    const rules::CurrentRules& rules, reader::Zygote& zygote, const fleet::ExportProcess* exports,
    const SystemClock& clock, spdlog::logger& logger) {
  auto readers = std::make_unique<LiveReaders>(zygote);
  auto shares = std::make_unique<LiveShares>(clock);
  auto source =
      source::BpfSource::Create({readers->snapshots(), readers->processes(), readers->observers()},
                                {.force_hook = config::ForcedHook(options)});
  if (!source) return source.error();
  auto info = recording::DescribeThisMachine(clock);
  info.host = config::HostName(options);
  info.hook = (*source)->Status().levels.hook;
  info.cpu_places = (*source)->cpu_places();
  logger.info("kernel {}, hook {}", info.kernel_release, info.hook);
  std::unique_ptr<recording::RecordingWriter> writer;
  if (!options.record_file.empty()) {
    auto created = recording::RecordingWriter::Create(options.record_file, info, {}, clock);
    if (!created) return created.error();
    writer = std::move(*created);
  }
  auto memory = std::make_unique<budget::MemoryBudget>(options.memory_cap.count);
  const budget::MemoryLimits limits = memory->limits();
  auto store = OpenStore(options, limits, clock);
  if (!store) return store.error();

  auto& maps = (*source)->unwind_maps();
  auto kept = std::make_unique<elf::KeptSymbols>(limits.symbol_tables / kKeptShare, clock);
  auto cache = MakeCache(options);
  auto tables = std::make_unique<unwind::TableService>(
      maps, maps, readers->unwind_rules(), limits.unwind_tables, kept.get(), cache.get());
  (*source)->OnWanted([&tables = *tables](const profd_wanted& wanted) { tables.Want(wanted); });
  auto python = std::make_unique<LivePython>(**source, readers->python(), shares->python_searches);
  (*source)->UseShares([&shares = *shares] { return shares.Beyond(); });
  auto labels = std::make_unique<LiveLabels>(**source, readers->labels(), clock);
  auto container_names = std::make_unique<containers::ContainerDirectory>(
      containers::DirectorySettings{.sockets = config::ContainerSockets(options),
                                    .pod_labels = config::ListOf(options.containers_pod_labels),
                                    .node = options.containers_node});
  (*source)->UseTables(TablesFor(*tables, python->service(), labels->service()));
  (*source)->UseSteps(StepsFor(*readers));

  auto daemon = std::make_unique<LiveDaemon>(
      Parts{.memory = std::move(memory),
            .readers = std::move(readers),
            .shares = std::move(shares),
            .source = std::move(*source),
            .kept = std::move(kept),
            .cache = std::move(cache),
            .tables = std::move(tables),
            .python = std::move(python),
            .labels = std::move(labels),
            .container_names = std::move(container_names),
            .writer = std::move(writer),
            .origin = {.host = info.host,
                       .kernel = info.kernel_release,
                       .profd_version = info.profd_version,
                       .boot_unix_ns = static_cast<std::uint64_t>(info.realtime_offset_ns),
                       .cpus = OnlineCpuCount(),
                       .no_hardware_counters = !source::HasHardwareCounters(),
                       .cpu_places = info.cpu_places},
            .store = *std::move(store),
            .exports = exports},
      options, rules, clock, logger);
  PROFD_TRY(daemon->front_end_.Serve(AccessOf(options, std::move(sockets))));
  return std::unique_ptr<Daemon>(std::move(daemon));
}

LiveDaemon::LiveDaemon(Parts parts, const config::Options& options,
                       const rules::CurrentRules& rules, const SystemClock& clock,
                       spdlog::logger& logger)
    : recording_file_(options.record_file),
      logger_(logger),
      parts_(std::move(parts)),
      texts_(parts_.readers->processes()),
      labelled_({.proc = proc_,
                 .readers = parts_.readers->processes(),
                 .containers = parts_.container_names.get(),
                 .host = parts_.origin.host}),
      events_({.source = *parts_.source,
               .python = parts_.python->service(),
               .facts = parts_.python->facts(),
               .readers = parts_.readers->python(),
               .shares = parts_.shares->python_code,
               .labels = parts_.labels->service(),
               .writer = parts_.writer.get(),
               .tables = *parts_.tables,
               .clock = clock}),
      symbols_(proc_, clock, *parts_.memory, *parts_.readers, *parts_.shares, *parts_.kept,
               parts_.cache.get(), options.debug_info, parts_.writer.get()),
      pipeline_(PipelineParts(clock, logger)),
      cpu_budget_(
          *parts_.source, clock, ClockLimitCpus(options), [this] { return WorkDone(); },
          [this] { return HostSwitches(proc_); }),
      memory_budget_(
          *parts_.memory, MemoryAccounts(), proc_, [this] { return parts_.readers->bytes(); },
          [this] { return KernelBytesBeyondResident(); }),
      history_(parts_.store ? std::make_unique<history::HistoryRecorder>(
                                  pipeline_, std::move(parts_.store), clock, logger,
                                  HistoryOptions(options, *parts_.source))
                            : nullptr),
      health_(clock),
      front_end_(FrontEndParts(rules, clock, logger)) {
  WatchHealth();
}

pipeline::LivePipeline::Parts LiveDaemon::PipelineParts(const SystemClock& clock,
                                                        spdlog::logger& logger) {
  aggregate::ProfileOrigin origin = parts_.origin;
  origin.containers = parts_.container_names.get();
  return {
      .source = events_.end(),
      .control = *parts_.source,
      .names = symbols_,
      .clock = clock,
      .proc = proc_,
      .logger = logger,
      .memory = *parts_.memory,
      .origin = std::move(origin),
      .command_line =
          [this](std::uint32_t pid) {
            const source::ProcessThread process{pid, pid, reader::UserOf(pid)};
            auto texts = std::move(texts_.Read({&process, 1}).front());
            return texts ? std::move(texts->command_line) : std::string();
          },
      .beyond_shares = [this] { return parts_.shares->Beyond(); },
      .find_labelled = [this](const session::Target& target) { return labelled_.Find(target); }};
}

FrontEnd::Parts LiveDaemon::FrontEndParts(const rules::CurrentRules& rules,
                                          const SystemClock& clock, spdlog::logger& logger) {
  return {.backend = pipeline_,
          .status = *this,
          .clock = clock,
          .proc = proc_,
          .logger = logger,
          .history = history_.get(),
          .rules = rules,
          .health = health_};
}

void LiveDaemon::WatchHealth() {
  health_.Watch(pipeline_.heartbeats());
  health_.Watch({&parts_.source->heartbeat(), &parts_.source->steps_heartbeat(),
                 &parts_.tables->heartbeat(), &parts_.python->service().heartbeat(),
                 &parts_.labels->service().heartbeat(), &cpu_budget_.heartbeat(),
                 &memory_budget_.heartbeat()});
  if (history_) health_.Watch(history_->heartbeats());
  if (parts_.writer) health_.Watch(parts_.writer->heartbeat());
  health_.Watch(parts_.container_names->heartbeat());
  if (parts_.cache) health_.Watch(parts_.cache->heartbeat());
  if (const Heartbeat* downloads = symbols_.downloads()) health_.Watch(*downloads);
  health_.Watch(parts_.readers->heartbeats());
  health_.Watch([this](std::uint64_t, HealthReport& report) { parts_.readers->Check(report); });
}

Result<void> LiveDaemon::Stop(Ending& ending) {
  const auto begin = ending.began();
  const auto left_until = [&](std::chrono::milliseconds time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(begin + time -
                                                                 std::chrono::steady_clock::now());
  };
  pipeline_.FinishWithin(std::max(left_until(kNamesUntil), std::chrono::milliseconds(0)));
  parts_.readers->EndAt(begin + kNamesUntil, begin + kSessionsUntil);
  if (history_) history_->BeginStop(begin + kHistoryUntil);
  ending.Step("sessions");
  front_end_.EndSessions(left_until(kSessionsUntil));
  ending.Step("history");
  if (history_ && !history_->StopUntil(begin + kHistoryLeftAt))
    logger_.error("history: the last window is lost: the store does not answer");
  ending.Step("budgets");
  cpu_budget_.Stop();
  memory_budget_.Stop();
  ending.Step("pipeline");
  pipeline_.Stop();
  ending.Step("recording");
  auto recorded =
      parts_.writer ? parts_.writer->CloseUntil(begin + kRecordingUntil) : Result<void>{};
  ending.Step("calls");
  front_end_.StopServing(std::max(kCallsAtLeast, left_until(kCallsUntil)));
  return recorded;
}

pipeline::BackendStatus LiveDaemon::Status() const {
  Diagnostics others = Describe(*parts_.tables);
  Diagnostics names = symbols_.Describe();
  std::ranges::move(names.gauges, std::back_inserter(others.gauges));
  std::ranges::move(names.counters, std::back_inserter(others.counters));
  Diagnostics readers = parts_.readers->Describe();
  std::ranges::move(readers.gauges, std::back_inserter(others.gauges));
  std::ranges::move(readers.counters, std::back_inserter(others.counters));
  if (parts_.cache)
    std::ranges::move(Describe(*parts_.cache).counters, std::back_inserter(others.counters));
  const labels::LabelCounters& labels = parts_.labels->service().counters();
  others.gauges.push_back(
      {"label_processes", "processes whose threads have labels", labels.known.value()});
  others.gauges.push_back({"label_processes_refused",
                           "processes that publish labels which cannot be read",
                           labels.refused.value()});
  others.counters.push_back({"label_processes_dropped",
                             "processes whose labels are not read: too many of them",
                             labels.dropped.value()});
  const auto heap = OwnHeapBytes();
  others.gauges.push_back({"heap_used", "bytes of the heap in use", heap.used});
  others.gauges.push_back({"heap_free", "bytes of the heap that are free", heap.free});

  auto status =
      pipeline::DescribeCounters(parts_.source->Status(), pipeline_.counters(), std::move(others));
  status.python = Describe(parts_.python->service().status(), pipeline_.counters().python);
  status.budget = cpu_budget_.status();
  status.memory = memory_budget_.status();
  status.recording_file = recording_file_;
  HealthReport health = health_.Check();
  status.degraded = std::move(health.failed);
  std::ranges::move(health.degraded, std::back_inserter(status.degraded));
  if (parts_.exports != nullptr) {
    status.exports = parts_.exports->Status();
    if (auto trouble = parts_.exports->Trouble(); !trouble.empty())
      status.degraded.push_back(std::move(trouble));
  }
  if (const std::string why = parts_.cache ? parts_.cache->trouble() : ""; !why.empty())
    status.degraded.push_back("file cache: " + why);
  status.container_runtimes = parts_.container_names->Describe();
  status.unreadable = parts_.readers->Troubles();
  std::ranges::copy(status.source.beyond_share, std::back_inserter(status.unreadable));
  return status;
}

// The budget of the sessions does not pay for names and mappings, whatever the rate is.
budget::CpuThread::Work LiveDaemon::WorkDone() {
  const std::uint64_t all_ns = pipeline_.StageCpuNs();
  const std::uint64_t others_ns = symbols_.spent_ns() + parts_.source->mappings_cpu_ns();
  return {.stages_ns = all_ns - std::min(all_ns, others_ns),
          .samples = pipeline_.samples(),
          .snapshots = pipeline_.counters().snapshots_read.value(),
          .others = pipeline_.counters().others_read.value()};
}

// What is cheapest to make again is freed first.
std::vector<budget::MemoryAccount*> LiveDaemon::MemoryAccounts() {
  std::vector<budget::MemoryAccount*> accounts;
  for (auto* account : parts_.readers->MemoryAccounts()) accounts.push_back(account);
  accounts.push_back(&symbols_.table_memory());
  accounts.push_back(&symbols_.name_memory());
  std::ranges::copy(pipeline_.memory_accounts(), std::back_inserter(accounts));
  accounts.push_back(&parts_.kept->memory());
  accounts.push_back(&parts_.tables->tables_memory());
  return accounts;
}

// The kernel holds two things for profd that its resident size does not show: maps that are not
// mapped, and one map value for each thread of the host. Unwind tables are mapped, and no part of
// MapBytes(). Rings are mapped twice, so that an event that wraps around can be read in one piece.
std::int64_t LiveDaemon::KernelBytesBeyondResident() const {
  constexpr std::uint64_t kRings = PROFD_RING_ON_CPU_BYTES + PROFD_RING_SCHED_BYTES;
  return static_cast<std::int64_t>(parts_.source->MapBytes() +
                                   ThreadsOnHost(proc_) * kThreadStorageBytes) -
         static_cast<std::int64_t>(2 * kRings);
}

}  // namespace profd::app
