#include "client/commands/collect.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/collect_hosts.h"
#include "client/commands/common/collect_target.h"
#include "client/commands/common/fleet_session.h"
#include "client/commands/common/output_plan.h"
#include "client/commands/common/target_daemon.h"
#include "client/hosts/host_list.h"
#include "client/link/collect_session.h"
#include "client/link/daemon_choice.h"
#include "client/system/command_child.h"
#include "client/system/exit_code.h"
#include "client/system/invoking_user.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"
#include "client/text/number.h"
#include "client/text/progress_bar.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kDefaultDurationNs = 10'000'000'000u;

std::uint64_t DurationOf(const CollectOptions& options) {
  if (options.duration_ns) return *options.duration_ns;
  return options.command.empty() ? kDefaultDurationNs : 0;
}

// What a stop signal does: the first ends the session, a second one or one that comes before there
// is a session ends profctl. Runs on the thread of StopSignals.
class Interruption {
 public:
  Interruption(const Context& context, CollectSession& session, const CommandChild* child)
      : context_(context), session_(session), child_(child) {}

  void operator()(int signal, bool from_terminal) {
    // The terminal has sent the signal to the command itself.
    if (child_ != nullptr && !from_terminal) child_->Kill(signal);
    if (std::exchange(seen_, true) || !session_.started()) {
      context_.console.EndProgress();
      context_.temp_files.RemoveAll();
      ::_exit(128 + signal);
    }
    context_.console.Say("ending the collection; once more to discard what was collected");
    session_.Stop();
  }

 private:
  const Context& context_;
  CollectSession& session_;
  const CommandChild* child_;
  bool seen_ = false;
};

// One run of the command; its parts are kept in the order in which they must end.
class Collection {
 public:
  Collection(const CollectOptions& options, const Context& context)
      : options_(options), context_(context), session_(context.console) {}

  int Run();

 private:
  Result<void> Prepare();
  Result<void> Connect();
  Result<v1::Profile> Collect();
  Result<void> OnStarted(const v1::Started& started);
  void OnProgress(const v1::Progress& progress);
  Result<void> CheckData(const v1::Profile& profile) const;
  void Explain(const v1::Profile& profile) const;
  void SayWhatEnded(int wait_status) const;
  [[nodiscard]] std::string Footer() const;
  [[nodiscard]] v1::CollectRequest Request() const;

  const CollectOptions& options_;
  const Context& context_;
  std::optional<OutputPlan> plan_;
  std::optional<InvokingUser> user_;
  DaemonConnection connection_;
  CollectSession session_;
  std::unique_ptr<CommandChild> child_;
  std::unique_ptr<StopSignals> signals_;
  CollectionProgress progress_;
  bool target_gone_ = false;
  std::optional<ExitCode> exec_failure_;
};

v1::CollectRequest Collection::Request() const {
  v1::Target target = TargetFromHere(options_.target);
  if (child_) target.mutable_pids()->add_id(static_cast<std::uint32_t>(child_->pid()));
  return RequestFor(options_, std::move(target));
}

Result<void> Collection::Prepare() {
  Result<OutputPlan> plan = OutputPlan::Make(options_.output, IsTerminal(STDOUT_FILENO));
  if (!plan) return plan.error();
  plan_ = *std::move(plan);
  user_ = InvokingUser::FromEnvironment();
  Result<std::unique_ptr<StopSignals>> signals = StopSignals::Block();
  if (!signals) return signals.error();
  signals_ = *std::move(signals);
  if (options_.command.empty()) return {};
  const std::string& program = options_.command.front();
  const char* path = std::getenv("PATH");
  if (FindProgram(program, path == nullptr ? "" : path).empty()) {
    exec_failure_ = ExitCode::kCommandNotFound;
    return Error{ErrorCode::kNotFound, "cannot run " + program + ": there is no such program", ""};
  }
  // Forked before there are other threads.
  Result<std::unique_ptr<CommandChild>> child =
      CommandChild::Fork(options_.command, user_, signals_->original_mask());
  if (!child) return child.error();
  child_ = *std::move(child);
  return {};
}

Result<void> Collection::Connect() {
  Result<DaemonConnection> connection = ConnectFor(options_.target, context_, *signals_);
  if (!connection) return connection.error();
  connection_ = *std::move(connection);
  return {};
}

Result<void> Collection::OnStarted(const v1::Started& started) {
  progress_.target = DescribeStarted(options_.target, child_ != nullptr, started);
  progress_.duration_ns = DurationOf(options_);
  context_.console.Explain("collecting " + progress_.target);
  if (!child_) return {};
  child_->Watch([this] { session_.Stop(); });
  Result<void> released = child_->Release();
  if (!released)
    exec_failure_ = released.error().code == ErrorCode::kNotFound ? ExitCode::kCommandNotFound
                                                                  : ExitCode::kCannotExecute;
  return released;
}

