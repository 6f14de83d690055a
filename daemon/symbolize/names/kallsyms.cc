#include "daemon/symbolize/names/kallsyms.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace profd::symbolize {
namespace {

struct Line {
  std::uint64_t address = 0;
  char type = 0;
  std::string_view name;
  std::string_view module;  // "[...]", or "" for the kernel itself
};

bool IsText(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

// "ffffffff81000000 T _stext" or "ffffffffc0201000 t nft_do_chain\t[nf_tables]"
std::optional<Line> ParseLine(std::string_view text) {
  Line line;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, line.address, 16);
  if (error != std::errc{} || end - after < 4 || after[0] != ' ' || after[2] != ' ') {
    return std::nullopt;
  }
  line.type = after[1];
  const std::string_view rest(after + 3, static_cast<std::size_t>(end - after - 3));
  line.name = rest.substr(0, rest.find('\t'));
  if (line.name.size() < rest.size()) line.module = rest.substr(line.name.size() + 1);
  if (line.name.empty() || line.name.find('\0') != std::string_view::npos) return std::nullopt;
  return line;
}

// The smaller, the better a name for an address.
auto Rank(const Line& line) {
  const bool local = line.type == 't';
  const bool weak = line.type == 'w' || line.type == 'W';
  const std::size_t underscores = std::min(line.name.find_first_not_of('_'), line.name.size());
  return std::tuple(!IsText(line.type), local, underscores, weak, line.name.size(), line.name);
}

}  // namespace

Result<Kallsyms> Kallsyms::Parse(std::string_view text) {
  std::vector<Line> lines;
  bool any_address = false;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    if (const auto line = ParseLine(text.substr(0, length))) {
      any_address = any_address || line->address != 0;
      lines.push_back(*line);
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  if (lines.empty()) return Error{ErrorCode::kCorrupt, "/proc/kallsyms lists no symbols", ""};
  if (!any_address) {
    return Error{ErrorCode::kPermissionDenied,
                 "kernel addresses are hidden: needs CAP_SYSLOG or kernel.kptr_restrict=0",
                 "run profd with CAP_SYSLOG, or: sysctl kernel.kptr_restrict=0"};
  }
  std::ranges::sort(lines, [](const Line& a, const Line& b) {
    return a.address != b.address ? a.address < b.address : Rank(a) < Rank(b);
  });

  Kallsyms kallsyms;
  std::unordered_map<std::string_view, std::uint16_t> module_index;
  for (std::size_t i = 0; i < lines.size();) {
    const Line& line = lines[i];
    while (i < lines.size() && lines[i].address == line.address) ++i;
    if (!IsText(line.type)) continue;
    const std::uint64_t next =
        i < lines.size() ? lines[i].address : std::numeric_limits<std::uint64_t>::max();
    const auto index = static_cast<std::uint16_t>(
        std::min<std::size_t>(kallsyms.modules_.size(), std::numeric_limits<std::uint16_t>::max()));
    const auto [module, added] = module_index.try_emplace(line.module, index);
    if (added && index == kallsyms.modules_.size())
      kallsyms.modules_.emplace_back(line.module.empty() ? "[kernel]" : line.module);
    kallsyms.entries_.push_back(Entry{
        line.address, static_cast<std::uint32_t>(std::min(next - line.address, kMaxFunctionBytes)),
        static_cast<std::uint32_t>(kallsyms.names_.size()), module->second});
    kallsyms.names_.append(line.name).push_back('\0');
  }
  kallsyms.entries_.shrink_to_fit();
  kallsyms.names_.shrink_to_fit();
  return kallsyms;
}

std::optional<KernelSymbol> Kallsyms::Find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  if (after == entries_.begin()) return std::nullopt;
  const Entry& entry = *std::prev(after);
  if (address - entry.begin >= entry.bytes) return std::nullopt;
  const std::string_view module =
      entry.module < modules_.size() ? std::string_view(modules_[entry.module]) : "[kernel]";
  return KernelSymbol{entry.begin, entry.begin + entry.bytes, names_.c_str() + entry.name, module};
}

}  // namespace profd::symbolize
