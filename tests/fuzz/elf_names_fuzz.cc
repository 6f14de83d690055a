// Any bytes as the name of a symbol.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/symbolize/names/clean_text.h"
#include "daemon/symbolize/names/demangle.h"
#include "tests/fuzz/require.h"

namespace {

void RequireClean(std::string_view text) {
  using namespace profd;
  fuzz::Require(text.size() <= symbolize::kMaxTextBytes, "bound of a text");
  fuzz::Require(
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
      "no control characters");
  fuzz::Require(symbolize::CleanText(text) == text, "clean text is clean");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const symbolize::DemangledName demangled = symbolize::Demangle(name);
  RequireClean(demangled.name);
  RequireClean(demangled.full_name);
  RequireClean(symbolize::CleanText(name));
  fuzz::Require(!demangled.name.empty() || name.empty(), "a name stays a name");
  for (const std::size_t bound : {0u, 1u, 3u, 10u})
    fuzz::Require(symbolize::CleanText(name, bound).size() <= bound, "bound that was requested");
  return 0;
}
