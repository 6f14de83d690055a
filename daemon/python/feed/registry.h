// Registry: interpreters by process and functions by code object, from the events of the stream.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/process/sample.h"
#include "daemon/wire/event.h"

namespace profd::python {

// Takes events in order of time and answers from them alone, so a replay has the same answers. A
// forked process has the interpreters of its parent until it executes another program. It has code
// objects of its own, because parent and child go on from the same memory and may make different
// ones at one address. For a code object that can no longer be read, the parent's event before the
// fork counts. The registry forgets everything when the last session ends: the source sends it
// again in the next one. Used by the worker thread.
class Registry {
 public:
  // Code objects; beyond that the least recently used ones are forgotten. It holds more than
  // CodeBackfill remembers to have sent, so no code object is missing that was sent once.
  static constexpr std::size_t kDefaultMaxCodes = 524'288;
  static constexpr std::size_t kMaxCodeBytes = 128u << 20;  // of their texts
  static constexpr std::size_t kMaxLinesKept = 1'048'576;   // of all code objects
  static constexpr std::size_t kMaxProcesses = 65'536;
  static constexpr std::size_t kMaxEnded = 256;  // processes whose last samples may come yet

  explicit Registry(std::size_t max_codes = kDefaultMaxCodes);

  void Observe(const wire::Event& event);

  // The interpreters of the process, by runtime; empty when none is known. Valid until the next
  // call.
  [[nodiscard]] std::span<const wire::PythonProcessEvent> RuntimesOf(ProcessKey process);

  struct Described {
    process::PythonFunctionRef function;  // null: a frame that the interpreter adds for itself
    // Of an instruction that has none the function's first; 0: not known.
    std::uint32_t line = 0;
  };
  // A frame of a sample. A code object without an event is the function "<unknown>". One that was
  // gone when profd read it is "<stale>".
  [[nodiscard]] Described Describe(ProcessKey process, const wire::PythonFrame& frame);

  // The function "<truncated>": stands for the frames that were not kept.
  [[nodiscard]] process::PythonFunctionRef truncated() const { return truncated_function_; }

  [[nodiscard]] std::size_t codes() const { return codes_.size(); }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }  // frames without a name ...
  [[nodiscard]] std::uint64_t stale() const { return stale_; }      // ... for either reason

 private:
  struct CodeKey {
    ProcessKey process;
    std::uint64_t code = 0;
    std::uint32_t validator = 0;
    std::uint32_t runtime = 0;
    friend bool operator==(const CodeKey&, const CodeKey&) = default;
  };
  struct CodeKeyHash {
    std::size_t operator()(const CodeKey& key) const {
      return MixBits(std::hash<ProcessKey>()(key.process) ^
                     MixBits(key.code ^ std::uint64_t{key.validator} << 32) ^ key.runtime);
    }
  };
  struct Code {
    process::PythonFunctionRef function;  // null: stale
    bool internal = false;
    std::uint64_t reported_until_ns = 0;
    std::uint32_t version = 0;
    std::int32_t first_line = 0;
    std::string table;
    std::unordered_map<std::uint32_t, std::uint32_t> lines;  // by instruction; what was requested
  };
  using CodeRef = std::shared_ptr<Code>;

  using Runtimes = std::vector<wire::PythonProcessEvent>;
  using Processes = LruCache<ProcessKey, Runtimes>;
  struct Parent {
    ProcessKey process;
    std::uint64_t forked_ns = 0;
  };

  // The parent's event for a code object, from before the fork, holds for the child.
  [[nodiscard]] Code* FindCode(ProcessKey process, const wire::PythonFrame& frame);
  void ObserveProcess(const wire::PythonProcessEvent& event);
  void ObserveCode(const wire::PythonCodeEvent& event);
  void ObserveFork(const wire::ForkEvent& event);
  void ObserveSession(const wire::SessionEvent& event);
  void Forget(ProcessKey process);
  void ForgetEnded();
  [[nodiscard]] std::uint32_t LineIn(Code& code, std::uint32_t instruction);

  std::unordered_map<ProcessKey, Parent> parents_;
  Processes processes_;
  LruCache<CodeKey, CodeRef, CodeKeyHash> codes_;
  std::deque<ProcessKey> ended_;
  std::size_t lines_kept_ = 0;
  std::uint32_t sessions_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t stale_ = 0;
  const process::PythonFunctionRef unknown_function_;
  const process::PythonFunctionRef stale_function_;
  const process::PythonFunctionRef truncated_function_;
};

}  // namespace profd::python
