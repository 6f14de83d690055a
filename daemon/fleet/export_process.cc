#include "daemon/fleet/export_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/files.h"
#include "daemon/base/http/http_client.h"
#include "daemon/base/rights/own_capabilities.h"
#include "daemon/fleet/exporter.h"
#include "daemon/fleet/series/parca_target.h"
#include "daemon/fleet/series/pyroscope_target.h"
#include "daemon/fleet/targets/clickhouse_target.h"
#include "daemon/fleet/targets/files_target.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"
#include "daemon/fleet/targets/otlp_http_target.h"
#include "daemon/fleet/targets/s3_target.h"

namespace profd::fleet {
namespace {

// Beyond what the process has when it begins: profd's own libraries and code.
constexpr rlim_t kAddressSpaceBytes = 512ull << 20;
constexpr rlim_t kExportAddressSpaceBytes = 256ull << 20;  // for each export
constexpr int kNice = 19;
constexpr std::uint64_t kRestPerWork = 9;
constexpr auto kFirstPause = std::chrono::seconds(1);
constexpr auto kMostPause = std::chrono::seconds(60);
constexpr auto kLongLife = std::chrono::minutes(10);  // after which pauses begin again

// Ends this process when its parent does, also if that was a moment ago.
void EndWith(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

// Ctrl-C and the signals of a service manager are for the daemon.
void LeaveSignalsToDaemon() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
}

// Standard error stays: what a library says when it aborts should be seen.
void CloseDescriptors() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.valid()) {
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
  }
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
}

void GiveUpCapabilities() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (!SetOwnCapabilities({})) ::_exit(1);
}

std::uint64_t OwnAddressSpaceBytes() {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  (void)std::fclose(file);
  return pages * kPage;
}

// The kernel ends this process before profd.
void EndFirst() {
  constexpr std::string_view kFirst = "1000";
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.valid()) (void)WriteAll(file.get(), kFirst);
}

// CPU time of this thread.
std::uint64_t SpentNs() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void KeepToBudget(std::size_t exports) {
  EndFirst();
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  const rlim_t most =
      OwnAddressSpaceBytes() + kAddressSpaceBytes + exports * kExportAddressSpaceBytes;
  const rlimit limit{most, most};
  (void)::setrlimit(RLIMIT_AS, &limit);
}

std::unique_ptr<Target> MakeTarget(const ExportSettings& settings, const std::string& host,
                                   const std::string& folder) {
  switch (settings.kind) {
    case TargetKind::kFiles:
      return std::make_unique<FilesTarget>(settings, host);
    case TargetKind::kOtlpGrpc:
      return std::make_unique<OtlpGrpcTarget>(settings);
    case TargetKind::kClickHouse:
      return std::make_unique<ClickHouseTarget>(settings, host, folder);
    case TargetKind::kPyroscopeGrpc:
    case TargetKind::kPyroscopeHttp:
      return std::make_unique<PyroscopeTarget>(settings);
    case TargetKind::kParcaGrpc:
      return std::make_unique<ParcaTarget>(settings);
    case TargetKind::kS3:
      return std::make_unique<S3Target>(settings, host);
    case TargetKind::kOtlpHttp:
      break;
  }
  return std::make_unique<OtlpHttpTarget>(settings);
}

// What all threads of the process have to say.
class Report {
 public:
  Report(SharedText& text, std::size_t exports) : text_(text), exports_(exports) {}
  void Set(std::size_t index, const ExportStatus& status) {
    const std::scoped_lock lock(mutex_);
    if (exports_[index] == status) return;
    exports_[index] = status;
    text_.Write(PackStatus(exports_));
  }

 private:
  std::mutex mutex_;
  SharedText& text_;
  std::vector<ExportStatus> exports_;
};

