#include "daemon/recording/recording_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bpf/shared/events.h"
#include "daemon/base/files.h"
#include "daemon/recording/old_events.h"

namespace profd::recording {

Result<std::unique_ptr<RecordingReader>> RecordingReader::Open(const std::string& path,
                                                               const ReaderLimits& limits) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer. The check below then refuses it.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot open recording " + path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return ErrorFromErrno(errno, "cannot open recording " + path);
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot open recording " + path + ": not a regular file", ""};
  }
  std::unique_ptr<RecordingReader> reader(
      new RecordingReader(std::move(fd), path, static_cast<std::uint64_t>(status.st_size)));
  PROFD_TRY(reader->ReadFileHeader());
  PROFD_TRY(reader->Scan(limits));
  return reader;
}

Result<void> RecordingReader::ReadFileHeader() {
  FileHeader header;
  if (file_bytes_ < sizeof(header))
    return Error{ErrorCode::kCorrupt, path_ + ": too short for a recording", ""};
  PROFD_TRY(ReadAt(0, std::as_writable_bytes(std::span(&header, 1))));
  if (header.magic != kFileMagic)
    return Error{ErrorCode::kCorrupt, path_ + ": not a recording of profd", ""};
  if (header.format_version != kFormatVersion) {
    return Error{ErrorCode::kUnsupported,
                 path_ + ": recording format " + std::to_string(header.format_version) +
                     ", this profd reads " + std::to_string(kFormatVersion),
                 "replay it with the profd that made it"};
  }
  return {};
}

Result<void> RecordingReader::Scan(const ReaderLimits& limits) {
  // Blocks of events are skipped here. The environment must be complete before the first event is
  // delivered, because it can come after the events that need it.
  Rewind();
  while (true) {
    const Result<MaybeHeader> header = ReadHeader();
    if (!header) return header.error();
    if (!header->has_value()) break;
    if (totals_) return Corrupt("there are bytes after the footer");
    if ((number_ == 0) != ((*header)->kind == BlockKind::kInfo))
      return Corrupt("only the first block may, and must, describe the recording");
    PROFD_TRY(TakeBlock(**header, limits));
    Skip(**header);
    end_ = offset_;
  }
  if (number_ == 0) return Corrupt("cut before the first block ends");
  if (!totals_) {
    cut_ = path_ + ": cut short at byte " + std::to_string(end_) + " of " +
           std::to_string(file_bytes_) + ", without a footer";
  }
  Rewind();
  return {};
}

Result<void> RecordingReader::TakeBlock(const BlockHeader& header, const ReaderLimits& limits) {
  if (header.kind == BlockKind::kEvents) return {};  // NextEvents reads it
  const auto bytes = ReadContents(header);
  if (!bytes) return bytes.error();
  if (header.kind == BlockKind::kEnvironment) return TakeEnvironmentBlock(header, *bytes, limits);
  if (header.kind == BlockKind::kFooter) {
    const auto totals = DecodeTotals(*bytes);
    if (!totals) return Corrupt(totals.error().message);
    totals_ = *totals;
    return {};
  }
  auto info = DecodeInfo(*bytes);
  if (!info) return Corrupt(info.error().message);
  info_ = *std::move(info);
  if (info_.events_version >= PROFD_EVENTS_VERSION_OLDEST &&
      info_.events_version <= PROFD_EVENTS_VERSION)
    return {};
  return Error{ErrorCode::kUnsupported,
               path_ + ": events of version " + std::to_string(info_.events_version) +
                   ", this profd reads " + std::to_string(PROFD_EVENTS_VERSION_OLDEST) + " to " +
                   std::to_string(PROFD_EVENTS_VERSION),
               "replay it with the profd that made it"};
}

Result<void> RecordingReader::TakeEnvironmentBlock(const BlockHeader& header,
                                                   std::span<const std::byte> bytes,
                                                   const ReaderLimits& limits) {
  for (std::uint32_t i = 0; i < header.records; ++i) {
    EnvironmentView record;
    if (!TakeEnvironment(bytes, record)) return Corrupt("an environment record is cut");
    // With the struct itself: millions of empty records need memory, too.
    environment_bytes_ +=
        sizeof(EnvironmentRecord) + record.kind.size() + record.key.size() + record.value.size();
    if (environment_bytes_ > limits.environment_bytes) {
      Error error = Corrupt("the environment has more than " +
                            std::to_string(limits.environment_bytes) + " bytes");
      error.code = ErrorCode::kExhausted;
      return error;
    }
    environment_.push_back(
        {std::string(record.kind), std::string(record.key), std::string(record.value)});
  }
  if (!bytes.empty()) return Corrupt("the block holds more than its records");
  return {};
}

