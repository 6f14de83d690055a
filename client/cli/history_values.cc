#include "client/cli/history_values.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/target_values.h"
#include "client/cli/time_values.h"
#include "client/cli/values.h"

namespace profd::client {
namespace {

Result<v1::State> ParseState(const std::string& text) {
  if (text == "on_cpu" || text == "running") return v1::STATE_ON_CPU;
  if (text == "runnable") return v1::STATE_RUNNABLE;
  if (text == "blocked") return v1::STATE_BLOCKED;
  return Usage("--state " + text + ": no such state", "it is on_cpu, runnable or blocked");
}

Result<v1::WaitReason> ParseWait(const std::string& text) {
  std::string name = "WAIT_" + text;
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  v1::WaitReason reason = v1::WAIT_NONE;
  if (v1::WaitReason_Parse(name, &reason) && reason != v1::WAIT_NONE) return reason;
  return Usage(
      "--wait " + text + ": no such reason",
      "it is lock, gil, io, driver, kernel, sleep, poll, net, pipe, child, fault or other");
}

// Fills the filter and says it in words.
Result<void> Who(const RawOptions& raw, HistoryQuestion& question) {
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
  add(raw.thread_names, "thread", filter.mutable_thread());
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

Result<void> When(const RawOptions& raw, std::uint64_t now_unix_ns, HistoryQuestion& question) {
  v1::QueryRequest& request = question.request;
  if (raw.from.empty() && raw.to.empty()) {
    const std::string span = raw.since.empty() ? "1h" : raw.since;
    const auto since = ParseSpan("--since", span);
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

Result<HistoryQuestion> ParseQuestion(const RawOptions& raw, std::uint64_t now_unix_ns) {
  HistoryQuestion question;
  PROFD_TRY(Who(raw, question));
  PROFD_TRY(When(raw, now_unix_ns, question));
  return question;
}

Result<std::optional<HistoryQuestion>> ParseRange(const RawOptions& raw, const std::string& word,
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
  PROFD_TRY(Who(raw, question));
  return std::optional(std::move(question));
}

std::string FirstFilter(const RawOptions& raw) {
  const std::array<std::pair<bool, const char*>, 10> filters{{
      {!raw.pids.empty(), "-p"},
      {!raw.comms.empty(), "--comm"},
      {!raw.executables.empty(), "--exe"},
      {!raw.cgroups.empty(), "--cgroup"},
      {!raw.containers.empty(), "--container"},
      {!raw.units.empty(), "--unit"},
      {!raw.users.empty(), "--user"},
      {!raw.thread_names.empty(), "--thread"},
      {!raw.state.empty(), "--state"},
      {!raw.wait.empty(), "--wait"},
  }};
  const auto given = std::ranges::find(filters, true, &std::pair<bool, const char*>::first);
  return given == filters.end() ? "" : given->second;
}

}  // namespace profd::client
