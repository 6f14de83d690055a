// Registry: what the stream has told of Python: interpreters by process, functions by code object.
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

// Pure: takes events in order of time, answers from them alone, so a replay has the same answers.
// A process that was forked has its parent's interpreters until it executes another program. Its
// code objects are its own, as both go on from the same memory and may make different ones at one
// address; one that cannot be read any more is what the parent had said of it before the fork. When
// no session runs any more everything is forgotten: the source tells it again. Used by the worker
// thread.
class Registry {
 public:
  // Code objects; beyond that those that were not requested lately are forgotten. More than the
  // source remembers to have told (CodeBackfill), so that nothing is missing that was told once.
  static constexpr std::size_t kDefaultMaxCodes = 524'288;
  static constexpr std::size_t kMaxProcesses = 65'536;
  static constexpr std::size_t kMaxEnded = 256;  // processes whose last samples may come yet

  explicit Registry(std::size_t max_codes = kDefaultMaxCodes);

  void Observe(const wire::Event& event);

  // What was told of the process, by runtime; empty: nothing. Valid until the next call.
  [[nodiscard]] std::span<const wire::PythonProcessEvent> RuntimesOf(ProcessKey process);

  struct Described {
    process::PythonFunctionRef function;  // null: a frame that the interpreter adds for itself
    // Of an instruction that has none the function's first; 0: not known.
    std::uint32_t line = 0;
  };
  // A frame of a sample. A code object that nobody told of is the function "<unknown>", one that
  // had gone when it was read "<stale>".
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

  // What its parent had said of a code object before the fork holds for the child.
  [[nodiscard]] Code* FindCode(ProcessKey process, const wire::PythonFrame& frame);
  void ObserveProcess(const wire::PythonProcessEvent& event);
  void ObserveCode(const wire::PythonCodeEvent& event);
  void ObserveFork(const wire::ForkEvent& event);
  void ObserveSession(const wire::SessionEvent& event);
  void Forget(ProcessKey process);
  void ForgetEnded();
  [[nodiscard]] static std::uint32_t LineIn(Code& code, std::uint32_t instruction);

  std::unordered_map<ProcessKey, Parent> parents_;
  Processes processes_;
  LruCache<CodeKey, CodeRef, CodeKeyHash> codes_;
  std::deque<ProcessKey> ended_;
  std::uint32_t sessions_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t stale_ = 0;
  const process::PythonFunctionRef unknown_function_;
  const process::PythonFunctionRef stale_function_;
  const process::PythonFunctionRef truncated_function_;
};

}  // namespace profd::python
