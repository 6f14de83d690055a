#include "client/commands/top.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/collect_target.h"
#include "client/commands/common/fleet_reports.h"
#include "client/commands/common/live_windows.h"
#include "client/commands/common/target_daemon.h"
#include "client/link/daemon_choice.h"
#include "client/profile/profile_parts.h"
#include "client/screens/top/top_keys.h"
#include "client/screens/top/top_screen.h"
#include "client/system/exit_code.h"
#include "client/system/fd_stream.h"
#include "client/system/output_file.h"
#include "client/system/screen.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kProgressNs =
    100'000'000;                         // how soon a session that is not wanted any more ends
constexpr int kEscapeMs = 50;            // a sequence of keys that takes longer was the key Escape
constexpr std::size_t kFileWidth = 120;  // columns where there is no terminal

// What other threads have for the command's own.
class Inbox {
 public:
  explicit Inbox(UniqueFd event) : event_(std::move(event)) {}

  void Put(Result<v1::Profile> window) {
    const std::scoped_lock lock(mutex_);
    windows_.push_back(std::move(window));
    Wake();
  }
  // False: it was stopped before.
  bool Stop(int signal) {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(signal_, signal) != 0) return false;
    Wake();
    return true;
  }
  [[nodiscard]] std::optional<Result<v1::Profile>> TakeWindow() {
    const std::scoped_lock lock(mutex_);
    if (windows_.empty()) return std::nullopt;
    std::optional<Result<v1::Profile>> window(std::move(windows_.front()));
    windows_.pop_front();
    return window;
  }
  [[nodiscard]] int signal() {
    const std::scoped_lock lock(mutex_);
    return signal_;
  }
  // Readable when there may be something.
  [[nodiscard]] int fd() const { return event_.get(); }
  void Drain() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  }

 private:
  void Wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }

  const UniqueFd event_;
  std::mutex mutex_;
  std::deque<Result<v1::Profile>> windows_;
  int signal_ = 0;
};

v1::Profile Shown(v1::Profile profile) {
  auto without = WithoutInterpreterFrames(profile);
  return without ? *std::move(without) : std::move(profile);
}

bool IsEndOfTarget(const Error& error) { return error.code == ErrorCode::kNotFound; }

// The table on a terminal.
class LiveTable {
 public:
  LiveTable(const TopOptions& options, const Context& context, Inbox& inbox, int window_changes)
      : state_(options.state),
        palette_(UseColor(context.global.color, STDOUT_FILENO)),
        inbox_(inbox),
        window_changes_(window_changes) {}

  // Runs until the user ends it or it cannot go on.
  Result<void> Run() {
    Result<Screen> screen = Screen::Open(STDIN_FILENO, STDOUT_FILENO);
    if (!screen) return screen.error();
    while (!state_.quit && inbox_.signal() == 0) {
      PROFD_TRY(Draw(*screen));
      PROFD_TRY(Wait(*screen));
      TakeWindows();
      if (failure_) return *failure_;
    }
    return {};
  }

 private:
  Result<void> Draw(const Screen& screen) {
    return screen.Show(RenderTopScreen(profile_ ? &*profile_ : nullptr, note_, state_,
                                       {screen.width(), screen.height(), palette_}));
  }

  Result<void> Wait(const Screen& screen) {
    std::array<pollfd, 3> fds{
        {{STDIN_FILENO, POLLIN, 0}, {window_changes_, POLLIN, 0}, {inbox_.fd(), POLLIN, 0}}};
    const int ready = ::poll(fds.data(), fds.size(), keys_.pending() ? kEscapeMs : -1);
    if (ready < 0 && errno != EINTR) return ErrorFromErrno(errno, "cannot wait for keys");
    if (ready == 0) Take(keys_.Flush(), screen);
    if (ready <= 0) return {};
    if (fds[2].revents != 0) inbox_.Drain();
    std::array<char, 512> changes;  // that there was one is all
    if (fds[1].revents != 0) [[maybe_unused]]
      const ssize_t got = ::read(window_changes_, changes.data(), changes.size());
    if (fds[0].revents == 0) return {};
    const Result<std::string> typed = screen.ReadKeys();
    if (!typed) return typed.error();
    // A terminal that is ready and has nothing has hung up.
    if (typed->empty()) state_.quit = true;
    Take(keys_.Read(*typed), screen);
    return {};
  }

