// Any text as /proc/kallsyms, and as what a recording keeps of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/symbolize/live/kernel_symbols.h"
#include "daemon/symbolize/names/kallsyms.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<symbolize::Kallsyms> kallsyms = symbolize::Kallsyms::Parse(text);
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{0xffffffff81000004}, ~std::uint64_t{0}}) {
    if (!kallsyms) break;
    const auto symbol = kallsyms->Find(address);
    if (!symbol) continue;
    fuzz::Require(symbol->begin <= address && address < symbol->end, "it holds the address");
    fuzz::Require(!symbol->name.empty() && !symbol->module.empty(), "and has names");
  }
  symbolize::ReplayKernelSymbols replay;
  if (replay.AddBlob(text)) (void)replay.Find(0xffffffff81000004);
  return 0;
}
