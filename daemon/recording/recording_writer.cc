#include "daemon/recording/recording_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/private_file.h"

namespace profd::recording {
namespace {

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<UniqueFd> OpenForWriting(const std::string& path) {
  const std::string context = "cannot record into " + path;
  // O_NONBLOCK: opening a FIFO without a reader would wait for ever. No O_TRUNC: another process
  // may be recording into the file, so it is truncated only after the lock.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK;
  UniqueFd fd(::open(path.c_str(), kFlags, 0600));
  if (!fd.valid()) return ErrorFromErrno(errno, context);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return ErrorFromErrno(errno, context);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kInvalidArgument, context + ": not a regular file", ""};
  PROFD_TRY(CheckOwner(status.st_uid, path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::kUnavailable, context + ": another process is recording into it",
                 "choose another file"};
  }
  if (::ftruncate(fd.get(), 0) != 0) return ErrorFromErrno(errno, context);
  // The mode of open() counts only for a new file, and the umask takes bits from it.
  if (::fchmod(fd.get(), 0600) != 0) return ErrorFromErrno(errno, context);
  return fd;
}

}  // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::Create(const std::string& path,
                                                                 const RecordingInfo& info,
                                                                 const Options& options,
                                                                 const Clock& clock) {
  Result<UniqueFd> fd = OpenForWriting(path);
  if (!fd) return fd.error();
  std::unique_ptr<RecordingWriter> writer(
      new RecordingWriter(*std::move(fd), path, options, clock));
  const FileHeader header;
  const int error = WriteAll(writer->fd_.get(), AsText(std::as_bytes(std::span(&header, 1))));
  if (error != 0) return ErrorFromErrno(error, "cannot record into " + path);
  writer->file_bytes_ = sizeof(header);
  PROFD_TRY(
      writer->WriteBlock({.kind = BlockKind::kInfo, .records = 1, .bytes = EncodeInfo(info)}));
  writer->ended_ = false;
  writer->thread_ = std::thread(&RecordingWriter::Run, writer.get());
  return writer;
}

RecordingWriter::RecordingWriter(UniqueFd fd, std::string path, const Options& options,
                                 const Clock& clock)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      options_(options),
      clock_(clock),
      compressor_(options.compression_level) {
  events_.kind = BlockKind::kEvents;
  environment_.kind = BlockKind::kEnvironment;
}

RecordingWriter::~RecordingWriter() { static_cast<void>(Close()); }

void RecordingWriter::Write(const wire::RawEvent& event) {
  const std::size_t bytes = Padded(sizeof(EventFrame) + event.bytes.size());
  const std::scoped_lock lock(mutex_);
  if (event.bytes.size() > kMaxEventBytes ||
      !Admit(events_, bytes, options_.max_queued_event_bytes)) {
    ++status_.totals.dropped_events;
    status_.totals.dropped_event_bytes += event.bytes.size();
    return;
  }
  if (events_.bytes.size() + bytes > kMaxBlockBytes) Seal(events_);
  AppendEvent(event.bytes, events_);
  queued_event_bytes_ += bytes;
  if (events_.bytes.size() >= options_.block_bytes) Seal(events_);
}

void RecordingWriter::AddEnvironment(std::string_view kind, std::string_view key,
                                     std::string_view value) {
  const std::size_t text = kind.size() + key.size() + value.size();
  const std::size_t bytes = Padded(sizeof(EnvironmentFrame) + text);
  const std::scoped_lock lock(mutex_);
  if (text > kMaxEnvironmentBytes ||
      !Admit(environment_, bytes, options_.max_queued_environment_bytes)) {
    ++status_.totals.dropped_environment;
    return;
  }
  if (environment_.bytes.size() + bytes > kMaxBlockBytes) Seal(environment_);
  AppendEnvironment(kind, key, value, environment_);
  queued_environment_bytes_ += bytes;
  if (environment_.bytes.size() >= options_.block_bytes) Seal(environment_);
}

bool RecordingWriter::Admit(const RawBlock& block, std::size_t bytes, std::size_t max_bytes) const {
  const std::size_t queued =
      block.kind == BlockKind::kEvents ? queued_event_bytes_ : queued_environment_bytes_;
  return !closing_ && !status_.failure && queued + bytes <= max_bytes;
}

std::size_t& RecordingWriter::QueuedBytes(BlockKind kind) {
  return kind == BlockKind::kEvents ? queued_event_bytes_ : queued_environment_bytes_;
}

