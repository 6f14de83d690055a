#include "daemon/source/perf/cpu_list.h"

#include <algorithm>
#include <charconv>

#include "daemon/base/proc/proc_fs.h"

namespace profd::source {
namespace {

constexpr std::uint32_t kMaxCpu = 65'535;

bool TakeNumber(std::string_view* text, std::uint32_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc{} || *number > kMaxCpu) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return true;
}

bool TakeChar(char wanted, std::string_view* text) {
  if (text->empty() || text->front() != wanted) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

Result<std::vector<std::uint32_t>> ParseCpuList(std::string_view text) {
  const Error error{ErrorCode::kCorrupt, "'" + std::string(text) + "' is not a list of CPUs", ""};
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::vector<std::uint32_t> cpus;
  if (text.empty()) return cpus;
  do {
    std::uint32_t first = 0;
    if (!TakeNumber(&text, &first)) return error;
    std::uint32_t last = first;
    if (TakeChar('-', &text) && (!TakeNumber(&text, &last) || last < first)) return error;
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  } while (TakeChar(',', &text));
  if (!text.empty()) return error;
  std::ranges::sort(cpus);
  const auto repeated = std::ranges::unique(cpus);
  cpus.erase(repeated.begin(), repeated.end());
  return cpus;
}

Result<std::vector<std::uint32_t>> OnlineCpus(const std::string& sys_root) {
  const auto text = ProcFs(sys_root).Read("devices/system/cpu/online", 65'536);
  if (!text) return text.error();
  return ParseCpuList(*text);
}

}  // namespace profd::source
