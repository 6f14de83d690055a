// Any bytes as perf-PID.map and as jit-PID.dump, whole and in two pieces.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/symbolize/live/jit_map.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool dump : {false, true}) {
    symbolize::JitMap whole;
    const std::size_t done =
        dump ? symbolize::ReadJitDump(bytes, true, whole) : symbolize::ReadPerfMap(bytes, whole);
    fuzz::Require(done <= size, "no more than there is");
    fuzz::Require(whole.bytes() <= symbolize::JitMap::kMaxBytes, "bound of memory");
    symbolize::JitMap pieces;
    const std::string_view first = bytes.substr(0, size / 2);
    const std::size_t taken =
        dump ? symbolize::ReadJitDump(first, true, pieces) : symbolize::ReadPerfMap(first, pieces);
    fuzz::Require(taken <= first.size(), "no more than there is");
    for (const std::uint64_t address :
         {std::uint64_t{0}, std::uint64_t{0x1000}, ~std::uint64_t{0}}) {
      const auto symbol = whole.Find(address);
      if (!symbol) continue;
      fuzz::Require(symbol->begin <= address && address < symbol->end, "the code holds it");
      fuzz::Require(!symbol->name.empty(), "a name");
    }
  }
  return 0;
}
