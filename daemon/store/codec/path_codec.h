// PathCodec: encodes the paths of one window as bytes, and decodes them. FORMAT.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/store/codec/columns.h"

namespace profd::store {

// What the codec of the window has found: where each thing of `window` stands in its columns.
struct PathPlaces {
  std::span<const std::uint32_t> position_of;    // by index into threads
  std::span<const std::uint32_t> blocked_paths;  // `path` of blocked samples, in their order there
};

// `window` has wakers; the stacks of its paths have the store's numbers.
[[nodiscard]] Result<std::string> EncodePaths(const aggregate::Profile& window,
                                              const PathPlaces& places, int level);

// A thread on paths: one of the window's own threads, or a name.
struct DecodedPathThread {
  std::optional<std::uint32_t> position;  // among the threads of the window
  std::string comm;                       // without a position
  std::string process_comm;
};

// Decodes what EncodePaths has made, beside the decoder of the window. Safe on any bytes, and
// bounded by their number: a number that EncodePaths never gives makes the window damaged. Used
// once.
class PathDecoder {
 public:
  // No thread of a profile has a longer name: these are the kernel's.
  static constexpr std::size_t kMaxNameBytes = 64;

  // kCorrupt: EncodePaths did not make them.
  [[nodiscard]] static Result<PathDecoder> From(std::span<const std::byte> bytes);

  // Decodes all but what samples have. False: damaged. `threads`: of the window.
  [[nodiscard]] bool Read(std::uint64_t threads);
  // The path of the next blocked sample. Nothing: damaged.
  [[nodiscard]] std::optional<std::uint32_t> NextSample();
  // Whether all bytes were used, and none was missing.
  [[nodiscard]] bool IsAtEnd() const;

  [[nodiscard]] std::vector<aggregate::PathNode>& paths() { return paths_; }
  [[nodiscard]] std::vector<DecodedPathThread>& threads() { return threads_; }
  // `thread` is a position among the threads of the window.
  [[nodiscard]] std::vector<aggregate::WakeUpCount>& wake_ups() { return wake_ups_; }

 private:
  explicit PathDecoder(UnpackedColumns columns);

  [[nodiscard]] bool ReadThreads(std::uint64_t count, std::uint64_t threads);
  [[nodiscard]] bool ReadPaths(std::uint64_t count);
  [[nodiscard]] bool ReadWakeUps(std::uint64_t count, std::uint64_t threads);
  [[nodiscard]] bool ReadName(std::string& name);

  UnpackedColumns bytes_;
  std::vector<ColumnReader> columns_;  // of bytes_
  std::vector<aggregate::PathNode> paths_;
  std::vector<DecodedPathThread> threads_;
  std::vector<aggregate::WakeUpCount> wake_ups_;
  std::uint64_t last_path_ = 0;
};

}  // namespace profd::store
