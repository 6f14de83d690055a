#include "daemon/elf/symbols/plt.h"

#include <cstring>

namespace profd::elf {
namespace {

constexpr std::string_view kEndbr64 = "\xf3\x0f\x1e\xfa";
constexpr std::string_view kPushIndex = "\x68";
constexpr std::string_view kBnd = "\xf2";
constexpr std::string_view kJumpThroughGot = "\xff\x25";

std::int32_t Number32(std::string_view bytes) {
  std::int32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace

std::optional<PltJump> DecodePltStub(std::string_view code, std::uint64_t vaddr) {
  std::string_view rest = code;
  if (rest.starts_with(kEndbr64)) rest.remove_prefix(kEndbr64.size());
  if (rest.starts_with(kPushIndex) && rest.size() >= kPushIndex.size() + 4) {
    return PltJump{true, static_cast<std::uint32_t>(Number32(rest.substr(kPushIndex.size())))};
  }
  if (rest.starts_with(kBnd)) rest.remove_prefix(kBnd.size());
  if (!rest.starts_with(kJumpThroughGot) || rest.size() < kJumpThroughGot.size() + 4)
    return std::nullopt;
  const std::int64_t distance = Number32(rest.substr(kJumpThroughGot.size()));
  const std::uint64_t next = vaddr + (code.size() - rest.size()) + kJumpThroughGot.size() + 4;
  return PltJump{false, next + static_cast<std::uint64_t>(distance)};
}

}  // namespace profd::elf