  void Take(const std::vector<Key>& keys, const Screen& screen) {
    const bool was_paused = state_.paused;
    for (const Key& key : keys) Press(state_, key, TopPage(screen.height()));
    if (was_paused && !state_.paused && latest_) profile_ = std::exchange(latest_, std::nullopt);
  }

  void TakeWindows() {
    while (auto window = inbox_.TakeWindow()) {
      if (*window)
        (state_.paused ? latest_ : profile_) = Shown(**std::move(window));
      else if (IsEndOfTarget(window->error()) && profile_)
        note_ = window->error().message + ": this is its last table   [q]uit";
      else
        failure_ = window->error();
    }
  }

  TopState state_;
  const Palette palette_;
  Inbox& inbox_;
  const int window_changes_;
  KeyReader keys_;
  std::optional<v1::Profile> profile_;  // that is shown
  std::optional<v1::Profile> latest_;   // that came while the table stood still
  std::string note_;
  std::optional<Error> failure_;
};

// One run of the command; its parts are kept in the order in which they must end.
class Top {
 public:
  Top(const TopOptions& options, const Context& context) : options_(options), context_(context) {}

  int Run() {
    const Result<void> outcome = Watch();
    const int signal = inbox_ ? inbox_->signal() : 0;
    windows_.reset();
    if (!outcome && !outcome.error().message.empty())
      context_.console.Fail(WithCause(outcome.error(), connection_, ""));
    connection_.client.reset();
    connection_.private_daemon.reset();
    if (!outcome) return ToInt(ExitCodeOf(outcome.error().code));
    return signal == 0 ? ToInt(ExitCode::kOk) : 128 + signal;
  }

 private:
  Result<void> Watch() {
    const bool live = !options_.plain && IsTerminal(STDIN_FILENO) && IsTerminal(STDOUT_FILENO);
    PROFD_TRY(Prepare());
    Result<DaemonConnection> connection = ConnectFor(options_.target, context_, *signals_);
    if (!connection) return connection.error();
    connection_ = *std::move(connection);
    windows_ = std::make_unique<LiveWindows>(
        *connection_.client, Request(), std::chrono::nanoseconds(options_.interval_ns),
        context_.console, [this](Result<v1::Profile> window) { inbox_->Put(std::move(window)); });
    if (live) return LiveTable(options_, context_, *inbox_, window_changes_.get()).Run();
    return PrintBlocks();
  }

  Result<void> Prepare() {
    Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
    if (!signals) return signals.error();
    signals_ = *std::move(signals);
    Result<UniqueFd> changes = WindowChanges();
    if (!changes) return changes.error();
    window_changes_ = *std::move(changes);
    UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
    inbox_ = std::make_unique<Inbox>(std::move(event));
    // The first ends the table; until there is one, and when it takes too long, profctl ends here.
    signals_->Handle([this](int signal, bool /*from_terminal*/) {
      if (inbox_->Stop(signal) && windows_made_) return;
      context_.temp_files.RemoveAll();
      ::_exit(128 + signal);
    });
    return {};
  }

  v1::CollectRequest Request() {
    windows_made_ = true;
    v1::CollectRequest request;
    *request.mutable_target() = TargetFromHere(options_.target);
    request.set_mode(options_.sampling.mode);
    request.set_frequency_hz(options_.sampling.frequency_hz);
    request.set_budget_cpus(options_.sampling.budget_cpus);
    request.set_no_hooks(options_.sampling.no_hooks);
    request.set_no_wakers(options_.sampling.no_wakers);
    request.add_steps("none");
    request.set_progress_interval_ns(kProgressNs);
    request.set_no_lines(true);
    return request;
  }

  Result<void> PrintBlocks() {
    std::uint64_t printed = 0;
    while (inbox_->signal() == 0) {
      auto window = inbox_->TakeWindow();
      if (!window) {
        pollfd fd{inbox_->fd(), POLLIN, 0};
        if (::poll(&fd, 1, -1) > 0) inbox_->Drain();
        continue;
      }
      if (!*window) return EndOfBlocks(window->error(), printed);
      PROFD_TRY(Print(Shown(**std::move(window))));
      if (++printed == options_.count) return {};
    }
    return {};
  }

