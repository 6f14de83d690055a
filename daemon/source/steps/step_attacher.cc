#include "daemon/source/steps/step_attacher.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "daemon/source/perf/perf_event.h"
#include "daemon/source/steps/answering_file.h"

namespace profd::source {
namespace {

constexpr unsigned kSemaphoreShift = 32;  // in perf_event_attr.config, as the kernel's format says

Result<AttachRequest> Unpack(std::string_view bytes) {
  reader::Unpacker fields(bytes);
  AttachRequest request;
  request.file.pid = fields.Number<std::uint32_t>();
  request.file.begin = fields.Number<std::uint64_t>();
  request.file.end = fields.Number<std::uint64_t>();
  request.file.device_major = fields.Number<std::uint32_t>();
  request.file.device_minor = fields.Number<std::uint32_t>();
  request.file.inode = fields.Number<std::uint64_t>();
  request.offset = fields.Number<std::uint64_t>();
  request.semaphore = fields.Number<std::uint64_t>();
  request.cookie = fields.Number<std::uint64_t>();
  request.event_type = fields.Number<std::uint32_t>();
  if (!fields.done()) return Error{ErrorCode::kInvalidArgument, "no such request", ""};
  return request;
}

// Of the process alone: the breakpoint is in no other one's memory. The kernel compares address
// spaces, so all threads of the process pass it; it goes with the first thread.
Result<UniqueFd> OpenEvent(const AttachRequest& request, int file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  perf_event_attr attr = MakePerfAttr(request.event_type, request.semaphore << kSemaphoreShift);
  attr.uprobe_path = reinterpret_cast<std::uint64_t>(path.c_str());
  attr.probe_offset = request.offset;
  UniqueFd event(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, static_cast<pid_t>(request.file.pid),
                                 -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (event.valid()) return event;
  Error error = ErrorFromErrno(errno, "cannot watch a function");
  if (errno == ENOENT || errno == EOPNOTSUPP)
    error = {ErrorCode::kUnsupported, "the kernel has no uprobes", "it needs CONFIG_UPROBE_EVENTS"};
  return error;
}

}  // namespace

std::string PackAttach(const AttachRequest& request) {
  return reader::Packer()
      .Number(request.file.pid)
      .Number(request.file.begin)
      .Number(request.file.end)
      .Number(request.file.device_major)
      .Number(request.file.device_minor)
      .Number(request.file.inode)
      .Number(request.offset)
      .Number(request.semaphore)
      .Number(request.cookie)
      .Number(request.event_type)
      .Take();
}

Result<std::string> StepAttacher::Answer(std::string_view request, reader::ParserContext context) {
  const auto wanted = Unpack(request);
  if (!wanted) return wanted.error();
  if (context.descriptors.size() != 1)
    return Error{ErrorCode::kInvalidArgument, "no program to attach", ""};
  const auto file = context.opener.Open({.what = reader::OpenRequest::What::kMapped,
                                         .pid = wanted->file.pid,
                                         .begin = wanted->file.begin,
                                         .end = wanted->file.end,
                                         .device_major = wanted->file.device_major,
                                         .device_minor = wanted->file.device_minor,
                                         .inode = wanted->file.inode});
  if (!file) return file.error();
  PROFD_TRY(CheckAnswers(context.opener, file->fd.get(), wanted->file.pid));
  // The page is in memory when the kernel looks for it.
  std::uint64_t instruction = 0;
  if (::pread(file->fd.get(), &instruction, sizeof instruction,
              static_cast<off_t>(wanted->offset)) <= 0)
    return Error{ErrorCode::kCorrupt, "the file has no such place", ""};
  auto event = OpenEvent(*wanted, file->fd.get());
  if (!event) return event.error();
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = wanted->cookie});
  UniqueFd link(
      ::bpf_link_create(context.descriptors.front().get(), event->get(), BPF_PERF_EVENT, &options));
  if (!link.valid()) return ErrorFromErrno(errno, "cannot attach to a function");
  attached_.push_back(*std::move(event));
  attached_.push_back(std::move(link));
  return std::string();
}

}  // namespace profd::source
