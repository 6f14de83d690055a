#include "daemon/fleet/spool/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "daemon/base/files.h"
#include "daemon/base/unique_fd.h"
#include "daemon/fleet/spool/json_values.h"

namespace profd::fleet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kEnding = ".entry";
constexpr std::string_view kPartly = ".part";  // of a file that is being written
constexpr std::size_t kMaxEntryBytes = 1u << 30;

Error Damaged(const std::string& path) { return {ErrorCode::kCorrupt, path + " is damaged", ""}; }

// "NUMBER-NS.entry": the time that an entry covers is known, though it be damaged.
struct Name {
  std::uint64_t number = 0;
  std::uint64_t covers_ns = 0;
};

std::optional<Name> ParsedName(std::string_view text) {
  if (!text.ends_with(kEnding)) return std::nullopt;
  text.remove_suffix(kEnding.size());
  Name name;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, name.number);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != '-') return std::nullopt;
  const auto covers = std::from_chars(number.ptr + 1, end, name.covers_ns);
  if (covers.ec != std::errc() || covers.ptr != end) return std::nullopt;
  return name;
}

// A line of JSON, then the payload.
std::string Packed(const SpoolEntry& entry) {
  const Json head{{"from_unix_ns", entry.from_unix_ns},
                  {"to_unix_ns", entry.to_unix_ns},
                  {"gaps", entry.gaps},
                  {"bytes", entry.payload.size()}};
  return head.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + entry.payload;
}

}  // namespace

Result<void> WriteWhole(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string partly = path + std::string(kPartly);
  const auto failed = [&](const char* what) {
    const int error = errno;
    ::unlink(partly.c_str());
    Error failure = ErrorFromErrno(error, std::string(what) + " " + path);
    if (error == ENOSPC || error == EDQUOT) failure.code = ErrorCode::kExhausted;
    return failure;
  };
  const UniqueFd file(
      ::open(partly.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return failed("cannot make");
  errno = WriteAll(file.get(), bytes);
  if (errno != 0 || ::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0)
    return failed("cannot write");
  if (std::rename(partly.c_str(), path.c_str()) != 0) return failed("cannot make");
  const UniqueFd folder(
      ::open(fs::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) (void)::fsync(folder.get());
  return {};
}

Result<Spool> Spool::Open(const std::string& folder, std::uint64_t limit_bytes,
                          std::uint64_t next) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return ErrorFromErrno(failed.value(), "cannot make " + folder);
  Spool spool(folder, limit_bytes);
  spool.next_ = std::max<std::uint64_t>(next, 1);
  for (fs::directory_iterator file(folder, failed); !failed && file != fs::directory_iterator();
       file.increment(failed)) {
    std::error_code ignored;
    const std::string name = file->path().filename().string();
    const auto parsed = ParsedName(name);
    if (name.ends_with(kPartly) || (parsed && parsed->number >= spool.next_)) {
      fs::remove(file->path(), ignored);
    } else if (parsed) {
      const auto bytes = fs::file_size(file->path(), ignored);
      spool.files_.push_back({parsed->number, parsed->covers_ns, ignored ? 0 : bytes});
      spool.bytes_ += spool.files_.back().bytes;
    }
  }
  if (failed) return ErrorFromErrno(failed.value(), "cannot read " + folder);
  std::ranges::sort(spool.files_, {}, &File::number);
  return spool;
}

std::string Spool::PathOf(const File& file) const {
  std::array<char, 48> digits{};
  std::snprintf(digits.data(), digits.size(), "%016lu-%lu", file.number, file.covers_ns);
  return folder_ + "/" + digits.data() + std::string(kEnding);
}

Result<void> Spool::Add(const SpoolEntry& entry, Dropped& dropped) {
  const std::string bytes = Packed(entry);
  const auto drop = [&dropped](std::uint64_t covers_ns, const Gaps& gaps) {
    ++dropped.entries;
    dropped.ns += covers_ns;
    for (const auto& [cause, ns] : gaps) dropped.gaps[cause] += ns;
  };
  if (bytes.size() > limit_bytes_) {
    drop(entry.covers_ns, entry.gaps);
    return {};
  }
  while (!files_.empty() && bytes_ + bytes.size() > limit_bytes_) {
    const auto oldest = Read();
    drop(first_covers_ns(), oldest ? oldest->gaps : Gaps());
    RemoveFirst();
  }
  const File file{next_, entry.covers_ns, bytes.size()};
  PROFD_TRY(WriteWhole(PathOf(file), bytes));
  files_.push_back(file);
  ++next_;
  bytes_ += bytes.size();
  return {};
}

void Spool::Forget(std::uint64_t number) {
  while (!files_.empty() && files_.back().number >= number) {
    ::unlink(PathOf(files_.back()).c_str());
    bytes_ -= files_.back().bytes;
    files_.pop_back();
  }
  next_ = std::min(next_, number);
}

Result<SpoolEntry> Spool::Read() const {
  const std::string path = PathOf(files_.front());
  auto bytes = ReadFile(path, kMaxEntryBytes);
  if (!bytes) return bytes.error();
  const std::size_t line = bytes->find('\n');
  if (line == std::string::npos) return Damaged(path);
  const Json head = Json::parse(bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(line),
                                nullptr, false);
  if (!head.is_object()) return Damaged(path);
  SpoolEntry entry{.from_unix_ns = NumberIn(head, "from_unix_ns"),
                   .to_unix_ns = NumberIn(head, "to_unix_ns"),
                   .covers_ns = first_covers_ns(),
                   .gaps = GapsIn(head, "gaps"),
                   .payload = bytes->substr(line + 1)};
  if (entry.payload.size() != NumberIn(head, "bytes")) return Damaged(path);
  return entry;
}

void Spool::RemoveFirst() {
  ::unlink(PathOf(files_.front()).c_str());
  bytes_ -= files_.front().bytes;
  files_.pop_front();
}

}  // namespace profd::fleet
