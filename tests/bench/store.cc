// A day of history from some minutes of one: bench_store SOURCE.db FILE.db HOURS
// The windows of SOURCE are put again and again, each time as if they went on where the last ended;
// processes that began within SOURCE are new ones each time. Prints "name value" lines.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "daemon/store/sqlite/store_reader.h"
#include "tests/support/manual_clock.h"

namespace profd::store {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3'600 * kSecond;
constexpr std::uint64_t kFirstUnixNs = 1'700'000'000 * kSecond;
constexpr int kRequested = 5;

[[noreturn]] void Fail(const Error& error) {
  std::fprintf(stderr, "bench_store: %s\n", error.message.c_str());
  std::exit(1);
}

template <typename Value>
Value Must(Result<Value> result) {
  if (!result) Fail(result.error());
  return *std::move(result);
}

double ResidentMiB() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  in >> total >> resident;
  return static_cast<double>(resident) * 4'096 / (1u << 20);
}

std::vector<aggregate::Profile> WindowsOf(const SqliteOptions& options) {
  const SystemClock clock;
  const auto store = Must(SqliteStore::Open(options, clock));
  auto database = Must(Database::Open(options.path, false, nullptr));
  const Filter all;
  StoreReader reader(database, all);
  std::vector<aggregate::Profile> windows;
  for (const WindowRow& row : Must(reader.Windows({})))
    windows.push_back(
        Must(store->Query({row.head.start_unix_ns + 1, row.head.start_unix_ns + 2}, all)));
  return windows;
}

// Goes through the windows again and again.
class Repeater {
 public:
  explicit Repeater(std::vector<aggregate::Profile> windows) : windows_(std::move(windows)) {
    for (const auto& window : windows_)
      for (const auto& thread : window.threads)
        if (thread.began) new_threads_.emplace(thread.key, true);
    for (const auto& window : windows_)
      for (const auto& process : window.processes)
        if (process.key.start_ns >= windows_.front().start_ns)
          new_processes_.emplace(process.key, true);
  }

  aggregate::Profile Next() {
    aggregate::Profile window = windows_[at_];
    const std::uint64_t length_ns = window.end_ns - window.start_ns;
    const std::uint64_t shift_ns = now_ns_ - window.start_ns;
    window.start_ns += shift_ns;
    window.end_ns += shift_ns;
    window.start_unix_ns = kFirstUnixNs + now_ns_;
    for (auto& process : window.processes) Renew(process.key, new_processes_);
    for (auto& thread : window.threads) {
      Renew(thread.key, new_threads_);
      thread.begin_ns += shift_ns;
      thread.end_ns += shift_ns;
    }
    for (auto& sample : window.samples) sample.time_ns += shift_ns;
    for (auto& period : window.periods) period.time_ns += shift_ns;
    now_ns_ += length_ns;
    if (++at_ == windows_.size()) {
      at_ = 0;
      ++pass_;
    }
    return window;
  }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

 private:
  // As another process of the same number: it started later.
  template <typename Key>
  void Renew(Key& key, const std::map<Key, bool>& renewed) const {
    if (renewed.contains(key)) key.start_ns += pass_ * kHour;
  }

  const std::vector<aggregate::Profile> windows_;
  std::map<ThreadKey, bool> new_threads_;
  std::map<ProcessKey, bool> new_processes_;
  std::size_t at_ = 0;
  std::uint64_t pass_ = 0;
  std::uint64_t now_ns_ = kHour;
};

struct Requested {
  double median_ms = 0;
  std::size_t samples = 0;
};

