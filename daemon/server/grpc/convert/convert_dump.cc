#include "daemon/aggregate/program_names.h"
#include "daemon/server/grpc/convert/convert.h"
#include "daemon/server/grpc/convert/convert_parts.h"

namespace profd::server {
namespace {

void Fill(const aggregate::DumpThread& thread, v1::DumpThread& proto) {
  proto.set_tid(thread.shown_tid);
  proto.set_start_ns(thread.key.start_ns);
  proto.set_process(thread.process);
  proto.set_comm(Utf8(thread.comm));
  proto.set_state(static_cast<v1::State>(thread.state));
  proto.set_wait(static_cast<v1::WaitReason>(thread.wait));
  proto.set_seen_ns(thread.seen_ns);
  proto.set_since_ns(thread.since_ns);
  proto.set_stack_ns(thread.stack_ns);
  for (const auto frame : thread.frames) proto.add_frame(frame);
  proto.set_no_stack(thread.no_stack);
  proto.set_stack_flags(thread.stack_flags);
  if (thread.uncertain_from) proto.set_uncertain_from(*thread.uncertain_from);
  proto.set_in_syscall(thread.syscall >= 0);
  if (thread.syscall >= 0) {
    proto.set_syscall(static_cast<std::uint32_t>(thread.syscall));
    for (const auto argument : thread.syscall_args) proto.add_syscall_arg(argument);
  }
  proto.set_python(thread.python);
  proto.set_gil(static_cast<v1::Gil>(thread.gil));
  proto.set_merge_failed(thread.merge_failed);
}

}  // namespace

v1::Dump ToProto(const aggregate::Dump& dump) {
  v1::Dump proto;
  proto.set_time_ns(dump.time_ns);
  proto.set_time_unix_ns(dump.time_unix_ns);
  proto.set_took_ns(dump.took_ns);
  proto.set_host(Utf8(dump.host));
  proto.set_kernel(Utf8(dump.kernel));
  proto.set_profd_version(Utf8(dump.profd_version));
  for (const auto& process : dump.processes) Fill(process, *proto.add_processes());
  for (const auto& thread : dump.threads) Fill(thread, *proto.add_threads());
  const auto programs = aggregate::ProgramNames(dump.processes);
  for (const auto& frame : dump.frames) Fill(frame, programs, *proto.add_frames());
  proto.set_threads_left_out(dump.threads_left_out);
  return proto;
}

}  // namespace profd::server