  Result<void> EndOfBlocks(const Error& error, std::uint64_t printed) const {
    if (!IsEndOfTarget(error) || printed == 0) return error;
    context_.console.Say(error.message);
    return {};
  }

  Result<void> Print(const v1::Profile& profile) const {
    const bool terminal = IsTerminal(STDOUT_FILENO);
    return WriteToStdout(RenderTopBlock(
        profile, options_.state, terminal ? WidthOf(STDOUT_FILENO) : kFileWidth,
        Palette(UseColor(context_.global.color, STDOUT_FILENO)), context_.global.verbose));
  }

  const TopOptions& options_;
  const Context& context_;
  UniqueFd window_changes_;
  std::unique_ptr<Inbox> inbox_;
  DaemonConnection connection_;
  std::unique_ptr<StopSignals> signals_;
  std::atomic<bool> windows_made_ = false;
  std::unique_ptr<LiveWindows> windows_;
};

constexpr DurationLimits kIntervalLimits{.least = "100ms", .most = "24h"};
constexpr const char* kFooter =
    "Examples:\n"
    "  profctl top\n"
    "  profctl top -p 1234 --functions\n"
    "  profctl top -n 3 --threads --sort blocked --filter redis > out.txt\n"
    "  profctl top --fleet clickhouse://HOST/profd --functions\n"
    "\n"
    "Exit codes: 0 ok, 1 failure, 2 usage, 3 no such process or thread,\n"
    "4 profd unreachable, 5 permission denied.";

std::vector<std::string> SortNames() {
  std::vector<std::string> names;
  for (const TopSort sort : {TopSort::kRunning, TopSort::kSpinning, TopSort::kRunnable,
                             TopSort::kBlocked, TopSort::kSelf, TopSort::kTotal, TopSort::kName})
    names.emplace_back(NameOf(sort));
  return names;
}

}  // namespace

TopVerb::TopVerb()
    : Verb({.name = "top",
            .usage = "profctl top [TARGET] [--interval TIME] [OPTIONS]\n"
                     "       profctl top --fleet URL [--service NAME] [--functions] [--since SPAN]",
            .summary = "show live who spends time, and on what: processes, threads or functions",
            .about = "A table every two seconds, of everything in them: running, runnable and "
                     "blocked, and what most of the waiting is for. On a terminal h shows the "
                     "keys; elsewhere the tables stand one below the other. Without a target it "
                     "shows the whole host. Of a fleet it is one table, of services or "
                     "functions, of the last five minutes or of --since.",
            .footer = kFooter}) {
  AddTarget(command(), raw_.target);
  AddLabels(command(), raw_.target);
  command().Add({.group = kWhatGroup,
                 .names = "-i,--interval",
                 .into = &raw_.interval,
                 .value = "TIME",
                 .help = "from table to table, at least 100ms; default 2s"});
  AddSampling(command(), raw_.sampling);
  AddChildren(command(), raw_.target);
  AddKernelThreads(command(), raw_.target);
  AddFleet(command(), raw_.fleet);
  AddTimes(command(), raw_.times);
  AddOutput();
}

void TopVerb::AddOutput() {
  const auto add = [this](Option option) {
    option.group = kOutputGroup;
    command().Add(std::move(option));
  };
  add({.names = "--functions", .into = &raw_.functions, .help = "a row a function"});
  add({.names = "--threads", .into = &raw_.threads, .help = "a row a thread"});
  add({.names = "--processes", .into = &raw_.processes, .help = "a row a process: the default"});
  add({.names = "--sort",
       .into = &raw_.sort,
       .value = "COLUMN",
       .help = "sort by this column: running (working and spinning), spinning, runnable, blocked "
               "or name; of functions also self or total; default running",
       .words = SortNames()});
  add({.names = "--filter",
       .into = &raw_.filter,
       .value = "TEXT",
       .help = "only rows with TEXT in them",
       .more = "TEXT is a part of the name, the command line or the user, in capitals or not, or "
               "a whole pid or tid."});
  add({.names = "-n,--count",
       .into = &raw_.count,
       .value = "COUNT",
       .help = "so many tables, one below the other"});
  add({.names = "-b,--batch",
       .into = &raw_.batch,
       .help = "tables one below the other, without keys",
       .more = "They have 50 rows each; -v shows all."});
}

