#include "daemon/process/thread_names.h"

#include <charconv>
#include <utility>
#include <vector>

#include "daemon/base/oldest.h"

namespace profd::process {

void ThreadNames::Set(const ThreadKey& key, std::uint64_t time_ns, std::string_view comm) {
  auto found = threads_.find(key.tid);
  if (found == threads_.end()) {
    if (threads_.size() >= max_threads_) MakeRoom();
    found = threads_.emplace(key.tid, Thread{}).first;
  }
  Thread& thread = found->second;
  const bool other = key.start_ns != 0 && thread.start_ns != 0 && key.start_ns != thread.start_ns;
  if (other ? key.start_ns < thread.start_ns : time_ns < thread.since_ns) return;
  if (key.start_ns != 0) thread.start_ns = key.start_ns;
  thread.since_ns = time_ns;
  thread.comm = comm;
}

std::string ThreadNames::Find(const ThreadKey& key) const {
  const auto found = threads_.find(key.tid);
  if (found == threads_.end()) return {};
  const Thread& thread = found->second;
  return thread.start_ns == 0 || thread.start_ns == key.start_ns ? thread.comm : std::string();
}

void ThreadNames::Forget(const ThreadKey& key) {
  const auto found = threads_.find(key.tid);
  if (found != threads_.end() && found->second.start_ns <= key.start_ns) threads_.erase(found);
}

void ThreadNames::MakeRoom() {
  std::vector<std::uint64_t> times;
  times.reserve(threads_.size());
  for (const auto& [tid, thread] : threads_) times.push_back(thread.since_ns);
  const std::uint64_t limit = OldestTenth(std::move(times));
  forgotten_ +=
      std::erase_if(threads_, [limit](const auto& t) { return t.second.since_ns <= limit; });
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
