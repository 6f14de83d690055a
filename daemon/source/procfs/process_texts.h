// ProcessTextParser, ProcessTextClient: the files of /proc/PID that may wait for the process, read
// in a reader process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/reader/reader_pool.h"

namespace profd::source {

// The files wait while the process changes its mappings, and that may wait for a file system. A
// part that cannot be read is empty.
struct ProcessTexts {
  std::string command_line;  // at most ProcessTextParser::kKeptCommandLine
  std::string maps;
  std::string resource;  // as PackResource; nothing else of its environment leaves the reader
};

struct ProcessThread {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;   // is read where the first thread has ended
  std::uint32_t user = 0;  // as reader::UserOf
};

// Runs in a reader process that opens files itself: what it reads is only copied. Answers as many
// of the processes as fit into kAnswerBytes, and at least one: larger blocks of memory would be new
// to both processes each time.
class ProcessTextParser : public reader::Parser {
 public:
  static constexpr std::size_t kKeptCommandLine = 4'096;
  static constexpr std::size_t kMaxMaps = 16u << 20;  // 65,530 mappings with long paths
  static constexpr std::size_t kAnswerBytes = 8u << 20;

  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;
};

// The daemon's side; used by one thread at a time. The processes of a user are read together, since
// a request costs more than what is read. After one that was not answered in time, each process of
// that user is read by itself for a while, so that one that hangs costs the others nothing.
class ProcessTextClient {
 public:
  static constexpr std::size_t kTogether = 16;
  static constexpr std::chrono::milliseconds kPatience{100};
  // For one process of a user who had one that was late. Root's programs are trusted.
  static constexpr std::chrono::milliseconds kShortPatience{20};
  static constexpr std::chrono::milliseconds kDeadline{1'000};
  static constexpr std::chrono::seconds kApart{60};

  // The pool's role makes ProcessTextParsers; it outlives this.
  explicit ProcessTextClient(reader::Readers& readers) : readers_(readers) {}

  // In the order of `processes`. Nothing: it does not answer yet, or for now.
  [[nodiscard]] std::vector<std::optional<ProcessTexts>> Read(
      std::span<const ProcessThread> processes);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Some {
    std::vector<ProcessThread> processes;
    std::string name;
    std::uint64_t target = 0;
    std::uint32_t user = 0;
    // Processes that are read together are not waited for longer: each is then read by itself.
    std::chrono::milliseconds deadline{};
  };

  // Fewer than requested if not all fit into an answer.
  [[nodiscard]] Result<std::vector<ProcessTexts>> Ask(const Some& some,
                                                      std::chrono::milliseconds patience);

  reader::Readers& readers_;
  std::map<std::uint32_t, Time> apart_;  // by user: until when
};

}  // namespace profd::source
