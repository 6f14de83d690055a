// WindowCodec: threads, clocks and samples of one window as bytes. FORMAT.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"

namespace profd::store {

// Numbers of the store for what a window's profile has by index.
struct WindowNumbers {
  std::vector<std::uint32_t> process_of;  // by index into processes
  std::vector<std::uint32_t> thread_of;   // by index into threads
};

// `window.samples` hold the store's numbers in `node`; equal ones have been summed. Exact: clocks,
// begins, ends, and the sum of weights of each thread and state. Of a single sample, the time is
// kept to 1/16384 of the window, and weights to 2^17 ns (131 us), raw ones to half of that.
[[nodiscard]] Result<std::string> EncodeWindow(const aggregate::Profile& window,
                                               const WindowNumbers& numbers, int level);

// One thread of a window that is read back; its name and process stand elsewhere in the store.
struct StoredThread {
  std::uint32_t number = 0;
  std::uint32_t process = 0;
  aggregate::ProfileThread thread;  // key, comm and process index are not set
};

// What of a window is wanted: called once for each of its threads, in their order. Samples of
// others are skipped.
using WantsThread = std::function<bool(const StoredThread& thread)>;
struct StoredWindow {
  std::vector<StoredThread> threads;              // the wanted ones
  std::vector<aggregate::ProfileSample> samples;  // `thread` is an index into threads
};

// `window` has start and end. Safe on any bytes: kCorrupt for what EncodeWindow did not make.
[[nodiscard]] Result<StoredWindow> DecodeWindow(std::span<const std::byte> bytes,
                                                std::uint64_t start_ns, std::uint64_t end_ns,
                                                const WantsThread& wants);

}  // namespace profd::store
