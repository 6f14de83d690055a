#include "daemon/python/feed/registry.h"

#include <unordered_set>
#include <utility>
#include <variant>

#include "bpf/shared/python_layout.h"
#include "daemon/python/code/line_table.h"

namespace profd::python {
namespace {

constexpr int kMaxAncestors = 4;
constexpr std::size_t kMaxLinesOfOne = 8'192;  // code object

process::PythonFunctionRef MakeFunction(std::string name, std::string file) {
  return std::make_shared<const process::PythonFunction>(
      process::PythonFunction{std::move(name), std::move(file)});
}

}  // namespace

Registry::Registry(std::size_t max_codes)
    : processes_(
          kMaxProcesses, Processes::kUnbounded,
          [this](ProcessKey process, const Runtimes& /*runtimes*/) { parents_.erase(process); }),
      codes_(max_codes, kMaxCodeBytes),
      unknown_function_(MakeFunction("<unknown>", "")),
      stale_function_(MakeFunction("<stale>", "")),
      truncated_function_(MakeFunction("<truncated>", "")) {}

void Registry::Observe(const wire::Event& event) {
  if (const auto* process = std::get_if<wire::PythonProcessEvent>(&event)) {
    ObserveProcess(*process);
  } else if (const auto* code = std::get_if<wire::PythonCodeEvent>(&event)) {
    ObserveCode(*code);
  } else if (const auto* fork = std::get_if<wire::ForkEvent>(&event)) {
    ObserveFork(*fork);
  } else if (const auto* exec = std::get_if<wire::ExecEvent>(&event)) {
    Forget(exec->header.process);
  } else if (const auto* exit = std::get_if<wire::ExitEvent>(&event)) {
    if (exit->last_thread && processes_.Peek(exit->header.process) != nullptr)
      ended_.push_back(exit->header.process);
    if (ended_.size() >= 2 * kMaxEnded) ForgetEnded();
  } else if (const auto* session = std::get_if<wire::SessionEvent>(&event)) {
    ObserveSession(*session);
  }
}

void Registry::ObserveProcess(const wire::PythonProcessEvent& event) {
  Runtimes* known = processes_.Find(event.header.process);
  Runtimes& runtimes = known != nullptr ? *known : processes_.Put(event.header.process, {});
  if (event.runtime == 0) runtimes.clear();
  if (event.runtime == runtimes.size()) runtimes.push_back(event);
}

void Registry::ObserveCode(const wire::PythonCodeEvent& event) {
  auto code = std::make_shared<Code>();
  code->reported_until_ns = event.header.time_ns;
  if (!event.stale) {
    code->function = MakeFunction(event.qualname.empty() ? event.name : event.qualname, event.file);
    code->version = event.version;
    code->first_line = event.first_line;
    code->table = event.lines;
    // Since 3.12 a frame of its own stands below each __init__ that is called quickly.
    code->internal = event.name == "__init__" && event.file == "__init__";
  }
  codes_.Put({event.header.process, event.code, event.validator, event.runtime}, std::move(code),
             event.name.size() + event.qualname.size() + event.file.size() + event.lines.size());
}

void Registry::ObserveFork(const wire::ForkEvent& event) {
  if (!event.new_process) return;
  const ProcessKey parent{event.parent_pid, event.parent_process_start_ns};
  const Runtimes* known = processes_.Find(parent);
  if (known == nullptr) return;
  Runtimes runtimes = *known;
  for (wire::PythonProcessEvent& runtime : runtimes) runtime.header = event.header;
  // Events of the child itself count more than those of its parent.
  if (processes_.Peek(event.header.process) == nullptr)
    processes_.Put(event.header.process, std::move(runtimes));
  parents_[event.header.process] = {parent, event.header.time_ns};
}

void Registry::ObserveSession(const wire::SessionEvent& event) {
  if (!event.end) {
    ++sessions_;
    return;
  }
  if (sessions_ == 0 || --sessions_ > 0) return;
  processes_.Clear();
  parents_.clear();
  ended_.clear();
  codes_.Clear();
  lines_kept_ = 0;
}

void Registry::Forget(ProcessKey process) {
  parents_.erase(process);
  if (!processes_.Erase(process)) return;
  codes_.EraseIf([&](const CodeKey& key, const CodeRef&) { return key.process == process; });
}

void Registry::ForgetEnded() {
  // Many at a time: each looks at all code objects.
  std::unordered_set<ProcessKey> gone(ended_.begin(), ended_.begin() + kMaxEnded);
  ended_.erase(ended_.begin(), ended_.begin() + kMaxEnded);
  for (const ProcessKey& process : gone) {
    processes_.Erase(process);
    parents_.erase(process);
  }
  // Their events may still hold for the processes that they have forked.
  for (const auto& [child, parent] : parents_) gone.erase(parent.process);
  codes_.EraseIf([&](const CodeKey& key, const CodeRef&) { return gone.contains(key.process); });
}

std::span<const wire::PythonProcessEvent> Registry::RuntimesOf(ProcessKey process) {
  const Runtimes* known = processes_.Find(process);
  if (known == nullptr) return {};
  return *known;
}

Registry::Code* Registry::FindCode(ProcessKey process, const wire::PythonFrame& frame) {
  Code* best = nullptr;
  std::uint64_t until_ns = UINT64_MAX;
  for (int i = 0; i < kMaxAncestors; ++i) {
    const CodeRef* found = codes_.Find({process, frame.address, frame.validator, frame.runtime});
    if (found != nullptr && (*found)->reported_until_ns <= until_ns) {
      best = found->get();
      if (best->function != nullptr) return best;
    }
    if (frame.validator == 0) break;  // its event comes before each sample
    const auto parent = parents_.find(process);
    if (parent == parents_.end()) break;
    process = parent->second.process;
    until_ns = parent->second.forked_ns;
  }
  return best;
}

Registry::Described Registry::Describe(ProcessKey process, const wire::PythonFrame& frame) {
  Code* found = FindCode(process, frame);
  if (found == nullptr) {
    ++unknown_;
    return {unknown_function_, 0};
  }
  Code& code = *found;
  if (code.internal) return {};
  if (code.function == nullptr) {
    ++stale_;
    return {stale_function_, 0};
  }
  return {code.function, LineIn(code, frame.instruction)};
}

std::uint32_t Registry::LineIn(Code& code, std::uint32_t instruction) {
  if (const auto known = code.lines.find(instruction); known != code.lines.end())
    return known->second;
  std::uint32_t line = LineOf(code.version, code.first_line, code.table, instruction);
  // What the compiler added has no line of its own: it begins a function, or leaves it.
  if (line == 0 && code.first_line > 0) line = static_cast<std::uint32_t>(code.first_line);
  if (code.lines.size() < kMaxLinesOfOne) {
    // They can be had again: no code object keeps those of others from being kept.
    if (++lines_kept_ > kMaxLinesKept) {
      codes_.ForEach([](const CodeKey&, CodeRef& one) { one->lines.clear(); });
      lines_kept_ = 1;
    }
    code.lines.emplace(instruction, line);
  }
  return line;
}

}  // namespace profd::python
