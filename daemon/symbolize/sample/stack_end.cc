#include "daemon/symbolize/sample/stack_end.h"

#include "bpf/shared/events.h"

namespace profd::symbolize {
namespace {

std::string_view TruncatedName(std::uint64_t missing_bytes) {
  constexpr std::uint64_t kKiB = 1'024;
  if (missing_bytes == 0) return "[stack truncated]";
  if (missing_bytes <= 16 * kKiB) return "[stack truncated: up to 16 KiB missing]";
  if (missing_bytes <= 128 * kKiB) return "[stack truncated: up to 128 KiB missing]";
  if (missing_bytes <= 1'024 * kKiB) return "[stack truncated: up to 1 MiB missing]";
  return "[stack truncated: more than 1 MiB missing]";
}

}  // namespace

std::string_view StackEndName(std::uint16_t stack_flags, std::uint64_t missing_bytes) {
  if (stack_flags & PROFD_STACK_COMPLETE) return "";
  if (stack_flags & PROFD_STACK_USER_TRUNCATED) return TruncatedName(missing_bytes);
  if (stack_flags & PROFD_STACK_TABLES_NOT_READY) return "[tables not ready]";
  if (stack_flags & PROFD_STACK_USER_FAULT) return "[stack memory not readable]";
  if (stack_flags & PROFD_STACK_NO_MAPPING) return "[caller not in any code]";
  if (stack_flags & PROFD_STACK_REGISTER_LOST) return "[caller needs a lost register]";
  if (stack_flags & PROFD_STACK_NO_PROGRESS) return "[caller not above]";
  if (stack_flags & PROFD_STACK_NO_FRAME_POINTER) return "[no unwind rule, no frame pointer]";
  if (stack_flags & PROFD_STACK_32_BIT) return "[32-bit code]";
  return "";
}

}  // namespace profd::symbolize
