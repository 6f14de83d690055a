#include "client/cli/target_values.h"

#include <utility>
#include <vector>

#include "client/cli/values.h"

namespace profd::client {
namespace {

constexpr std::size_t kCommBytes = 15;  // what the kernel keeps of a program's name

}  // namespace

Error Usage(std::string message, std::string hint) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

Result<v1::Mode> ParseMode(const std::string& text) {
  if (text == "wall") return v1::MODE_WALL;
  if (text == "on") return v1::MODE_ON_CPU;
  if (text == "off") return v1::MODE_OFF_CPU;
  return Usage("-m " + text + ": no such mode", "it is wall, on or off");
}

Result<v1::Target> ParseTarget(const RawOptions& raw, bool has_command, const char* other) {
  v1::Target target;
  int given = has_command ? 1 : 0;
  if (!raw.pids.empty()) ++given;
  if (!raw.tids.empty()) ++given;
  if (raw.all) ++given;
  if (!raw.comm.empty()) ++given;
  if (!raw.cgroup.empty()) ++given;
  const std::string targets =
      std::string("name one of -p PID, -t TID, -a, --comm NAME, --cgroup PATH and ") + other;
  if (given == 0) return Usage("nothing to collect: no target is named", targets);
  if (given > 1) return Usage("more than one kind of target is named", targets);
  std::vector<std::uint32_t> ids;
  for (const std::string& text : raw.pids) PROFD_TRY(ParseIds("-p", text, ids));
  for (const std::string& text : raw.tids) PROFD_TRY(ParseIds("-t", text, ids));
  v1::Target::Ids* list = nullptr;
  if (!raw.pids.empty()) list = target.mutable_pids();
  if (!raw.tids.empty()) list = target.mutable_tids();
  if (list != nullptr) list->mutable_id()->Add(ids.begin(), ids.end());
  if (raw.all) target.set_all(true);
  if (!raw.comm.empty()) target.set_comm(raw.comm.substr(0, kCommBytes));
  if (!raw.cgroup.empty()) target.set_cgroup(raw.cgroup);
  if (raw.children && raw.no_children)
    return Usage("--children and --no-children contradict each other", "leave one out");
  target.set_children(raw.children || (has_command && !raw.no_children));
  if (raw.kernel_threads && !raw.all && raw.comm.empty())
    return Usage("--kernel-threads needs -a or --comm", "a thread of the kernel is named with -p");
  target.set_kernel_threads(raw.kernel_threads);
  return target;
}

}  // namespace profd::client