void Collection::OnProgress(const v1::Progress& progress) {
  progress_.elapsed_ns = progress.elapsed_ns();
  progress_.samples = progress.samples();
  progress_.lost = progress.lost();
  progress_.finishing = progress.finishing();
  context_.console.ShowProgress(
      [this](std::size_t width) { return RenderProgress(progress_, width); });
  const v1::Target& target = options_.target;
  const bool ends = target.has_pids() || target.has_tids() || target.has_labels();
  if (!progress.target_gone() || child_ || !ends) return;
  target_gone_ = true;
  session_.Stop();
}

Result<v1::Profile> Collection::Collect() {
  CollectCallbacks callbacks;
  callbacks.started = [this](const v1::Started& started) { return OnStarted(started); };
  callbacks.progress = [this](const v1::Progress& progress) -> Result<void> {
    OnProgress(progress);
    return {};
  };
  Result<v1::Profile> profile = session_.Run(*connection_.client, Request(), callbacks);
  context_.console.EndProgress();
  if (profile) {
    PROFD_TRY(CheckData(*profile));
    return plan_->Restrict(*std::move(profile));
  }
  return WithCause(profile.error(), connection_, " in the middle of the collection");
}

Result<void> Collection::CheckData(const v1::Profile& profile) const {
  if (profile.samples().weight_ns_size() > 0) return {};
  const std::string span = FormatDuration(profile.end_ns() - profile.start_ns());
  const std::string who =
      child_ ? options_.command.front() : TargetArguments(options_.target, child_ != nullptr);
  const std::string threads =
      profile.threads_size() == 0 ? "no thread of " + who : "not one sample of " + who;
  return Error{ErrorCode::kNotFound, "no data: " + threads + " in " + span,
               options_.sampling.mode == v1::MODE_WALL ? "see what runs: ps -e"
                                                       : "-m wall shows all its time"};
}

void Collection::Explain(const v1::Profile& profile) const {
  std::string text = "kernel " + profile.kernel() + ", hook " + profile.hook();
  if (profile.on_cpu_period_ns() > 0)
    text += ", on-CPU period " + FormatDuration(profile.on_cpu_period_ns());
  if (profile.off_cpu_period_ns() > 0)
    text += ", off-CPU period " + FormatDuration(profile.off_cpu_period_ns());
  context_.console.Explain(text);
  if (!target_gone_) return;
  context_.console.Say("the target exited after " +
                       FormatDuration(profile.end_ns() - profile.start_ns()) +
                       ": this is the profile until then");
}

// The shell does not: to it profctl has ended by itself.
void Collection::SayWhatEnded(int wait_status) const {
  if (!WIFSIGNALED(wait_status) || WTERMSIG(wait_status) == SIGINT) return;
  const int signal = WTERMSIG(wait_status);
  context_.console.Say(options_.command.front() + " was ended by signal " + std::to_string(signal) +
                       " (" + ::strsignal(signal) + ")");
}

std::string Collection::Footer() const {
  const std::string target =
      child_ ? "-- COMMAND" : TargetArguments(options_.target, child_ != nullptr);
  return "open it:  profctl collect -o out.svg " + target + "      all formats: profctl formats";
}

int Collection::Run() {
  Result<void> ready = Prepare();
  if (ready) {
    signals_->Handle(Interruption(context_, session_, child_.get()));
    ready = Connect();
  }
  std::optional<Error> failure;
  if (!ready) failure = ready.error();
  bool written = false;
  if (!failure) {
    const Result<v1::Profile> profile = Collect();
    if (profile) {
      Explain(*profile);
      written = plan_->Write(*profile, user_, Footer(), context_);
    } else {
      failure = profile.error();
    }
  }
  if (failure) context_.console.Fail(*failure);
  connection_.client.reset();
  connection_.private_daemon.reset();
  ExitCode code = written ? ExitCode::kOk : ExitCode::kFailure;
  if (failure) code = exec_failure_.value_or(ExitCodeOf(failure->code));
  if (!child_) return ToInt(code);
  const int wait_status = child_->Wait();
  SayWhatEnded(wait_status);
  return code == ExitCode::kOk ? ExitCodeOfWaitStatus(wait_status) : ToInt(code);
}

constexpr const char* kUsage =
    "profctl collect TARGET [-d TIME] [-o FILE]... [OPTIONS]\n"
    "       profctl collect [OPTIONS] -- COMMAND [ARGUMENT]...\n"
    "       profctl collect --hosts FILE TARGET [OPTIONS]\n"
    "       profctl collect --fleet[=URL] --service NAME [OPTIONS]";
