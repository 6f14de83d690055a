#include "daemon/reader/answer_cache.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <span>
#include <vector>

#include "daemon/base/private_file.h"
#include "daemon/base/result.h"
#include "daemon/base/sqlite/database.h"

namespace profd::reader {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr int kShortBusyMs =
    5;  // other daemons write for a moment only; what they hold up is no loss
constexpr std::uint64_t kPageBytes = 4096;
// A daemon that begins at the same time makes the same file: that takes longer, once.
constexpr std::chrono::milliseconds kRetryOpen{20};
constexpr int kMaxOpens = 250;
constexpr std::chrono::milliseconds kGather{300};  // writes that follow each other are one
constexpr const char* kSetUp =
    "PRAGMA journal_mode = WAL;"
    // After a loss of power the file may be damaged; then it is made again.
    "PRAGMA synchronous = OFF;"
    "PRAGMA cache_size = -512;"
    "PRAGMA journal_size_limit = 1048576;"
    "CREATE TABLE IF NOT EXISTS answer ("
    "  id INTEGER PRIMARY KEY,"
    "  key BLOB NOT NULL UNIQUE,"
    "  used INTEGER NOT NULL,"  // day since 1970
    "  sum INTEGER NOT NULL,"
    "  bytes BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_use ON answer (used, id);";

std::int64_t Today() {
  constexpr std::int64_t kSecondsOfDay = 86'400;
  return std::time(nullptr) / kSecondsOfDay;
}

Blob BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::int64_t SumOf(std::string_view key, std::string_view bytes) {
  return static_cast<std::int64_t>(
      XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(key.data(), key.size())));
}

// What is read is believed, so no other user may write there.
Result<void> CheckFolder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return ErrorFromErrno(errno, folder);
  const bool is_own = status.st_uid == ::geteuid() || ::geteuid() == 0;
  if (!S_ISDIR(status.st_mode) || !is_own || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{ErrorCode::kPermissionDenied, folder + ": others may write there",
                 "give it to the user of profd, with mode 0700"};
  return {};
}

// Root's daemons share the file with the service, which has a user of its own. SQLite does the
// same with the files that it makes beside it.
Result<void> GiveToOwnerOfFolder(const std::string& path) {
  struct stat folder {};
  if (::geteuid() != 0) return {};
  const std::string parent = std::filesystem::path(path).parent_path();
  if (::lstat(parent.c_str(), &folder) != 0 ||
      ::lchown(path.c_str(), folder.st_uid, folder.st_gid) != 0)
    return ErrorFromErrno(errno, path);
  return {};
}

}  // namespace

// The file itself. Used by the thread alone.
class AnswerCache::File {
 public:
  static Result<File> Open(const AnswerCacheSettings& settings) {
    PROFD_TRY(CheckFolder(settings.path));
    PROFD_TRY(MakePrivateFile(settings.path));
    PROFD_TRY(GiveToOwnerOfFolder(settings.path));
    auto database = Database::Open(settings.path, true, nullptr, kShortBusyMs);
    if (!database) return database.error();
    File file(*std::move(database), settings.max_bytes);
    PROFD_TRY(file.SetUp());
    return file;
  }

  static void Remove(const std::string& path) {
    for (const char* suffix : {"", "-wal", "-shm"})
      static_cast<void>(::unlink((path + suffix).c_str()));
  }

  [[nodiscard]] Result<std::optional<std::string>> Find(std::string_view key) {
    auto select = database_.Get("SELECT id, used, sum, bytes FROM answer WHERE key = ?1");
    if (!select) return select.error();
    const auto row = (*select)->With(BytesOf(key)).Step();
    if (!row) return row.error();
    if (!*row) return std::optional<std::string>();
    const std::int64_t id = (*select)->Int(0);
    const bool is_old = (*select)->Int(1) != Today();
    const Blob blob = (*select)->Bytes(3);
    std::string bytes(reinterpret_cast<const char*>(blob.data()), blob.size());
    const bool is_whole = (*select)->Int(2) == SumOf(key, bytes);
    (*select)->Reset();
    if (!is_whole) return Error{ErrorCode::kCorrupt, "an answer is damaged", ""};
    if (is_old) used_.push_back(id);
    return std::optional(std::move(bytes));
  }

