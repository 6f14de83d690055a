#include "daemon/source/probe/capabilities.h"

#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/rights/own_capabilities.h"

namespace profd::source {
namespace {

struct Need {
  int number;
  const char* name;
  bool admin_stands_for_it;
  bool required;
  const char* cost;
};

constexpr int kParanoidOfKernelOrg = 2;

constexpr std::array<Need, 6> kNeeds{{
    {CAP_BPF, "CAP_BPF", true, true, "nothing can be measured"},
    {CAP_PERFMON, "CAP_PERFMON", true, true, "nothing can be measured"},
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, false,
     "programs, memory maps and interpreters of other users' processes"},
    {CAP_SYSLOG, "CAP_SYSLOG", false, false, "names of kernel functions"},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, false,
     "names in files that profd's user may not read"},
    {CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", true, false,
     "names in files that were deleted or replaced while they ran"},
}};

bool Has(std::uint64_t effective, int number) { return (effective >> number & 1) != 0; }

bool Satisfied(std::uint64_t effective, const Need& need) {
  return Has(effective, need.number) || (need.admin_stands_for_it && Has(effective, CAP_SYS_ADMIN));
}

}  // namespace

std::uint64_t EffectiveCapabilities() {
  const auto own = OwnCapabilities();
  return own ? own->effective : 0;
}

std::vector<std::string> MissingCapabilities(std::uint64_t effective) {
  std::vector<std::string> missing;
  for (const Need& need : kNeeds)
    if (!Satisfied(effective, need)) missing.emplace_back(need.name);
  return missing;
}

Result<void> CheckCapabilities(std::uint64_t effective) {
  std::vector<std::string> missing;
  for (const Need& need : kNeeds)
    if (need.required && !Satisfied(effective, need)) missing.emplace_back(need.name);
  if (missing.empty()) return {};
  return Error{ErrorCode::kPermissionDenied,
               "no right to load BPF programs: " + JoinNames(missing) +
                   (missing.size() == 1 ? " is missing" : " are missing"),
               RightsHint()};
}

std::string CostOf(const std::string& capability) {
  for (const Need& need : kNeeds)
    if (capability == need.name) return need.cost;
  return {};
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text.append(i + 1 == names.size() ? " and " : ", ");
    text.append(names[i]);
  }
  return text;
}

std::string NameMissing(std::initializer_list<std::string_view> among) {
  std::vector<std::string> names;
  for (const auto& name : MissingCapabilities(EffectiveCapabilities()))
    if (std::ranges::find(among, name) != among.end()) names.push_back(name);
  if (names.empty()) return {};
  return ": " + JoinNames(names) + (names.size() == 1 ? " is missing" : " are missing");
}

std::string HintFor(std::uint64_t effective, int perf_event_paranoid) {
  if (perf_event_paranoid > kParanoidOfKernelOrg && MissingCapabilities(effective).empty() &&
      !Has(effective, CAP_SYS_ADMIN)) {
    return "kernel.perf_event_paranoid is " + std::to_string(perf_event_paranoid) +
           ", which asks for CAP_SYS_ADMIN: sysctl -w kernel.perf_event_paranoid=2";
  }
  std::vector<std::string> names;
  names.reserve(std::size(kNeeds));
  for (const Need& need : kNeeds) names.emplace_back(need.name);
  return "run it as root, or with " + JoinNames(names);
}

std::string RightsHint() {
  int paranoid = 0;
  const auto text = ProcFs().Read("sys/kernel/perf_event_paranoid");
  if (text) std::from_chars(text->data(), text->data() + text->size(), paranoid);
  return HintFor(EffectiveCapabilities(), paranoid);
}

}  // namespace profd::source