constexpr const char* kFooter =
    "Examples:\n"
    "  profctl collect -p 1234 -d 30s -o out.svg -o out.json\n"
    "  profctl collect -a -d 5 -f folded > all.folded\n"
    "  profctl collect --service cart --label service.version=1.4.* -o cart.svg\n"
    "  sudo profctl collect -o out.svg -- ./program --its-option\n"
    "  profctl collect --hosts web.txt --service cart -o web.svg\n"
    "  profctl collect --fleet --service cart --zone a -d 10s -o cart.svg\n"
    "\n"
    "Exit codes: 0 ok, 1 failure, 2 usage, 3 target not found or no data,\n"
    "4 profd unreachable, 5 no permission, 6 of some hosts only; with -- COMMAND that\n"
    "of the command.";

constexpr std::string_view kWhereGroup = "Where";

void AddHosts(Command& command, std::string& hosts, std::string& timeout, std::string& address) {
  command.Add({.group = kWhereGroup,
               .names = "--hosts",
               .into = &hosts,
               .value = "FILE",
               .help = "from the hosts of a file, - for standard input, at one time: one profile",
               .more = "A line is HOST[:PORT], by TLS with --tls-ca, --tls-cert and --tls-key, or "
                       "the path of a unix socket; web[01-12].example stands for many, and what is "
                       "behind a # is a comment. There are at most 1,000. Each process says its "
                       "host: --group-by host, and report --by host. Hosts that fail are listed "
                       "with the reason.",
               .offer = Offer::kFiles});
  command.Add(
      {.group = kWhereGroup,
       .names = "--host-timeout",
       .into = &timeout,
       .value = "TIME",
       .help = "with --hosts or --fleet: leave out a host that sends nothing for so long; 20s by "
               "default"});
  command.Add({.group = kWhereGroup,
               .names = "--host-address",
               .into = &address,
               .value = "PATTERN",
               .help = "with --fleet: where a host is, by TLS; * stands for its name: "
                       "*.prod.example:9898; * by default"});
}

}  // namespace

CollectVerb::CollectVerb()
    : Verb({.name = "collect",
            .alias = "record",
            .usage = kUsage,
            .summary = "collect a wall-clock profile of processes that run, or of a command",
            .about =
                "Without -o it prints a summary on a terminal and folded stacks into a pipe. "
                "Ctrl-C ends the collection early and still writes; a second Ctrl-C discards it.",
            .footer = kFooter}) {
  command().behind = &raw_.command;
  AddTarget(command(), raw_.target);
  AddLabels(command(), raw_.target);
  AddDuration(command(), raw_.duration, kTenSecondsOrCommand,
              "Of a profd that replays a recording: how much of its time, from its start; the "
              "default is all of it.");
  AddSampling(command(), raw_.sampling);
  AddStep(command(), raw_.sampling);
  AddChildren(command(), raw_.target);
  command().Add({.group = kWhatGroup,
                 .names = "--no-children",
                 .into = &raw_.target.no_children,
                 .help = "with -- COMMAND: only itself; else its children are followed"});
  AddKernelThreads(command(), raw_.target);
  AddHosts(command(), raw_.hosts, raw_.host_timeout, raw_.host_address);
  AddFleet(command(), raw_.fleet);
  command().Add({.group = kWhatGroup,
                 .names = "--switches",
                 .into = &raw_.switches,
                 .help = "record every switch and wake-up, too: json and timelines have the state "
                         "of each thread at every instant",
                 .more = "At most 1,000,000, and 50,000 a second of a process for every 8 CPUs; "
                         "what is beyond is counted, and of these threads nothing is drawn. Each "
                         "costs the host about 2 us with its wake-up. It needs hooks."});
  command().Add({.group = kWhatGroup,
                 .names = "--cycles",
                 .into = &raw_.cycles,
                 .help = "take samples by the hardware's cycle counter instead of a timer"});
  AddCounters(command(), raw_.sampling);
  AddNative(command(), kWhatGroup);
  AddPlaces(command(), kWhatGroup, raw_.places);
  AddOutput(command(), raw_.output);
  AddNoProgress(command(), raw_.no_progress);
}

Result<void> CollectVerb::Take() {
  PROFD_TRY(TakeTarget());
  if (!raw_.duration.empty()) {
    const auto duration = ParseDurationOf("-d", raw_.duration, kSessionLimits);
    if (!duration) return duration.error();
    options_.duration_ns = *duration;
  }
  const Result<Sampling> sampling = ParseSampling(raw_.sampling);
  if (!sampling) return sampling.error();
  options_.sampling = *sampling;
  if (raw_.cycles && sampling->mode == v1::MODE_OFF_CPU)
    return Usage("--cycles has no meaning with -m off", "leave one out");
  options_.hardware_cycles = raw_.cycles;
  if (raw_.switches && (raw_.sampling.no_hooks || sampling->mode == v1::MODE_ON_CPU))
    return Usage("--switches has no meaning with --no-hooks or -m on", "leave one out");
  options_.switches = raw_.switches;
  options_.inlined = !raw_.places.no_inlines;
  options_.lines = !raw_.places.no_lines;
  options_.no_progress = raw_.no_progress;
  options_.output = raw_.output;
  return TakeHosts();
}

