#include "daemon/source/libbpf_log.h"

#include <bpf/libbpf.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace profd::source {
namespace {

constexpr std::size_t kMaxBytes = 4'096;

thread_local std::string* log_of_this_thread = nullptr;

int Keep(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || log_of_this_thread == nullptr) return 0;
  std::array<char, kMaxBytes> line;
  const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  if (length <= 0) return 0;
  log_of_this_thread->append(line.data());
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
