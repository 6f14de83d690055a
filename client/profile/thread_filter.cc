#include "client/profile/thread_filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "client/profile/copy_sample.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kLeftOut = ~0u;

Result<std::uint32_t> ParseId(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size() && id != 0) return id;
  return Error{ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is no number of a process",
               ""};
}

constexpr std::array<std::string_view, 7> kTexts{"comm", "exe",  "cgroup", "container",
                                                 "unit", "user", "thread"};

bool Fits(std::string_view key, const std::string& value, const v1::Process& process,
          const v1::Thread& thread) {
  if (key == "comm") return value == process.comm();
  if (key == "cgroup") return value == process.cgroup();
  if (key == "container") return value == process.container();
  if (key == "thread") return value == thread.comm();
  if (key == "unit") return value == process.unit() || value + ".service" == process.unit();
  if (key == "user")
    return value == process.user() || (process.has_uid() && value == std::to_string(process.uid()));
  const std::string& path = process.executable();
  return value == path || value == path.substr(path.rfind('/') + 1);
}

bool Holds(const ThreadFilter& filter, const v1::Profile& profile, const v1::Thread& thread) {
  const v1::Process& process = profile.processes(static_cast<int>(thread.process()));
  return (!filter.pid || *filter.pid == process.pid()) &&
         (!filter.tid || *filter.tid == thread.tid()) &&
         std::ranges::all_of(filter.texts, [&](const auto& text) {
           return Fits(text.first, text.second, process, thread);
         });
}

}  // namespace

Result<ThreadFilter> ThreadFilter::Parse(std::string_view text) {
  ThreadFilter filter;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = part.substr(std::min(part.size(), equals + 1));
    if (key == "pid" || key == "tid") {
      const Result<std::uint32_t> id = ParseId(value);
      if (!id) return id.error();
      (key == "pid" ? filter.pid : filter.tid) = *id;
    } else if (std::ranges::find(kTexts, key) != kTexts.end() && !value.empty()) {
      filter.texts.emplace_back(key, value);
    } else {
      return Error{
          ErrorCode::kInvalidArgument, "'" + std::string(part) + "' is no filter",
          "write pid=N or tid=N, or comm, exe, cgroup, container, unit, user or thread=NAME, "
          "with a comma between two"};
    }
  }
  return filter;
}

Result<v1::Profile> OnlyThreads(const v1::Profile& profile, const ThreadFilter& filter) {
  v1::Profile only = profile;
  only.clear_threads();
  only.clear_processes();
  only.clear_samples();
  std::vector<std::uint32_t> processes(static_cast<std::size_t>(profile.processes_size()),
                                       kLeftOut);
  std::vector<std::uint32_t> threads;
  for (const v1::Thread& thread : profile.threads()) {
    threads.push_back(kLeftOut);
    if (!Holds(filter, profile, thread)) continue;
    std::uint32_t& process = processes[thread.process()];
    if (process == kLeftOut) {
      process = static_cast<std::uint32_t>(only.processes_size());
      *only.add_processes() = profile.processes(static_cast<int>(thread.process()));
    }
    threads.back() = static_cast<std::uint32_t>(only.threads_size());
    *only.add_threads() = thread;
    only.mutable_threads()->rbegin()->set_process(process);
  }
  if (only.threads_size() == 0)
    return Error{ErrorCode::kNotFound, "no data: no thread is left by the filter", ""};
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const std::uint32_t thread = threads[samples.thread(i)];
    if (thread == kLeftOut) continue;
    CopySample(samples, i, *only.mutable_samples());
    only.mutable_samples()->mutable_thread()->Set(only.samples().thread_size() - 1, thread);
  }
  return only;
}

}  // namespace profd::client