void RecordingReader::ForEachEnvironment(std::string_view kind, const EnvironmentSink& sink) const {
  for (const EnvironmentRecord& record : environment_) {
    if (record.kind == kind) sink(record.key, record.value);
  }
}

Result<bool> RecordingReader::NextEvents(const wire::EventSource::Sink& sink) {
  // end_ is the end that Open has found. A profd that still records adds blocks after it, whose
  // environment was not read.
  while (offset_ < end_) {
    const Result<MaybeHeader> header = ReadHeader();
    if (!header) return header.error();
    if (!header->has_value()) return Corrupt("the file has become shorter");
    if ((*header)->kind != BlockKind::kEvents) {
      Skip(**header);
      continue;
    }
    const auto contents = ReadContents(**header);
    if (!contents) return contents.error();
    std::span<const std::byte> rest = *contents;
    std::vector<std::byte> scratch;
    for (std::uint32_t i = 0; i < (*header)->records; ++i) {
      std::span<const std::byte> event;
      if (!TakeEvent(rest, event)) return Corrupt("an event is cut");
      sink(wire::RawEvent{InPresentLayout(event, info_.events_version, scratch)});
    }
    if (!rest.empty()) return Corrupt("the block holds more than its events");
    Skip(**header);
    return true;
  }
  return false;
}

Result<RecordingReader::MaybeHeader> RecordingReader::ReadHeader() {
  BlockHeader header;
  const std::uint64_t left = file_bytes_ - offset_;
  if (left < sizeof(header)) return MaybeHeader();
  PROFD_TRY(ReadAt(offset_, std::as_writable_bytes(std::span(&header, 1))));
  const std::string_view fault = HeaderFault(header, number_);
  // A valid header whose contents are not all there: the writer was killed in the middle of a
  // block.
  if (fault.empty())
    return header.stored_bytes > left - sizeof(header) ? MaybeHeader() : MaybeHeader(header);
  // After a power failure, the file system may know the length of the file but not its last bytes,
  // and returns zeros. Such a file is cut, not damaged.
  const Result<bool> zero = RestIsZero();
  if (!zero) return zero.error();
  if (*zero) return MaybeHeader();
  return Corrupt(fault);
}

Result<std::span<const std::byte>> RecordingReader::ReadContents(const BlockHeader& header) {
  stored_.resize(header.stored_bytes);
  PROFD_TRY(ReadAt(offset_ + sizeof(header), stored_));
  auto contents = decompressor_.Decompress(header, stored_);
  if (!contents) return Corrupt(contents.error().message);
  return contents;
}

Result<void> RecordingReader::ReadAt(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::span<char> to(reinterpret_cast<char*>(bytes.data()), bytes.size());
  const auto got = profd::ReadAt(fd_.get(), offset, to, "cannot read recording " + path_);
  if (!got) return got.error();
  if (*got < bytes.size()) return Corrupt("the file has become shorter");
  return {};
}

Result<bool> RecordingReader::RestIsZero() const {
  std::array<std::byte, 65'536> chunk;
  for (std::uint64_t at = offset_; at < file_bytes_;) {
    const auto part =
        std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), file_bytes_ - at));
    PROFD_TRY(ReadAt(at, part));
    if (std::ranges::any_of(part, [](std::byte b) { return b != std::byte{0}; })) return false;
    at += part.size();
  }
  return true;
}

void RecordingReader::Rewind() {
  offset_ = sizeof(FileHeader);
  number_ = 0;
}

void RecordingReader::Skip(const BlockHeader& header) {
  offset_ += sizeof(header) + header.stored_bytes;
  ++number_;
}

Error RecordingReader::Corrupt(std::string_view what) const {
  return Error{ErrorCode::kCorrupt,
               path_ + ": byte " + std::to_string(offset_) + ": " + std::string(what), ""};
}

}  // namespace profd::recording
