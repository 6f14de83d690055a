#include "daemon/app/log_sink.h"

#include <spdlog/details/log_msg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "daemon/base/clock.h"

namespace profd::app {

bool StderrIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status = {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

const char* JournalPrefix(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "<7>";
    case spdlog::level::info:
      return "<6>";
    case spdlog::level::warn:
      return "<4>";
    case spdlog::level::err:
      return "<3>";
    default:
      return "<2>";
  }
}

void LogSink::ReportHeld() {
  const std::scoped_lock lock(mutex_);
  SayHeld(limit_.TakeHeld(now_ns_()));
}

void LogSink::ReportAllHeld() {
  const std::scoped_lock lock(mutex_);
  SayHeld(limit_.TakeAll());
}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  const std::uint64_t now_ns = now_ns_();
  SayHeld(limit_.TakeHeld(now_ns));
  if (limit_.Admit({message.payload.data(), message.payload.size()}, now_ns)) Put(message);
}

void LogSink::SayHeld(const std::vector<RateLimit::Held>& held) {
  for (const auto& kind : held) {
    const std::string text =
        std::to_string(kind.count) + " more messages like this were held back: " + kind.kind;
    Put({"profd", spdlog::level::warn, text});
  }
}

void LogSink::Put(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  const std::string text(formatted.data(), formatted.size());
  if (style_ == Style::kPlain) {
    write_(text);
    return;
  }
  std::istringstream lines(text);  // the journal takes each line for a message
  for (std::string line; std::getline(lines, line);)
    write_(JournalPrefix(message.level) + line + "\n");
}

std::shared_ptr<LogSink> MakeStderrSink() {
  const bool journal = StderrIsJournal();
  auto sink = std::make_shared<LogSink>(
      journal ? LogSink::Style::kJournal : LogSink::Style::kPlain,
      [](const std::string& line) { std::fwrite(line.data(), 1, line.size(), stderr); },
      [] { return SystemClock().MonotonicNs(); });
  return sink;
}

}  // namespace profd::app