void RunExport(const ExportPlan& plan, std::size_t index, const Clock& clock, Report& report) {
  const ExportSettings& settings = plan.exports[index];
  auto relabelling = Relabelling::Make(settings.relabel);
  if (!relabelling) return;  // the configuration was checked
  std::mt19937_64 random{std::random_device{}()};
  const std::string folder =
      std::filesystem::path(plan.history).parent_path() / "exports" / settings.name;
  Exporter exporter({.settings = settings,
                     .folder = folder,
                     .history = plan.history,
                     .grace_ns = plan.grace_ns,
                     .relabelling = *std::move(relabelling),
                     .rules = plan.rules,
                     .target = MakeTarget(settings, plan.host, folder),
                     .random = [&random] { return random(); }},
                    clock);
  for (;;) {
    const std::uint64_t before = SpentNs();
    const std::uint64_t next = exporter.Step();
    report.Set(index, exporter.status());
    // A backlog takes a tenth of a CPU.
    const std::uint64_t now = clock.MonotonicNs();
    const std::uint64_t wake = std::max(next, now + kRestPerWork * (SpentNs() - before));
    std::this_thread::sleep_for(std::chrono::nanoseconds(wake - now));
  }
}

[[noreturn]] void RunExports(const ExportPlan& plan, SharedText& status) {
  ::prctl(PR_SET_NAME, "profd-export");
  GiveUpCapabilities();
  KeepToBudget(plan.exports.size());
  try {
    HttpClient::PrepareProcess();
    const SystemClock clock;
    Report report(status, plan.exports.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < plan.exports.size(); ++i)
      threads.emplace_back([&, i] { RunExport(plan, i, clock, report); });
    threads.clear();
  } catch (const std::exception& exception) {  // of libraries: out of memory
    std::fprintf(stderr, "profd: exports: %s\n", exception.what());
  }
  ::_exit(1);
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) +
           ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

// The process above: it starts the other one again. It stays small, and has no thread.
[[noreturn]] void Supervise(const ExportPlan& plan, SharedText& status, SharedText& trouble) {
  ::prctl(PR_SET_NAME, "profd-exports");
  LeaveSignalsToDaemon();
  CloseDescriptors();
  std::uint64_t ends = 0;
  auto pause = std::chrono::duration_cast<std::chrono::seconds>(kFirstPause);
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      EndWith(self);
      RunExports(plan, status);
    }
    int how = 0;
    if (child > 0) {
      while (::waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
      ++ends;
      trouble.Write("profd-export has ended " + std::to_string(ends) + " times, the last time by " +
                    HowItEnded(how) + "; it is started again");
    } else {
      trouble.Write(std::string("profd-export cannot be started: ") + std::strerror(errno));
    }
    if (std::chrono::steady_clock::now() - begin > kLongLife) pause = kFirstPause;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::duration_cast<std::chrono::seconds>(kMostPause));
  }
}

}  // namespace

Result<std::unique_ptr<ExportProcess>> ExportProcess::Start(const ExportPlan& plan) {
  auto status = SharedText::Make();
  if (!status) return status.error();
  auto trouble = SharedText::Make();
  if (!trouble) return trouble.error();
  std::unique_ptr<ExportProcess> process(
      new ExportProcess(*std::move(status), *std::move(trouble)));
  for (const ExportSettings& settings : plan.exports)
    process->planned_.push_back(
        {.name = settings.name, .to = settings.to, .spool_limit_bytes = settings.spool_bytes});
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return ErrorFromErrno(errno, "cannot start the process of exports");
  if (child == 0) {
    EndWith(self);
    Supervise(plan, process->status_, process->trouble_);
  }
  process->pid_ = child;
  process->handle_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (process->handle_.valid()) return process;
  return ErrorFromErrno(errno, "cannot watch the process of exports");
}

// The other process ends with the first one.
ExportProcess::~ExportProcess() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::vector<ExportStatus> ExportProcess::Status() const {
  const auto text = status_.Read();
  if (!text) return planned_;
  const auto said = UnpackStatus(*text);
  if (!said || said->size() != planned_.size()) return planned_;
  std::vector<ExportStatus> all = *said;
  // A thread that has not made its first step has said nothing.
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name.empty()) all[i] = planned_[i];
  return all;
}

std::string ExportProcess::Trouble() const {
  pollfd ended{handle_.get(), POLLIN, 0};
  if (::poll(&ended, 1, 0) == 1) return "exports: profd-exports has ended";
  const auto text = trouble_.Read();
  return text ? "exports: " + *text : "";
}

}  // namespace profd::fleet