Requested Ask(const SqliteStore& store, const TimeRange& range, const Filter& filter) {
  std::vector<double> took;
  Requested requested;
  for (int i = 0; i < kRequested; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    requested.samples = Must(store.Query(range, filter)).samples.size();
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::nth_element(took, took.begin() + kRequested / 2);
  requested.median_ms = took[kRequested / 2];
  return requested;
}

std::uint32_t Busiest(const std::vector<aggregate::Profile>& windows) {
  std::map<std::uint32_t, std::uint64_t> samples;
  for (const auto& window : windows)
    for (const auto& sample : window.samples)
      ++samples[window.processes[window.threads[sample.thread].process].key.pid];
  return std::ranges::max_element(samples, {}, [](const auto& one) { return one.second; })->first;
}

int Main(const std::string& source, const std::string& path, std::uint64_t hours) {
  SqliteOptions from;
  from.path = source;
  from.compact_ns = 0;
  auto windows = WindowsOf(from);
  if (windows.empty()) Fail(Error{ErrorCode::kNotFound, "no windows in " + source, ""});
  Filter busiest;
  busiest.pids = {Busiest(windows)};
  std::printf("source_windows %zu\nprocesses %zu\nthreads %zu\n", windows.size(),
              windows.back().processes.size(), windows.back().threads.size());

  Repeater repeater(std::move(windows));
  test::ManualClock clock;
  SqliteOptions to;
  to.path = path;
  clock.Set(repeater.now_ns(), kFirstUnixNs + repeater.now_ns());
  const auto store = Must(SqliteStore::Open(to, clock));
  std::uint64_t marks = 0;
  std::uint64_t samples = 0;
  std::vector<double> puts_ms;
  for (std::uint64_t hour = 1; hour <= hours; ++hour) {
    const std::uint64_t until_ns = kHour * (hour + 1);
    while (repeater.now_ns() < until_ns) {
      const auto window = repeater.Next();
      clock.Set(repeater.now_ns(), kFirstUnixNs + repeater.now_ns());
      for (const auto& sample : window.samples) marks += sample.count;
      samples += window.samples.size();
      const auto begin = std::chrono::steady_clock::now();
      if (const auto put = store->Put(window); !put) Fail(put.error());
      puts_ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
              .count());
    }
    std::printf("hour_%llu_mib %.1f\nhour_%llu_resident_mib %.1f\n",
                static_cast<unsigned long long>(hour),
                static_cast<double>(store->Status().bytes) / (1u << 20),
                static_cast<unsigned long long>(hour), ResidentMiB());
    std::fflush(stdout);
  }
  auto database = Must(Database::Open(path, false, nullptr));
  const auto stored = Must(database.Pragma("SELECT sum(samples) FROM window"));
  const auto payload = Must(database.Pragma("SELECT sum(length(data)) FROM payload"));
  std::printf("stored_samples %lld\npayload_bytes_per_sample %.2f\n",
              static_cast<long long>(stored),
              static_cast<double>(payload) / static_cast<double>(stored));
  const double bytes = static_cast<double>(store->Status().bytes);
  std::printf("bytes %.0f\nmarks %llu\nsamples %llu\nbytes_per_mark %.2f\nbytes_per_sample %.2f\n",
              bytes, static_cast<unsigned long long>(marks),
              static_cast<unsigned long long>(samples), bytes / static_cast<double>(marks),
              bytes / static_cast<double>(stored));
  std::ranges::sort(puts_ms);
  std::printf("put_median_ms %.1f\nput_most_ms %.1f\n", puts_ms[puts_ms.size() / 2],
              puts_ms.back());
  const std::uint64_t end_unix_ns = kFirstUnixNs + repeater.now_ns();
  const TimeRange hour{end_unix_ns - kHour, end_unix_ns};
  const auto one = Ask(*store, hour, busiest);
  const auto host = Ask(*store, hour, {});
  const auto day = Ask(*store, {}, {});
  std::printf(
      "hour_of_process_ms %.0f\nhour_of_process_samples %zu\nhour_of_host_ms %.0f\n"
      "hour_of_host_samples %zu\nall_of_host_ms %.0f\nall_of_host_samples %zu\n",
      one.median_ms, one.samples, host.median_ms, host.samples, day.median_ms, day.samples);
  return 0;
}

}  // namespace
}  // namespace profd::store

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: bench_store SOURCE.db FILE.db HOURS\n", stderr);
    return 2;
  }
  return profd::store::Main(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
}
