// RecordingWriter: writes events and their environment into a recording file.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/recording/block.h"
#include "daemon/recording/recording_info.h"
#include "daemon/wire/event_source.h"

namespace profd::recording {

// Callers only copy into memory. The writer's own thread compresses and writes; what it cannot keep
// up with is dropped and counted. The file is valid at every moment: events from before the last
// flush interval are there after a crash, and a block that was not written completely is removed
// again. An error of the disk ends the recording but not the daemon: all later events count as
// dropped, and Status() has the error. All methods may be called from any thread.
class RecordingWriter {
 public:
  struct Options {
    std::size_t block_bytes = 256u << 10;  // before compression
    // Limits for the memory of blocks that wait to be written.
    std::size_t max_queued_event_bytes = 32u << 20;
    std::size_t max_queued_environment_bytes = 128u << 20;
    std::chrono::milliseconds flush_interval{1'000};
    int compression_level = 1;
  };

  struct WriterStatus {
    RecordingTotals totals;  // so far
    std::uint64_t file_bytes = 0;
    std::optional<Error> failure;  // what ended the recording
  };

  // Replaces an existing file. The file is readable by its owner only, because it shows what ran on
  // the machine. It fails if the file cannot be made or written, is not a regular file, or if
  // another process records into it (kUnavailable). `clock` must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<RecordingWriter>> Create(const std::string& path,
                                                                       const RecordingInfo& info,
                                                                       const Options& options,
                                                                       const Clock& clock);
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;
  ~RecordingWriter();

  // Never waits for the disk.
  void Write(const wire::RawEvent& event);
  // Adds data that is needed to interpret the events. A reader has all of it before the first
  // event. Records of one kind and key add up, in the order in which they were added.
  void AddEnvironment(std::string_view kind, std::string_view key, std::string_view value);

  // Writes all waiting blocks and the footer. Returns the first error of the recording, also that
  // this was not done at `until`; the destructor waits for it. Later events are dropped. Closing
  // twice is harmless.
  [[nodiscard]] Result<void> CloseUntil(std::chrono::steady_clock::time_point until);
  [[nodiscard]] Result<void> Close() {
    return CloseUntil(std::chrono::steady_clock::time_point::max());
  }
  [[nodiscard]] WriterStatus Status() const;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  RecordingWriter(UniqueFd fd, std::string path, const Options& options, const Clock& clock);

  void Run();
  void Seal(RawBlock& block);
  [[nodiscard]] bool Admit(const RawBlock& block, std::size_t bytes, std::size_t max_bytes) const;
  [[nodiscard]] std::size_t& QueuedBytes(BlockKind kind);
  void Drop(const RawBlock& block);
  // Create calls this for the first block, before the thread starts. Then only the thread does.
  [[nodiscard]] Result<void> WriteBlock(const RawBlock& block);
  void WriteFooter();

  UniqueFd fd_;
  const std::string path_;
  const Options options_;
  const Clock& clock_;
  BlockCompressor compressor_;
  std::uint32_t next_block_ = 0;
  std::uint64_t file_bytes_ = 0;  // to the end of the last whole block; used by the writing thread

  mutable std::mutex mutex_;  // guards all members down to close_mutex_
  std::condition_variable wake_;
  std::condition_variable done_;
  RawBlock events_;
  RawBlock environment_;
  std::deque<RawBlock> queue_;
  std::size_t queued_event_bytes_ = 0;
  std::size_t queued_environment_bytes_ = 0;
  WriterStatus status_;
  bool closing_ = false;
  bool ended_ = true;  // the thread; or it has not begun

  // A disk that does not answer costs events of the recording, which are counted, and no profile.
  Heartbeat beat_{"recording", Heartbeat::NeededFor::kExtras};
  std::mutex close_mutex_;  // guards thread_
  std::thread thread_;
};

}  // namespace profd::recording
