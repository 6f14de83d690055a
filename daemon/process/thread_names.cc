#include "daemon/process/thread_names.h"

#include <charconv>

namespace profd::process {

void ThreadNames::Set(const ThreadKey& key, std::uint64_t time_ns, std::string_view comm) {
  Thread* known = threads_.Find(key.tid);
  Thread& thread = known != nullptr ? *known : threads_.Put(key.tid, {});
  const bool other = key.start_ns != 0 && thread.start_ns != 0 && key.start_ns != thread.start_ns;
  if (other ? key.start_ns < thread.start_ns : time_ns < thread.since_ns) return;
  if (key.start_ns != 0) thread.start_ns = key.start_ns;
  thread.since_ns = time_ns;
  thread.comm = comm;
}

std::string ThreadNames::Find(const ThreadKey& key) const {
  const Thread* thread = threads_.Peek(key.tid);
  if (thread == nullptr) return {};
  return thread->start_ns == 0 || thread->start_ns == key.start_ns ? thread->comm : std::string();
}

void ThreadNames::Forget(const ThreadKey& key) {
  const Thread* thread = threads_.Peek(key.tid);
  if (thread != nullptr && thread->start_ns <= key.start_ns) threads_.Erase(key.tid);
}

void ParseThreadNames(std::string_view text,
                      const std::function<void(std::uint32_t tid, std::string_view comm)>& sink) {
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    std::uint32_t tid = 0;
    const char* end_of_line = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), end_of_line, tid);
    if (error != std::errc{} || end == end_of_line || *end != '\t') continue;
    sink(tid, line.substr(static_cast<std::size_t>(end + 1 - line.data())));
  }
}

}  // namespace profd::process
