// LogSink: the log of profd on standard error, in the journal's format if the journal reads it.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/app/rate_limit.h"

namespace profd::app {

// Whether systemd's journal reads descriptor 2: JOURNAL_STREAM names it.
[[nodiscard]] bool StderrIsJournal();

// The journal's prefix of a level, "<3>" for an error.
[[nodiscard]] const char* JournalPrefix(spdlog::level::level_enum level);

// Job: writes messages. Of a flood of one kind it writes a few and counts the others (RateLimit).
// Thread: any. Owner: main() and the logger.
class LogSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  enum class Style { kPlain, kJournal };
  using Write = std::function<void(const std::string& line)>;  // with its newline
  using NowNs = std::function<std::uint64_t()>;

  LogSink(Style style, Write write, NowNs now_ns)
      : style_(style), write_(std::move(write)), now_ns_(std::move(now_ns)) {}
  // Writes how many messages were held back in periods that are over. Called regularly.
  void ReportHeld();
  // The same for all periods; called at the end.
  void ReportAllHeld();

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  void SayHeld(const std::vector<RateLimit::Held>& held);
  void Put(const spdlog::details::log_msg& message);

  const Style style_;
  const Write write_;
  const NowNs now_ns_;
  RateLimit limit_;
};

// Writes to standard error.
[[nodiscard]] std::shared_ptr<LogSink> MakeStderrSink();

}  // namespace profd::app
