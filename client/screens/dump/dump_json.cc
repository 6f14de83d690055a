#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

#include "client/screens/dump/dump_facts.h"
#include "client/screens/dump/dump_view.h"
#include "client/screens/dump/syscall_text.h"

namespace profd::client {
namespace {

using nlohmann::json;

std::string_view KindName(v1::FrameKind kind) {
  switch (kind) {
    case v1::FRAME_KERNEL:
      return "kernel";
    case v1::FRAME_PYTHON:
      return "python";
    case v1::FRAME_JIT:
      return "jit";
    case v1::FRAME_PSEUDO:
      return "pseudo";
    default:
      return "native";
  }
}

json FrameOf(const v1::Frame& frame, FrameStyle style) {
  style.place = false;
  style.suffixes = false;
  json object{{"name", FrameName(frame, style)}, {"kind", KindName(frame.kind())}};
  if (!frame.file().empty()) object["file"] = frame.file();
  if (frame.line() != 0) object["line"] = frame.line();
  if (!frame.module().empty()) {
    object["module"] = frame.module();
    object["offset"] = frame.offset();
  }
  if (frame.inlined()) object["inlined"] = true;
  if (frame.interpreter()) object["interpreter"] = true;
  if (!frame.reason().empty()) object["reason"] = frame.reason();
  return object;
}

json SyscallOf(const v1::DumpThread& thread) {
  json object{{"number", thread.syscall()}, {"arguments", json::array()}};
  if (auto name = SyscallName(thread.syscall()); !name.empty()) object["name"] = std::move(name);
  for (const auto argument : thread.syscall_arg()) object["arguments"].push_back(argument);
  return object;
}

json ThreadOf(const v1::Dump& dump, const v1::DumpThread& thread, const DumpOptions& options) {
  json object{{"tid", thread.tid()},
              {"name", thread.comm()},
              {"state", StateName(thread.state())},
              {"seen_ns", thread.seen_ns()},
              {"python", thread.python()},
              {"gil", thread.gil() == v1::GIL_NONE ? "none" : GilName(thread.gil())}};
  if (thread.state() == v1::STATE_BLOCKED) object["wait"] = WaitName(thread.wait());
  if (thread.since_ns() != 0) object["since_ns"] = thread.since_ns();
  if (thread.in_syscall()) object["syscall"] = SyscallOf(thread);
  if (thread.merge_failed()) object["merge_failed"] = true;
  if (!thread.no_stack().empty()) object["no_stack"] = thread.no_stack();
  if (thread.stack_ns() != 0) object["stack_ns"] = thread.stack_ns();
  if (IsByFramePointer(thread)) object["by_frame_pointer"] = true;
  json& stack = object["stack"] = json::array();
  const std::size_t certain = CertainFrames(dump, thread, options);
  for (const v1::Frame* frame : ShownFrames(dump, thread, options)) {
    json object_of_frame = FrameOf(*frame, options.style);
    if (stack.size() >= certain) object_of_frame["by_frame_pointer"] = true;
    stack.push_back(std::move(object_of_frame));
  }
  return object;
}

json ProcessOf(const v1::Dump& dump, std::uint32_t index, const DumpOptions& options) {
  const v1::Process& process = dump.processes(static_cast<int>(index));
  const ProcessFacts facts = FactsOf(dump, index);
  json object{{"pid", process.pid()},
              {"comm", process.comm()},
              {"command_line", process.command_line()},
              {"executable", process.executable()},
              {"cgroup", process.cgroup()}};
  if (!process.python().empty()) object["python"] = process.python();
  if (!process.python_refused().empty()) object["python_refused"] = process.python_refused();
  if (facts.has_gil) {
    object["gil_holder"] = facts.holders.empty() ? json() : json(facts.holders.front()->tid());
    object["gil_waiters"] = facts.gil_waiters;
  }
  json& threads = object["threads"] = json::array();
  for (const v1::DumpThread* thread : facts.threads)
    threads.push_back(ThreadOf(dump, *thread, options));
  return object;
}

}  // namespace

std::string DumpJson(const v1::Dump& dump, const DumpOptions& options) {
  json object{{"format", "profd-dump"},
              {"version", 1},
              {"host", dump.host()},
              {"kernel", dump.kernel()},
              {"profd_version", dump.profd_version()},
              {"time_ns", dump.time_ns()},
              {"time_unix_ns", dump.time_unix_ns()},
              {"took_ns", dump.took_ns()},
              {"threads_left_out", dump.threads_left_out()}};
  json& processes = object["processes"] = json::array();
  for (int i = 0; i < dump.processes_size(); ++i)
    processes.push_back(ProcessOf(dump, static_cast<std::uint32_t>(i), options));
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
