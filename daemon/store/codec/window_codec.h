// WindowCodec: encodes threads, clocks and samples of one window as bytes, and decodes them.
// FORMAT.md has the layout. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"

namespace profd::store {

// The numbers that the store has for the processes and threads of a window.
struct WindowNumbers {
  std::vector<std::uint32_t> process_of;  // by index into processes
  std::vector<std::uint32_t> thread_of;   // by index into threads
};

// A window as the store keeps it.
struct EncodedWindow {
  std::string data;
  std::optional<std::string> paths;  // of a window with wakers
};

// `window.samples` and `window.paths` have the store's numbers in `node`, and equal ones are
// summed. Clocks, begins, ends and the sums of weights per thread and state stay exact. The time of
// a single sample is kept to 1/16384 of the window, its weight to 2^17 ns (131 us), its raw weight
// to half of that.
[[nodiscard]] Result<EncodedWindow> EncodeWindow(const aggregate::Profile& window,
                                                 const WindowNumbers& numbers, int level);

// One thread of a decoded window. Its name and process are in other tables of the store.
struct StoredThread {
  std::uint32_t number = 0;
  std::uint32_t process = 0;
  std::uint32_t process_group_size = 0;  // of its process
  aggregate::ProfileThread thread;       // key, comm and process index are not set
};

// Called once for each thread of a window, in their order. Samples of threads for which it returns
// false are skipped.
using WantsThread = std::function<bool(const StoredThread& thread)>;
// A thread on paths: a row of the window, wanted or not, or only a name.
struct StoredPathThread {
  bool is_row = false;
  std::uint32_t number = 0;   // of a row, as in StoredThread
  std::uint32_t process = 0;  // the same
  std::string comm;           // of others
  std::string process_comm;
};
struct StoredWindow {
  std::vector<StoredThread> threads;              // the wanted ones
  std::vector<aggregate::ProfileSample> samples;  // `thread` is an index into threads
  bool wakers = false;                            // else the next three are empty
  std::vector<aggregate::PathNode> paths;         // all of the window's
  std::vector<StoredPathThread> path_threads;     // the same
  std::vector<aggregate::WakeUpCount> wake_ups;   // of the wanted threads, by their index
};

struct EncodedBytes {
  std::span<const std::byte> data;
  std::optional<std::span<const std::byte>> paths;  // none: their samples have no paths
};
// Safe on any bytes; kCorrupt: EncodeWindow did not make them.
[[nodiscard]] Result<StoredWindow> DecodeWindow(const EncodedBytes& bytes, std::uint64_t start_ns,
                                                std::uint64_t end_ns, const WantsThread& wants);

}  // namespace profd::store
