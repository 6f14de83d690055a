#include "client/screens/dump/dump_facts.h"

#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "client/profile/profile_facts.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

bool IsShown(const v1::Frame& frame, const DumpOptions& options) {
  return options.interpreter_frames || !frame.interpreter();
}

// System calls that threads wait in and whose first argument is the descriptor that they wait for.
constexpr std::array<std::string_view, 24> kOnDescriptors{
    "accept",     "accept4",         "connect",  "epoll_pwait", "epoll_pwait2",
    "epoll_wait", "fallocate",       "fcntl",    "fdatasync",   "flock",
    "fsync",      "io_uring_enter",  "ioctl",    "pread64",     "pwrite64",
    "read",       "readv",           "recvfrom", "recvmsg",     "sendmsg",
    "sendto",     "sync_file_range", "write",    "writev"};

}  // namespace

ProcessFacts FactsOf(const v1::Dump& dump, std::uint32_t process) {
  // "3.12.1 + 3.11.7"
  const std::string& versions = dump.processes(static_cast<int>(process)).python();
  const bool several = versions.find(" + ") != std::string::npos;
  ProcessFacts facts;
  for (const v1::DumpThread& thread : dump.threads()) {
    if (thread.process() != process) continue;
    facts.threads.push_back(&thread);
    facts.has_gil = facts.has_gil || thread.python();
    facts.gil_known =
        facts.gil_known || (thread.gil() != v1::GIL_NONE && thread.gil() != v1::GIL_UNKNOWN);
    if (thread.wait() == v1::WAIT_GIL) ++facts.gil_waiters;
    if (thread.gil() != v1::GIL_HELD) continue;
    if (several || facts.holders.empty()) {
      facts.holders.push_back(&thread);
    } else if (thread.seen_ns() >= facts.holders.front()->seen_ns()) {
      facts.holders.front() = &thread;
    }
  }
  return facts;
}

std::vector<const v1::DumpThread*> HoldersOf(const v1::Dump& dump, const v1::DumpThread& thread) {
  std::vector<const v1::DumpThread*> holders;
  const v1::DumpThread* now = &thread;
  while (now->owner() != 0) {
    now = &dump.threads(static_cast<int>(now->owner()) - 1);
    const bool again = now == &thread || std::ranges::find(holders, now) != holders.end();
    holders.push_back(now);
    if (again) break;
  }
  return holders;
}

std::vector<std::vector<const v1::DumpThread*>> Deadlocks(const v1::Dump& dump) {
  std::vector<std::vector<const v1::DumpThread*>> deadlocks;
  for (const v1::DumpThread& thread : dump.threads()) {
    std::vector<const v1::DumpThread*> circle = HoldersOf(dump, thread);
    if (circle.empty() || circle.back() != &thread) continue;  // it may wait for a circle
    std::ranges::rotate(circle, circle.end() - 1);
    const bool is_first = std::ranges::none_of(
        circle, [&](const v1::DumpThread* other) { return other->tid() < thread.tid(); });
    if (is_first) deadlocks.push_back(std::move(circle));
  }
  return deadlocks;
}

bool IsByFramePointer(const v1::DumpThread& thread) {
  return (thread.stack_flags() & kStackByFramePointer) != 0;
}

std::size_t CertainFrames(const v1::Dump& dump, const v1::DumpThread& thread,
                          const DumpOptions& options) {
  const int certain =
      thread.has_uncertain_from()
          ? static_cast<int>(std::min<std::uint32_t>(
                thread.uncertain_from(), static_cast<std::uint32_t>(thread.frame_size())))
          : thread.frame_size();
  return static_cast<std::size_t>(std::count_if(
      thread.frame().begin(), thread.frame().begin() + certain,
      [&](std::uint32_t index) { return IsShown(dump.frames(static_cast<int>(index)), options); }));
}

std::vector<const v1::Frame*> ShownFrames(const v1::Dump& dump, const v1::DumpThread& thread,
                                          const DumpOptions& options) {
  std::vector<const v1::Frame*> shown;
  for (const auto index : thread.frame()) {
    const v1::Frame& frame = dump.frames(static_cast<int>(index));
    if (IsShown(frame, options)) shown.push_back(&frame);
  }
  return shown;
}

std::string SyscallName(std::uint32_t number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, static_cast<int>(number)), &std::free);
  return name == nullptr ? "" : name.get();
}

std::string SyscallText(const v1::DumpThread& thread) {
  if (!thread.in_syscall()) return "";
  std::string name = SyscallName(thread.syscall());
  if (name.empty()) return "syscall " + std::to_string(thread.syscall());
  if (thread.syscall_arg().empty()) return name;
  const std::uint64_t first = thread.syscall_arg(0);
  const auto number = static_cast<std::int32_t>(first);
  if (name == "futex") return name + " " + HexNumber(first);
  // Not above 0: any child, or one of a group.
  if (name == "wait4" && number > 0) return name + " pid " + std::to_string(number);
  if (std::ranges::find(kOnDescriptors, name) != kOnDescriptors.end())
    return name + " fd " + std::to_string(number);
  return name;
}

}  // namespace profd::client
