// RecordingReader: reads a recording file, which may be complete or cut short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/recording/block.h"
#include "daemon/recording/recording_info.h"
#include "daemon/wire/event_source.h"

namespace profd::recording {

struct ReaderLimits {
  std::size_t environment_bytes = 512u << 20;  // kept in memory
};

// Open() walks all blocks of the file once and reads the environment. NextEvents() then reads one
// block of events at a time. The file is hostile: every length is checked, the limits and
// kMaxBlockBytes bound the memory, and an error names the byte at which the file is wrong. A file
// without a footer (profd was killed, or still records) is read up to its last whole block. A
// damaged file is an error. Used by one thread.
class RecordingReader {
 public:
  // kCorrupt: not a recording, or damaged. kUnsupported: another version of profd made it.
  // kExhausted: its environment is larger than the limit.
  [[nodiscard]] static Result<std::unique_ptr<RecordingReader>> Open(
      const std::string& path, const ReaderLimits& limits = {});

  [[nodiscard]] const RecordingInfo& info() const { return info_; }
  // Nothing: the file was cut short.
  [[nodiscard]] const std::optional<RecordingTotals>& totals() const { return totals_; }
  // A message that says where the file was cut short; "": it is complete.
  [[nodiscard]] const std::string& cut() const { return cut_; }

  // Visits the environment records of one kind, in the order of the recording.
  using EnvironmentSink = std::function<void(std::string_view key, std::string_view value)>;
  void ForEachEnvironment(std::string_view kind, const EnvironmentSink& sink) const;

  // Delivers the events of the next block, in the order of the recording. Each event begins at an
  // address that is a multiple of 8. False: there are no more blocks.
  [[nodiscard]] Result<bool> NextEvents(const wire::EventSource::Sink& sink);

 private:
  struct EnvironmentRecord {
    std::string kind;
    std::string key;
    std::string value;
  };
  // The header of the block at offset_; nothing: no whole block is left.
  using MaybeHeader = std::optional<BlockHeader>;

  RecordingReader(UniqueFd fd, std::string path, std::uint64_t file_bytes)
      : fd_(std::move(fd)), path_(std::move(path)), file_bytes_(file_bytes) {}

  [[nodiscard]] Result<void> ReadFileHeader();
  [[nodiscard]] Result<void> Scan(const ReaderLimits& limits);
  [[nodiscard]] Result<void> TakeBlock(const BlockHeader& header, const ReaderLimits& limits);
  [[nodiscard]] Result<void> TakeEnvironmentBlock(const BlockHeader& header,
                                                  std::span<const std::byte> bytes,
                                                  const ReaderLimits& limits);
  [[nodiscard]] Result<MaybeHeader> ReadHeader();
  [[nodiscard]] Result<std::span<const std::byte>> ReadContents(const BlockHeader& header);
  [[nodiscard]] Result<void> ReadAt(std::uint64_t offset, std::span<std::byte> bytes) const;
  [[nodiscard]] Result<bool> RestIsZero() const;
  void Rewind();
  void Skip(const BlockHeader& header);
  // "FILE: byte OFFSET: WHAT".
  [[nodiscard]] Error Corrupt(std::string_view what) const;

  const UniqueFd fd_;
  const std::string path_;
  const std::uint64_t file_bytes_;
  std::uint64_t end_ = 0;     // of the last whole block
  std::uint64_t offset_ = 0;  // of the block that is read next
  std::uint32_t number_ = 0;  // of that block
  RecordingInfo info_;
  std::optional<RecordingTotals> totals_;
  std::string cut_;
  std::vector<EnvironmentRecord> environment_;
  std::size_t environment_bytes_ = 0;
  BlockDecompressor decompressor_;
  std::vector<std::byte> stored_;
};

}  // namespace profd::recording