  [[nodiscard]] Result<void> Put(std::string_view key, std::string_view bytes) {
    auto insert = database_.Get(
        "INSERT OR REPLACE INTO answer (key, used, sum, bytes) VALUES (?1, ?2, ?3, ?4)");
    if (!insert) return insert.error();
    return (*insert)->With(BytesOf(key), Today(), SumOf(key, bytes), BytesOf(bytes)).Run();
  }

  // Notes what was used, and makes room.
  [[nodiscard]] Result<void> Tidy() {
    for (const std::int64_t id : std::exchange(used_, {})) {
      auto update = database_.Get("UPDATE answer SET used = ?1 WHERE id = ?2");
      if (!update) return update.error();
      PROFD_TRY((*update)->With(Today(), id).Run());
    }
    const auto pages = database_.Pragma("PRAGMA page_count");
    const auto free = database_.Pragma("PRAGMA freelist_count");
    if (!pages || !free) return pages ? free.error() : pages.error();
    // What follows in one go must fit, too.
    if ((static_cast<std::uint64_t>(*pages - *free) + kMaxQueuedBytes / kPageBytes) * kPageBytes <=
        max_bytes_)
      return {};
    return database_.Execute(
        "DELETE FROM answer WHERE id IN (SELECT id FROM answer ORDER BY used, id"
        " LIMIT 1 + (SELECT count(*) FROM answer) / 4)");
  }

  [[nodiscard]] bool has_used() const { return !used_.empty(); }
  [[nodiscard]] Database& database() { return database_; }

 private:
  File(Database database, std::uint64_t max_bytes)
      : database_(std::move(database)), max_bytes_(max_bytes) {}

  [[nodiscard]] Result<void> SetUp() {
    const auto format = database_.Pragma("PRAGMA user_version");
    if (!format) return format.error();
    if (*format != 0 && *format != kFormat)
      return Error{ErrorCode::kCorrupt, "it has another format", ""};
    PROFD_TRY(database_.Execute(kSetUp));
    PROFD_TRY(database_.Execute(("PRAGMA user_version = " + std::to_string(kFormat)).c_str()));
    return database_.Execute(
        ("PRAGMA max_page_count = " + std::to_string(max_bytes_ / kPageBytes)).c_str());
  }

  Database database_;
  std::uint64_t max_bytes_;
  std::vector<std::int64_t> used_;  // ids that are used again, on a new day
};

AnswerCache::AnswerCache(AnswerCacheSettings settings) : settings_(std::move(settings)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

AnswerCache::~AnswerCache() = default;

std::string AnswerCache::FullKey(const AnswerKey& key) const {
  std::string full = settings_.program;
  full.push_back('\0');
  if (key.of_this_boot) full += settings_.boot;
  full.push_back('\0');
  return full + key.text;
}

std::optional<std::string> AnswerCache::Find(const AnswerKey& key) {
  auto question = std::make_shared<Question>(Question{.key = FullKey(key)});
  std::unique_lock lock(mutex_);
  if (!late_ && trouble_.empty()) {
    questions_.push_back(question);
    work_.notify_one();
    late_ = !done_.wait_for(lock, kPatience, [&] { return question->done; });
  }
  (question->answer ? counters_.found : counters_.missing).Add();
  return std::move(question->answer);
}

void AnswerCache::Put(const AnswerKey& key, std::string answer) {
  std::string full = FullKey(key);
  const std::size_t bytes = full.size() + answer.size();
  const std::scoped_lock lock(mutex_);
  if (answer.size() > kMaxAnswerBytes || queued_bytes_ + bytes > kMaxQueuedBytes ||
      !trouble_.empty())
    return counters_.dropped.Add();
  queued_bytes_ += bytes;
  puts_.emplace_back(std::move(full), std::move(answer));
  work_.notify_one();
}

bool AnswerCache::Flush(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, timeout, [this] { return puts_.empty() && !busy_; });
}

