#include "client/commands/web/web_request.h"

#include <charconv>
#include <utility>
#include <vector>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/collect_target.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMostUnixUs = UINT64_MAX / kNsPerUs;
constexpr std::uint64_t kMostLiveSeconds = 60;
constexpr std::uint64_t kLiveSeconds = 2;
constexpr std::uint64_t kProgressNs = 100'000'000;  // how soon a session ends that is given up

void Take(const WebRequest& request, const std::string& name, std::vector<std::string>& into) {
  if (std::string text = request.Parameter(name); !text.empty()) into.push_back(std::move(text));
}

}  // namespace

Result<std::optional<std::uint64_t>> NumberParameter(const WebRequest& request,
                                                     const std::string& name) {
  const std::string text = request.Parameter(name);
  if (text.empty()) return std::optional<std::uint64_t>();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return std::optional(number);
  return Error{ErrorCode::kInvalidArgument, name + " is no whole number", ""};
}

Result<HistoryQuestion> HistoryParameters(const WebRequest& request, const std::string& prefix) {
  RawFilters filters;
  Take(request, prefix + "pid", filters.pids);
  Take(request, prefix + "comm", filters.comms);
  Take(request, prefix + "exe", filters.executables);
  Take(request, prefix + "cgroup", filters.cgroups);
  Take(request, prefix + "container", filters.containers);
  Take(request, prefix + "unit", filters.units);
  Take(request, prefix + "user", filters.users);
  Take(request, prefix + "thread", filters.threads);
  auto question = ParseQuestion({}, filters, NowUnixNs());
  if (!question) return question;
  for (const char* name : {"from_unix_us", "to_unix_us"}) {
    const auto us = NumberParameter(request, prefix + name);
    if (!us) return us.error();
    if (!*us) continue;
    if (**us > kMostUnixUs)
      return Error{ErrorCode::kInvalidArgument, prefix + name + " is too late", ""};
    question->request.clear_since_ns();
    if (std::string_view(name) == "from_unix_us")
      question->request.set_from_unix_ns(**us * kNsPerUs);
    else
      question->request.set_to_unix_ns(**us * kNsPerUs);
  }
  const v1::QueryRequest& range = question->request;
  if (range.since_ns() == 0) {
    const std::uint64_t end = range.to_unix_ns() == 0 ? NowUnixNs() : range.to_unix_ns();
    if (range.from_unix_ns() >= end)
      return Error{ErrorCode::kInvalidArgument, "the range is empty", ""};
    question->range = FormatRange(range.from_unix_ns(), end);
  }
  return question;
}

Result<v1::CollectRequest> LiveParameters(const WebRequest& request) {
  v1::CollectRequest collect;
  const auto seconds = NumberParameter(request, "seconds");
  if (!seconds) return seconds.error();
  if (seconds->value_or(1) == 0 || seconds->value_or(1) > kMostLiveSeconds)
    return Error{ErrorCode::kInvalidArgument,
                 "seconds is from 1 to " + std::to_string(kMostLiveSeconds), ""};
  collect.set_duration_ns(seconds->value_or(kLiveSeconds) * kNsPerSecond);
  const auto hz = NumberParameter(request, "hz");
  if (!hz) return hz.error();
  if (hz->value_or(1) == 0 || hz->value_or(1) > kHighestHz)
    return Error{ErrorCode::kInvalidArgument, "hz is from 1 to " + std::to_string(kHighestHz), ""};
  collect.set_frequency_hz(static_cast<std::uint32_t>(hz->value_or(0)));
  v1::Target target;
  std::vector<std::uint32_t> pids;
  if (const std::string text = request.Parameter("pid"); !text.empty()) {
    PROFD_TRY(ParseIds("pid", text, pids));
    target.mutable_pids()->mutable_id()->Add(pids.begin(), pids.end());
  } else if (std::string comm = request.Parameter("comm"); !comm.empty()) {
    target.set_comm(std::move(comm));
  } else {
    target.set_all(true);
  }
  *collect.mutable_target() = TargetFromHere(std::move(target));
  collect.set_progress_interval_ns(kProgressNs);
  return collect;
}

}  // namespace profd::client
