#include "daemon/source/bpf/libbpf_log.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace profd::source {
namespace {

constexpr std::size_t kMaxBytes = 4'096;

thread_local std::string* log_of_this_thread = nullptr;

int Keep(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || log_of_this_thread == nullptr) return 0;
  // One message holds all that the verifier wrote, and why it refused stands at its end.
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  if (length > 0) (void)std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  if (length <= 0) return 0;
  text.pop_back();
  log_of_this_thread->append(text);
  if (log_of_this_thread->size() > kMaxBytes)
    log_of_this_thread->erase(0, log_of_this_thread->size() - kMaxBytes);
  return length;
}

}  // namespace

LibbpfLog::LibbpfLog() {
  log_of_this_thread = &text_;
  ::libbpf_set_print(Keep);
}

LibbpfLog::~LibbpfLog() { log_of_this_thread = nullptr; }

}  // namespace profd::source
