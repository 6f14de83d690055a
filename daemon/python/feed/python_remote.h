// PythonParser, PythonClient: interpreters and code objects of processes, read in a reader process.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/python/code/code_reader.h"
#include "daemon/python/find/attachment.h"
#include "daemon/python/find/file_cache.h"
#include "daemon/python/find/runtime_finder.h"
#include "daemon/reader/message.h"
#include "daemon/reader/reader_pool.h"

namespace profd::python {

// A mapping of a file that holds an interpreter.
struct Candidate {
  std::shared_ptr<const RuntimeFile> file;
  ModuleMapping mapping;
};

// A code object, as a sample has it. Validator 0: not known.
struct CodeQuery {
  std::uint64_t address = 0;
  std::uint32_t validator = 0;
  std::uint32_t runtime = 0;  // index into the versions of the request
};

struct CodeAnswer {
  std::uint32_t validator = 0;   // of what lies there now, if it was not known
  std::optional<CodeText> text;  // none: another one is there, or it cannot be read
};

// Runs in a reader process. Keeps what files hold, and the memory of processes open whose code it
// reads: it may be gone before it is opened.
class PythonParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;

 private:
  static constexpr std::size_t kMaxOpen = 128;
  // Of one program of a process: no other one has this number.
  struct OpenMemory {
    std::uint32_t pid = 0;
    std::uint32_t number = 0;
    UniqueFd fd;
  };

  [[nodiscard]] std::string Find(std::uint32_t pid, reader::Unpacker& fields,
                                 reader::FileOpener& opener);
  [[nodiscard]] std::string ReadCodes(std::uint32_t pid, std::uint32_t number,
                                      reader::Unpacker& fields, reader::FileOpener& opener);
  // -1: it cannot be opened.
  [[nodiscard]] int MemoryOf(std::uint32_t pid, std::uint32_t number, reader::FileOpener& opener);

  FileCache files_;
  std::vector<OpenMemory> open_;  // used last at the back
};

// The daemon's side: what comes back is checked, because a hostile process may have taken the
// parser over. Stateless; safe from any thread.
class PythonClient {
 public:
  static constexpr std::size_t kMaxCandidates = 8;  // interpreters of one process

  // The pool's role makes PythonParsers; it outlives this.
  explicit PythonClient(reader::Readers& readers) : readers_(readers) {}

  // Any error of this: there is no answer yet, or the process does not let itself be read for now.
  // `number` differs from that of earlier requests where their answers are of no use.
  //
  // Which of these mappings hold interpreters; without any, which of all the executable ones.
  [[nodiscard]] Result<std::vector<Candidate>> Find(ProcessKey process, std::uint32_t number,
                                                    std::span<const ModuleMapping> mappings,
                                                    std::chrono::milliseconds patience);
  // The same error for lack of an answer is kNoAnswer, and else those of ReadRuntime.
  [[nodiscard]] Result<Attachment> Attach(ProcessKey process, std::uint32_t number,
                                          const Candidate& candidate,
                                          std::chrono::milliseconds patience);
  // TouchFrames. Waits until it is done, as long as there is patience.
  void Touch(ProcessKey process, std::uint32_t number, const Attachment& attachment,
             std::chrono::milliseconds patience);
  // Answers for the first of the queries, at least one, in their order: long ones take several
  // requests. `versions` of the process's runtimes; `number` is of its present program.
  [[nodiscard]] Result<std::vector<CodeAnswer>> Read(ProcessKey process, std::uint32_t number,
                                                     std::span<const RuntimeVersion> versions,
                                                     std::span<const CodeQuery> queries,
                                                     std::chrono::milliseconds patience);

 private:
  [[nodiscard]] Result<std::string> AskForMemory(ProcessKey process, std::string body,
                                                 std::chrono::milliseconds patience);

  reader::Readers& readers_;
};

// The message of Attach's kUnavailable when no reader has answered: `status` says why.
inline constexpr std::string_view kNoAnswer = "its memory does not answer";

}  // namespace profd::python