Result<void> TopVerb::TakeFleet() {
  RawTarget target = raw_.target;
  target.labels.clear();  // a fleet has labels, too
  if (target.kinds() > 0)
    return Usage("both a fleet and a target on this host are named",
                 "--service and --host name a part of a fleet");
  for (const auto& [given, name] : {std::pair(!raw_.count.empty(), "-n"),
                                    {!raw_.interval.empty(), "--interval"},
                                    {!raw_.sort.empty(), "--sort"},
                                    {!raw_.filter.empty(), "--filter"},
                                    {raw_.threads, "--threads"},
                                    {raw_.processes, "--processes"}})
    if (given) return Usage(std::string(name) + " is not for fleets", "leave it out");
  RawTimes times = raw_.times;
  if (times.since.empty() && times.from.empty() && times.to.empty()) times.since = "5m";
  RawFilters filters;
  filters.labels = raw_.target.labels;
  auto fleet = ParseFleet(raw_.fleet, filters, times, NowUnixNs());
  if (!fleet) return fleet.error();
  fleet->question.apart = {fleet->question.service.empty() ? FleetKey::kService
                                                           : FleetKey::kVersion};
  options_.fleet = *std::move(fleet);
  return {};
}

Result<void> TopVerb::Take() {
  if (raw_.fleet.requested()) return TakeFleet();
  PROFD_TRY(CheckNoFleetButService(raw_.fleet));
  if (!raw_.times.since.empty() || !raw_.times.from.empty() || !raw_.times.to.empty())
    return Usage("--since, --from and --to are for fleets here", "profctl list has the past");
  RawTarget with_default = raw_.target;
  with_default.service = raw_.fleet.service;
  if (with_default.kinds() == 0) with_default.all = true;
  const auto target = ParseTarget(with_default, false, "nothing: that is -a");
  if (!target) return target.error();
  options_.target = *target;
  const Result<Sampling> sampling = ParseSampling(raw_.sampling);
  if (!sampling) return sampling.error();
  options_.sampling = *sampling;
  if (!raw_.interval.empty()) {
    const auto interval = ParseDurationOf("--interval", raw_.interval, kIntervalLimits);
    if (!interval) return interval.error();
    options_.interval_ns = *interval;
  }
  if (!raw_.count.empty()) {
    const char* end = raw_.count.data() + raw_.count.size();
    const auto parsed = std::from_chars(raw_.count.data(), end, options_.count);
    if (parsed.ec != std::errc{} || parsed.ptr != end || options_.count == 0)
      return Usage("-n " + raw_.count + " is no number of tables", "it is 1 or more");
  }
  // Who counts the tables wants them one below the other.
  options_.plain = raw_.batch || options_.count > 0;
  PROFD_TRY(TakeView());
  PROFD_TRY(TakeSort());
  options_.state.filter = raw_.filter;
  return {};
}

Result<void> TopVerb::TakeView() {
  if (static_cast<int>(raw_.threads) + static_cast<int>(raw_.functions) +
          static_cast<int>(raw_.processes) >
      1)
    return Usage("more than one of --functions, --threads and --processes is given",
                 "a key changes it while the table is shown");
  if (raw_.functions) options_.state.view = TopView::kFunctions;
  if (raw_.threads) options_.state.view = TopView::kThreads;
  return {};
}

Result<void> TopVerb::TakeSort() {
  if (raw_.sort.empty()) return {};
  std::string names;
  for (const TopSort sort : SortsOf(options_.state.view)) {
    if (raw_.sort == NameOf(sort)) {
      options_.state.sort = sort;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(NameOf(sort));
  }
  return Usage("--sort " + raw_.sort + ": " + NameOf(options_.state.view) + " have no such column",
               "it is one of " + names);
}

int TopVerb::Run(const Context& context) {
  if (!options_.fleet) return Top(options_, context).Run();
  return raw_.functions ? RunFleetFunctions({*options_.fleet}, context)
                        : RunFleetList({*options_.fleet}, context);
}

}  // namespace profd::client