std::string AnswerCache::trouble() const {
  const std::scoped_lock lock(mutex_);
  return trouble_;
}

void AnswerCache::SetTrouble(std::string why) {
  const std::scoped_lock lock(mutex_);
  trouble_ = std::move(why);
}

void AnswerCache::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-cache");
  const Heartbeat::Working working(beat_);
  std::optional<File> file = Open(stop);
  std::unique_lock lock(mutex_);
  const auto any_question = [this] { return !questions_.empty(); };
  for (;;) {
    {
      const Heartbeat::Waiting waiting(beat_);
      work_.wait(lock, stop, [this] { return !questions_.empty() || !puts_.empty(); });
      if (questions_.empty() && !puts_.empty()) work_.wait_for(lock, stop, kGather, any_question);
    }
    if (questions_.empty() && puts_.empty()) break;  // it ends
    const auto questions = std::exchange(questions_, {});
    const auto puts = questions.empty() ? std::exchange(puts_, {}) : Puts();
    if (!puts.empty()) queued_bytes_ = 0;
    busy_ = !puts.empty();
    lock.unlock();
    for (const auto& question : questions) question->answer = Answer(file, question->key, stop);
    if (!puts.empty()) Write(file, puts, stop);
    lock.lock();
    for (const auto& question : questions) question->done = true;
    late_ = false;
    busy_ = false;
    done_.notify_all();
  }
  lock.unlock();
  if (file && file->has_used()) Write(file, {}, stop);
}

std::optional<AnswerCache::File> AnswerCache::Open(const std::stop_token& stop) {
  auto file = File::Open(settings_);
  for (int opens = 1; !file && file.error().code == ErrorCode::kUnavailable && opens < kMaxOpens &&
                      !stop.stop_requested();
       ++opens) {
    std::this_thread::sleep_for(kRetryOpen);
    file = File::Open(settings_);
  }
  if (!file && file.error().code == ErrorCode::kCorrupt) {
    File::Remove(settings_.path);
    file = File::Open(settings_);
  }
  if (file) return *std::move(file);
  SetTrouble(file.error().message);
  return std::nullopt;
}

std::optional<std::string> AnswerCache::Answer(std::optional<File>& file, const std::string& key,
                                               const std::stop_token& stop) {
  if (!file) return std::nullopt;
  auto found = file->Find(key);
  if (found) return *std::move(found);
  if (found.error().code == ErrorCode::kCorrupt) Renew(file, stop);
  return std::nullopt;
}

void AnswerCache::Write(std::optional<File>& file, const Puts& puts, const std::stop_token& stop) {
  const auto written = [&]() -> Result<void> {
    if (!file) return Error{ErrorCode::kUnavailable, "there is no file", ""};
    auto transaction = Transaction::Begin(file->database(), true);
    if (!transaction) return transaction.error();
    PROFD_TRY(file->Tidy());
    for (const auto& [key, bytes] : puts) PROFD_TRY(file->Put(key, bytes));
    return transaction->Commit();
  }();
  if (!written && written.error().code == ErrorCode::kCorrupt) Renew(file, stop);
  const std::scoped_lock lock(mutex_);
  (written ? counters_.kept : counters_.dropped).Add(puts.size());
}

// A damaged file is given up: all in it can be read again.
void AnswerCache::Renew(std::optional<File>& file, const std::stop_token& stop) {
  file.reset();
  File::Remove(settings_.path);
  file = Open(stop);
}

}  // namespace profd::reader