Result<void> CollectVerb::TakeTarget() {
  RawTarget raw = raw_.target;
  raw.service = raw_.fleet.service;
  if (raw_.fleet.requested())
    // What has no label, as a zone, is a matter of hosts alone.
    for (const auto& [name, values] : {std::pair("service.version", &raw_.fleet.versions),
                                       {"k8s.namespace.name", &raw_.fleet.namespaces},
                                       {"k8s.pod.name", &raw_.fleet.pods}})
      for (const std::string& value : *values)
        raw.labels.push_back(std::string(name) + "=" + value);
  const bool has_command = !raw_.command.empty();
  const Result<v1::Target> target = ParseTarget(raw, has_command, "-- COMMAND");
  if (!target) return target.error();
  options_.target = *target;
  options_.command = raw_.command;
  return {};
}

// The output of a command that is being profiled comes on the same terminal.
bool CollectVerb::ShowsProgress() const {
  return !options_.no_progress && options_.command.empty();
}

Result<void> CollectVerb::TakeHosts() {
  if (raw_.fleet.requested()) return TakeFleet();
  PROFD_TRY(CheckNoFleetButService(raw_.fleet));
  if (!raw_.host_address.empty()) return Usage("--host-address is for --fleet", "leave it out");
  if (raw_.hosts.empty() && !raw_.host_timeout.empty())
    return Usage("--host-timeout is for --hosts and --fleet", "leave it out");
  if (raw_.hosts.empty()) return {};
  if (!options_.command.empty() || options_.target.has_pids() || options_.target.has_tids())
    return Usage("a process of one host has no meaning on many",
                 "with --hosts name --service NAME, --label NAME=VALUE, --comm NAME, --cgroup "
                 "PATH or -a");
  options_.hosts = raw_.hosts;
  return TakeHostTimeout();
}

Result<void> CollectVerb::TakeHostTimeout() {
  if (raw_.host_timeout.empty()) return {};
  const auto timeout =
      ParseDurationOf("--host-timeout", raw_.host_timeout, {.least = "100ms", .most = "10m"});
  if (!timeout) return timeout.error();
  options_.host_timeout_ns = *timeout;
  return {};
}

Result<void> CollectVerb::TakeFleet() {
  if (!raw_.hosts.empty())
    return Usage("both --hosts and --fleet say from which hosts", "leave one out");
  RawFilters filters;
  filters.labels = raw_.target.labels;
  auto fleet = ParseFleet(raw_.fleet, filters, {}, NowUnixNs());
  if (!fleet) return fleet.error();
  PROFD_TRY(CheckService(fleet->question));
  if (!raw_.host_address.empty()) {
    PROFD_TRY(CheckHostPattern(raw_.host_address));
    options_.host_address = raw_.host_address;
  }
  options_.fleet = *std::move(fleet);
  return TakeHostTimeout();
}

int CollectVerb::Run(const Context& context) {
  if (options_.fleet) return RunCollectHosts(options_, context);
  if (options_.hosts.empty()) return RunCollect(options_, context);
  if (context.global.host.address.empty()) return RunCollectHosts(options_, context);
  const Error both = Usage("both --host and --hosts are named", "leave one out");
  context.console.Fail(both);
  return ToInt(ExitCodeOf(both.code));
}

v1::CollectRequest RequestFor(const CollectOptions& options, v1::Target target) {
  v1::CollectRequest request;
  *request.mutable_target() = std::move(target);
  request.set_duration_ns(DurationOf(options));
  request.set_duration_is_default(!options.duration_ns);
  request.set_mode(options.sampling.mode);
  request.set_frequency_hz(options.sampling.frequency_hz);
  request.set_budget_cpus(options.sampling.budget_cpus);
  request.set_no_hooks(options.sampling.no_hooks);
  request.set_no_wakers(options.sampling.no_wakers);
  for (const std::string& step : options.sampling.steps) request.add_steps(step);
  request.set_hardware_cycles(options.hardware_cycles);
  request.set_switches(options.switches);
  request.set_counters(options.sampling.counters);
  request.set_no_inlined(!options.inlined);
  request.set_no_lines(!options.lines);
  return request;
}

int RunCollect(const CollectOptions& options, const Context& context) {
  return Collection(options, context).Run();
}

}  // namespace profd::client