void RecordingWriter::Seal(RawBlock& block) {
  if (block.records == 0) return;
  RawBlock next{.kind = block.kind, .records = 0, .bytes = {}};
  // Blocks of one kind have similar sizes. Growing step by step would copy events under the lock.
  next.bytes.reserve(block.bytes.size());
  queue_.push_back(std::exchange(block, std::move(next)));
  wake_.notify_one();
}

void RecordingWriter::Drop(const RawBlock& block) {
  if (block.kind == BlockKind::kEvents) {
    status_.totals.dropped_events += block.records;
    status_.totals.dropped_event_bytes += block.bytes.size();
  } else {
    status_.totals.dropped_environment += block.records;
  }
}

void RecordingWriter::Run() {
  ::pthread_setname_np(::pthread_self(), "profd-record");
  const Heartbeat::Working working(beat_);
  std::unique_lock lock(mutex_);
  while (true) {
    beat_.Beat();
    wake_.wait_for(lock, options_.flush_interval, [this] { return closing_ || !queue_.empty(); });
    // No block has become full within the interval, so what there is gets written. While full
    // blocks wait, the disk is busy, and small blocks would compress worse.
    if (queue_.empty()) {
      Seal(environment_);
      Seal(events_);
    }
    if (queue_.empty() && closing_) break;
    if (queue_.empty()) continue;
    const RawBlock block = std::move(queue_.front());
    queue_.pop_front();
    if (status_.failure) {
      // A block after a gap would hide the gap. The recording ends at the first error.
      Drop(block);
    } else {
      lock.unlock();
      const Result<void> written = WriteBlock(block);
      lock.lock();
      if (!written) {
        Drop(block);
      } else if (block.kind == BlockKind::kEvents) {
        status_.totals.events += block.records;
        status_.totals.event_bytes += block.bytes.size();
      } else {
        status_.totals.environment += block.records;
      }
    }
    // Only now: a block that is being written still takes memory.
    QueuedBytes(block.kind) -= block.bytes.size();
    status_.file_bytes = file_bytes_;
  }
  status_.totals.end_monotonic_ns = clock_.MonotonicNs();
  lock.unlock();
  WriteFooter();
  lock.lock();
  ended_ = true;
  done_.notify_all();
}

Result<void> RecordingWriter::WriteBlock(const RawBlock& block) {
  const auto bytes = compressor_.Compress(block, next_block_);
  const int error = WriteAll(fd_.get(), AsText(bytes));
  if (error == 0) {
    ++next_block_;
    file_bytes_ += bytes.size();
    return {};
  }
  // Part of a block cannot be read. Without it, the footer may find room on a full disk.
  const auto end = static_cast<off_t>(file_bytes_);
  static_cast<void>(::ftruncate(fd_.get(), end));
  static_cast<void>(::lseek(fd_.get(), end, SEEK_SET));
  Error failure = ErrorFromErrno(error, "cannot record into " + path_);
  const std::scoped_lock lock(mutex_);
  if (!status_.failure) {
    status_.failure = failure;
    status_.totals.write_error = static_cast<std::uint64_t>(error);
  }
  return failure;
}

void RecordingWriter::WriteFooter() {
  const RawBlock footer{
      .kind = BlockKind::kFooter, .records = 1, .bytes = EncodeTotals(Status().totals)};
  // If this fails, the status has the error, and readers treat the file as one that was cut.
  static_cast<void>(WriteBlock(footer));
  const std::scoped_lock lock(mutex_);
  status_.file_bytes = file_bytes_;
}

Result<void> RecordingWriter::CloseUntil(std::chrono::steady_clock::time_point until) {
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    wake_.notify_one();
    if (!done_.wait_until(lock, until, [this] { return ended_; }))
      return Error{ErrorCode::kUnavailable,
                   "cannot record into " + path_ + ": the disk does not answer",
                   "the recording lacks its end"};
  }
  const std::scoped_lock close_lock(close_mutex_);
  if (thread_.joinable()) thread_.join();
  // Some file systems, such as NFS, report only now that there was no space.
  if (fd_.valid() && ::close(fd_.Release()) != 0) {
    const int error = errno;
    const std::scoped_lock lock(mutex_);
    if (!status_.failure) status_.failure = ErrorFromErrno(error, "cannot record into " + path_);
  }
  const std::scoped_lock lock(mutex_);
  if (status_.failure) return *status_.failure;
  return {};
}

RecordingWriter::WriterStatus RecordingWriter::Status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

}  // namespace profd::recording
