#include "daemon/symbolize/live/kernel_symbols.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

namespace profd::symbolize {

Result<KernelSymbol> LiveKernelSymbols::Find(std::uint64_t address) {
  if (reads() == 0) Refresh();
  std::optional<KernelSymbol> symbol = Lookup(address);
  if (!symbol && clock_.MonotonicNs() >= refresh_ns_) {
    Refresh();
    symbol = Lookup(address);
  }
  if (symbol) return *symbol;
  if (!symbols_) return symbols_.error();
  return Error{ErrorCode::kNotFound, std::string(kNoKernelSymbol), ""};
}

void LiveKernelSymbols::Prepare() {
  if (reads() != 0) return;
  Refresh();
  refresh_ns_ = 0;  // what has come since then is missed by the first question
}

std::optional<KernelSymbol> LiveKernelSymbols::Lookup(std::uint64_t address) const {
  return symbols_ ? symbols_->Find(address) : std::nullopt;
}

void LiveKernelSymbols::Refresh() {
  reads_.Add();
  refresh_ns_ = clock_.MonotonicNs() + kRefreshNs;
  const Result<std::string> text = proc_.Read("kallsyms");
  Result<Kallsyms> fresh = text ? Kallsyms::Parse(*text) : text.error();
  // What was known stays when the file can no longer be read.
  if (fresh || !symbols_) symbols_ = std::move(fresh);
}

Result<KernelSymbol> RecordingKernelSymbols::Find(std::uint64_t address) {
  Result<KernelSymbol> symbol = inner_.Find(address);
  if (!symbol) {
    if (!std::exchange(failure_sent_, true)) unsent_ += "! " + symbol.error().message + "\n";
    return symbol;
  }
  if (!seen_.insert(symbol->begin).second) return symbol;
  std::ostringstream line;
  line << std::hex << symbol->begin << ' ' << symbol->end << ' ' << symbol->module << ' '
       << symbol->name << '\n';
  unsent_ += line.str();
  return symbol;
}

void RecordingKernelSymbols::Flush() {
  if (unsent_.empty()) return;
  sink_(kKallsymsBlobKind, "", unsent_);
  unsent_.clear();
}

Result<void> ReplayKernelSymbols::AddBlob(std::string_view bytes) {
  std::istringstream lines{std::string(bytes)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("! ")) {
      reason_ = line.substr(2);
      continue;
    }
    std::istringstream fields(line);
    std::uint64_t begin = 0;
    Symbol symbol;
    if (!(fields >> std::hex >> begin >> symbol.end >> symbol.module >> symbol.name) ||
        begin >= symbol.end)
      return Error{ErrorCode::kCorrupt, "damaged record of kernel symbols", ""};
    symbols_.try_emplace(begin, std::move(symbol));
  }
  return {};
}

Result<KernelSymbol> ReplayKernelSymbols::Find(std::uint64_t address) {
  const auto after = symbols_.upper_bound(address);
  if (after != symbols_.begin()) {
    const auto& [begin, symbol] = *std::prev(after);
    if (address < symbol.end) return KernelSymbol{begin, symbol.end, symbol.name, symbol.module};
  }
  return Error{ErrorCode::kNotFound, reason_, ""};
}

}  // namespace profd::symbolize
