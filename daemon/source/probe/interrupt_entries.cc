#include "daemon/source/probe/interrupt_entries.h"

#include <charconv>
#include <string>

namespace profd::source {

InterruptEntries FindInterruptEntries(std::istream& kallsyms) {
  InterruptEntries entries;
  std::string address;
  std::string type;
  std::string name;
  std::string rest;
  while (kallsyms >> address >> type >> name && std::getline(kallsyms, rest)) {
    const bool first = name == "asm_common_interrupt" || name.starts_with("asm_sysvec_");
    const bool end = name == "__irqentry_text_end";
    if (!first && !end) continue;
    std::uint64_t value = 0;
    std::from_chars(address.data(), address.data() + address.size(), value, 16);
    if (first && (entries.begin == 0 || value < entries.begin)) entries.begin = value;
    if (!end) continue;
    entries.end = value;
    break;
  }
  // Addresses that are hidden are all 0.
  return entries.begin != 0 && entries.begin < entries.end ? entries : InterruptEntries{};
}

}  // namespace profd::source
