#include "client/cli/history_options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/profile/wait_reasons.h"

namespace profd::client {
namespace {

Result<v1::State> ParseState(const std::string& text) {
  if (text == "on_cpu" || text == "running") return v1::STATE_ON_CPU;
  if (text == "runnable") return v1::STATE_RUNNABLE;
  if (text == "blocked") return v1::STATE_BLOCKED;
  return Usage("--state " + text + ": no such state", "it is on_cpu, runnable or blocked");
}

std::vector<std::string> WaitNames() {
  std::vector<std::string> names;
  for (const WaitReasonEntry& entry : WaitReasons())
    if (entry.reason != v1::WAIT_NONE) names.emplace_back(entry.name());
  return names;
}

Result<v1::WaitReason> ParseWait(const std::string& text) {
  for (const WaitReasonEntry& entry : WaitReasons())
    if (entry.reason != v1::WAIT_NONE && entry.name() == text) return entry.reason;
  return Usage("--wait " + text + ": no such reason", "it is " + OneOf(WaitNames()));
}

// Fills the filter and says it in words.
Result<void> Who(const RawFilters& raw, HistoryQuestion& question) {
  v1::HistoryFilter& filter = *question.request.mutable_filter();
  std::vector<std::uint32_t> pids;
  for (const std::string& text : raw.pids) PROFD_TRY(ParseIds("-p", text, pids));
  filter.mutable_pid()->Add(pids.begin(), pids.end());
  const auto say = [&](std::string_view what, const std::string& value) {
    question.who += (question.who.empty() ? "" : ", ") + std::string(what) + " " + value;
  };
  for (const std::uint32_t pid : pids) say("pid", std::to_string(pid));
  const auto add = [&](const std::vector<std::string>& values, std::string_view what, auto* into) {
    for (const std::string& value : values) {
      into->Add(std::string(value));
      say(what, value);
    }
  };
  add(raw.comms, "comm", filter.mutable_comm());
  add(raw.executables, "exe", filter.mutable_executable());
  add(raw.cgroups, "cgroup", filter.mutable_cgroup());
  add(raw.containers, "container", filter.mutable_container());
  add(raw.units, "unit", filter.mutable_unit());
  add(raw.users, "user", filter.mutable_user());
  add(raw.threads, "thread", filter.mutable_thread());
  for (const std::string& label : raw.labels) PROFD_TRY(CheckLabel(label));
  add(raw.labels, "label", filter.mutable_label());
  if (!raw.state.empty()) {
    const auto state = ParseState(raw.state);
    if (!state) return state.error();
    filter.set_state(*state);
  }
  if (!raw.wait.empty()) {
    const auto wait = ParseWait(raw.wait);
    if (!wait) return wait.error();
    filter.set_wait(*wait);
  }
  if (question.who.empty()) question.who = "all";
  return {};
}

std::string RangeText(const v1::QueryRequest& request) {
  return request.from_unix_ns() == 0 ? "the time before " + FormatTime(request.to_unix_ns())
                                     : FormatRange(request.from_unix_ns(), request.to_unix_ns());
}

Result<void> When(const RawTimes& raw, std::uint64_t now_unix_ns, HistoryQuestion& question) {
  v1::QueryRequest& request = question.request;
  if (raw.from.empty() && raw.to.empty()) {
    const std::string span = raw.since.empty() ? "1h" : raw.since;
    const auto since = ParseDurationOf("--since", span, kSpanLimits);
    if (!since) return since.error();
    request.set_since_ns(*since);
    question.range = "the last " + span;
    return {};
  }
  if (!raw.since.empty())
    return Usage("--since goes with neither --from nor --to", "leave one out");
  if (!raw.from.empty()) {
    const auto from = ParseTime("--from", raw.from, now_unix_ns);
    if (!from) return from.error();
    request.set_from_unix_ns(*from);
  }
  const auto to = ParseTime("--to", raw.to.empty() ? "now" : raw.to, now_unix_ns);
  if (!to) return to.error();
  request.set_to_unix_ns(*to);
  if (request.from_unix_ns() >= *to)
    return Usage("--to is not after --from: " + FormatTime(request.from_unix_ns()) + " and " +
                     FormatTime(*to),
                 "a time without a date is the last one that has been");
  question.range = RangeText(request);
  return {};
}

}  // namespace

void AddTimes(Command& command, RawTimes& raw) {
  command.Add({.group = kWhenGroup,
               .names = "--since",
               .into = &raw.since,
               .value = "SPAN",
               .help = "the last 30m, 1h, 2d; default 1h where no other is given"});
  command.Add({.group = kWhenGroup,
               .names = "--from",
               .into = &raw.from,
               .value = "TIME",
               .help = "14:05, 2026-11-20, \"2026-11-20 14:05\", 2026-11-20T14:05:00Z, or 2h for "
                       "two hours ago",
               .more = "A time without a date is the last one that has been. Without a zone it is "
                       "local."});
  command.Add({.group = kWhenGroup,
               .names = "--to",
               .into = &raw.to,
               .value = "TIME",
               .help = "written as for --from; default now"});
}

namespace {

void AddWho(Command& command, const char* names, OptionVariable into, const char* value,
            const char* help, Offer offer = Offer::kNothing) {
  command.Add({.group = kWhoGroup,
               .names = names,
               .into = into,
               .value = value,
               .help = help,
               .offer = offer});
}

}  // namespace

void AddFilters(Command& command, RawFilters& raw) {
  AddWho(command, "-p,--pid", &raw.pids, "PID", "processes: -p 1234 or -p 1234,1235", Offer::kPids);
  AddWho(command, "--comm", &raw.comms, "NAME", "processes of a name; * and ? stand for any text",
         Offer::kPrograms);
  AddWho(command, "--cgroup", &raw.cgroups, "PATH", "processes of a cgroup: /system.slice/*",
         Offer::kFolders);
  AddHistoryFilters(command, raw);
}

void AddHistoryFilters(Command& command, RawFilters& raw, const std::string& of_label) {
  AddWho(command, "--exe", &raw.executables, "PATH", "processes of a program: a path or its end");
  AddWho(command, "--container", &raw.containers, "ID",
         "processes of a container: its id or its beginning");
  AddWho(command, "--unit", &raw.units, "UNIT", "processes of a systemd unit");
  AddWho(command, "--user", &raw.users, "USER", "processes of a user, by name or number");
  AddWho(command, "--thread", &raw.threads, "NAME", "threads of a name, or a tid");
  command.Add({.group = kWhoGroup,
               .names = "--label",
               .into = &raw.labels,
               .value = "NAME=VALUE",
               .help = "processes with a label: service.name=cart, k8s.pod.name=cart-*",
               .more = "All names that are given must match; of one name, one of its values." +
                       (of_label.empty() ? of_label : " " + of_label)});
  command.Add({.group = kWhoGroup,
               .names = "--state",
               .into = &raw.state,
               .value = "STATE",
               .help = "only on_cpu, runnable or blocked time",
               .words = {"on_cpu", "runnable", "blocked"}});
  command.Add({.group = kWhoGroup,
               .names = "--wait",
               .into = &raw.wait,
               .value = "REASON",
               .help = "only time blocked for it: " + OneOf(WaitNames()),
               .words = WaitNames()});
}

Result<HistoryQuestion> ParseQuestion(const RawTimes& times, const RawFilters& filters,
                                      std::uint64_t now_unix_ns) {
  HistoryQuestion question;
  PROFD_TRY(Who(filters, question));
  PROFD_TRY(When(times, now_unix_ns, question));
  return question;
}

Result<std::optional<HistoryQuestion>> ParseRange(const RawFilters& filters,
                                                  const std::string& word,
                                                  std::uint64_t now_unix_ns) {
  constexpr std::string_view kDots = "..";
  const std::optional<HistoryQuestion> none;
  const std::size_t dots = word.find(kDots);
  if (dots == std::string::npos || word.size() == kDots.size()) return none;
  const std::string from_text = word.substr(0, dots);
  const std::string to_text = word.substr(dots + kDots.size());
  HistoryQuestion question;
  if (!from_text.empty()) {
    const auto from = ParseTime("", from_text, now_unix_ns);
    if (!from) return none;
    question.request.set_from_unix_ns(*from);
  }
  const auto to = ParseTime("", to_text.empty() ? "now" : to_text, now_unix_ns);
  if (!to) return none;
  question.request.set_to_unix_ns(*to);
  if (question.request.from_unix_ns() >= *to)
    return Usage(word + " is empty: it begins at " + FormatTime(question.request.from_unix_ns()) +
                     " and ends at " + FormatTime(*to),
                 "the earlier time stands first, as in 2h..1h; one without a date is the last that "
                 "has been");
  question.range = RangeText(question.request);
  PROFD_TRY(Who(filters, question));
  return std::optional(std::move(question));
}

std::string FirstFilter(const RawFilters& raw) {
  const std::array<std::pair<bool, const char*>, 11> filters{{
      {!raw.pids.empty(), "-p"},
      {!raw.comms.empty(), "--comm"},
      {!raw.executables.empty(), "--exe"},
      {!raw.cgroups.empty(), "--cgroup"},
      {!raw.containers.empty(), "--container"},
      {!raw.units.empty(), "--unit"},
      {!raw.users.empty(), "--user"},
      {!raw.threads.empty(), "--thread"},
      {!raw.labels.empty(), "--label"},
      {!raw.state.empty(), "--state"},
      {!raw.wait.empty(), "--wait"},
  }};
  const auto given = std::ranges::find(filters, true, &std::pair<bool, const char*>::first);
  return given == filters.end() ? "" : given->second;
}

}  // namespace profd::client
