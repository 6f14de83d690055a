// RecordingWriter: writes a recording file while it grows.
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
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/recording/block.h"
#include "daemon/recording/recording_info.h"
#include "daemon/wire/event_source.h"

namespace profd::recording {

// Callers only copy into memory; a thread of its own compresses and writes, and what that thread
// cannot keep up with is dropped and counted. The file is good at every moment: whatever was
// written a flush interval ago is there after a crash, and a block that could not be written whole
// is cut off again. An error of the disk ends the recording, not the daemon: what comes after is
// counted as dropped, and Status() says why. All methods may be called from any thread.
class RecordingWriter {
 public:
  struct Options {
    std::size_t block_bytes = 256u << 10;  // before compression
    // Memory for what waits to be written, before compression.
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

  // Fails when the file cannot be made or begun: no such directory, no right, no room, no regular
  // file, or another process is recording into it. An existing file is replaced. Readable by its
  // owner alone: it tells what ran on the machine. `clock` must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<RecordingWriter>> Create(const std::string& path,
                                                                       const RecordingInfo& info,
                                                                       const Options& options,
                                                                       const Clock& clock);
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;
  ~RecordingWriter();

  // Never waits for the disk.
  void Write(const wire::RawEvent& event);
  // Something that is needed to interpret the events; a reader has it before the first of them.
  // Records of one kind and key add up, in the order in which they were added.
  void AddEnvironment(std::string_view kind, std::string_view key, std::string_view value);

  // Writes what is left and the footer. The error is the first one of the recording. What is
  // written later is dropped; closing twice is harmless.
  [[nodiscard]] Result<void> Close();
  [[nodiscard]] WriterStatus Status() const;

 private:
  RecordingWriter(UniqueFd fd, std::string path, const Options& options, const Clock& clock);

  void Run();
  void Seal(RawBlock& block);
  [[nodiscard]] bool Admit(const RawBlock& block, std::size_t bytes, std::size_t max_bytes) const;
  [[nodiscard]] std::size_t& QueuedBytes(BlockKind kind);
  void Drop(const RawBlock& block);
  // The first thread that writes is that of Create, later ones are that of Run.
  [[nodiscard]] Result<void> WriteBlock(const RawBlock& block);
  void WriteFooter();

  UniqueFd fd_;
  const std::string path_;
  const Options options_;
  const Clock& clock_;
  BlockCompressor compressor_;
  std::uint32_t next_block_ = 0;
  std::uint64_t file_bytes_ = 0;  // up to the end of the last whole block; writing thread

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  RawBlock events_;
  RawBlock environment_;
  std::deque<RawBlock> queue_;
  std::size_t queued_event_bytes_ = 0;
  std::size_t queued_environment_bytes_ = 0;
  WriterStatus status_;
  bool closing_ = false;

  std::mutex close_mutex_;  // of the thread
  std::thread thread_;
};

}  // namespace profd::recording
