#include <algorithm>
#include <string>
#include <utility>

#include "daemon/server/grpc/convert/convert.h"
#include "daemon/server/grpc/convert/convert_parts.h"

namespace profd::server {
namespace {

constexpr int kMaxItems = 1'000;  // of each list
constexpr std::size_t kMaxTextBytes = 4'096;

Error Invalid(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

using Texts = google::protobuf::RepeatedPtrField<std::string>;

Result<std::vector<std::string>> ToTexts(const Texts& texts, const char* what) {
  if (texts.size() > kMaxItems)
    return Invalid(std::string("more than ") + std::to_string(kMaxItems) + " names of a " + what);
  for (const std::string& text : texts)
    if (text.size() > kMaxTextBytes)
      return Invalid(std::string("the name of a ") + what + " is longer than " +
                     std::to_string(kMaxTextBytes) + " bytes");
  return std::vector<std::string>(texts.begin(), texts.end());
}

Result<store::Filter> ToFilter(const v1::HistoryFilter& proto) {
  store::Filter filter;
  if (proto.pid_size() > kMaxItems) return Invalid("more than 1000 processes are named");
  filter.pids.assign(proto.pid().begin(), proto.pid().end());
  struct List {
    const Texts& texts;
    const char* what;
    std::vector<std::string>& into;
  };
  for (const List& list :
       {List{proto.comm(), "process", filter.comms},
        List{proto.executable(), "program", filter.executables},
        List{proto.cgroup(), "cgroup", filter.cgroups},
        List{proto.container(), "container", filter.containers},
        List{proto.unit(), "unit", filter.units}, List{proto.user(), "user", filter.users},
        List{proto.thread(), "thread", filter.threads}}) {
    auto texts = ToTexts(list.texts, list.what);
    if (!texts) return texts.error();
    list.into = *std::move(texts);
  }
  if (proto.has_state()) {
    if (!v1::State_IsValid(proto.state())) return Invalid("there is no such state");
    filter.state = static_cast<process::State>(proto.state());
  }
  if (proto.has_wait()) {
    if (!v1::WaitReason_IsValid(proto.wait())) return Invalid("there is no such wait reason");
    filter.wait = static_cast<process::WaitReason>(proto.wait());
  }
  return filter;
}

}  // namespace

Result<QueryPlan> ToPlan(const v1::QueryRequest& request, std::uint64_t now_unix_ns) {
  QueryPlan plan;
  if (request.since_ns() != 0) {
    if (request.from_unix_ns() != 0 || request.to_unix_ns() != 0)
      return Invalid("both a span and a begin or an end are named", "leave one out");
    plan.range.from_unix_ns = now_unix_ns - std::min(now_unix_ns, request.since_ns());
  } else {
    plan.range.from_unix_ns = request.from_unix_ns();
    if (request.to_unix_ns() != 0) plan.range.to_unix_ns = request.to_unix_ns();
  }
  if (plan.range.from_unix_ns >= plan.range.to_unix_ns)
    return Invalid("the time range ends before it begins");
  auto filter = ToFilter(request.filter());
  if (!filter) return filter.error();
  plan.filter = *std::move(filter);
  return plan;
}

v1::HistoryStatus ToProto(const history::HistoryStatus& history) {
  const auto& store = history.store;
  v1::HistoryStatus proto;
  proto.set_path(Utf8(store.path));
  proto.set_bytes(store.bytes);
  proto.set_limit_bytes(store.limit_bytes);
  proto.set_limit_ns(store.limit_ns);
  proto.set_windows(store.windows);
  proto.set_first_unix_ns(store.first_unix_ns);
  proto.set_last_unix_ns(store.last_unix_ns);
  proto.set_failed_puts(store.failed_puts);
  proto.set_last_error(Utf8(store.last_error));
  for (const auto& loss : store.losses) proto.add_losses(Utf8(loss));
  proto.set_on_cpu_period_ns(history.on_cpu_period_ns);
  proto.set_off_cpu_period_ns(history.off_cpu_period_ns);
  proto.set_window_ns(history.window_ns);
  proto.set_windows_lost(history.windows_lost);
  return proto;
}

}  // namespace profd::server
