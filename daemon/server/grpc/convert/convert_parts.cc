#include "daemon/server/grpc/convert/convert_parts.h"

namespace profd::server {

// The enums of both sides have the same words in the same order.
static_assert(static_cast<int>(process::State::kBlocked) == v1::STATE_BLOCKED);
static_assert(static_cast<int>(process::WaitReason::kLock) == v1::WAIT_LOCK);
static_assert(static_cast<int>(process::WaitReason::kPoll) == v1::WAIT_POLL);
static_assert(static_cast<int>(process::WaitReason::kOther) == v1::WAIT_OTHER);
static_assert(static_cast<int>(process::Gil::kUnknown) == v1::GIL_UNKNOWN);
static_assert(static_cast<int>(process::Gil::kHeld) == v1::GIL_HELD);
static_assert(static_cast<int>(process::Gil::kWaited) == v1::GIL_WAITED);
static_assert(static_cast<int>(symbolize::FrameKind::kKernel) == v1::FRAME_KERNEL);
static_assert(static_cast<int>(symbolize::FrameKind::kPseudo) == v1::FRAME_PSEUDO);

std::string Utf8(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size());
  const auto at = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
  };
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned lead = at(i);
    std::size_t length = 0;
    if (lead < 0x80) length = 1;
    if (lead >= 0xC2 && lead < 0xE0) length = 2;
    if (lead >= 0xE0 && lead < 0xF0) length = 3;
    if (lead >= 0xF0 && lead < 0xF5) length = 4;
    bool good = length != 0;
    for (std::size_t j = 1; j < length; ++j) good = good && (at(i + j) & 0xC0) == 0x80;
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    if (lead == 0xE0) good = good && at(i + 1) >= 0xA0;
    if (lead == 0xED) good = good && at(i + 1) < 0xA0;
    if (lead == 0xF0) good = good && at(i + 1) >= 0x90;
    if (lead == 0xF4) good = good && at(i + 1) < 0x90;
    if (good) {
      text.append(bytes, i, length);
      i += length;
    } else {
      text += "\xEF\xBF\xBD";  // U+FFFD
      ++i;
    }
  }
  return text;
}

void Fill(const aggregate::ProfileProcess& process, v1::Process& proto) {
  proto.set_pid(process.shown_pid);
  proto.set_start_ns(process.key.start_ns);
  proto.set_comm(Utf8(process.comm));
  proto.set_command_line(Utf8(process.command_line));
  proto.set_cgroup(Utf8(process.cgroup));
  proto.set_exited(process.exited);
  proto.set_executable(Utf8(process.executable));
  proto.set_container(Utf8(process.container));
  proto.set_unit(Utf8(process.unit));
  if (process.owner.uid) proto.set_uid(*process.owner.uid);
  proto.set_user(Utf8(process.owner.user));
  proto.set_build_id(Utf8(process.build_id));
  if (!process.interpreter) return;
  const auto& version = process.interpreter->version;
  proto.set_python(version.empty() ? "?" : Utf8(version));
  proto.set_python_refused(Utf8(process.interpreter->refused));
}

void Fill(const symbolize::Frame& frame, const std::map<std::string, std::string>& programs,
          v1::Frame& proto) {
  proto.set_kind(static_cast<v1::FrameKind>(frame.kind));
  proto.set_inlined(frame.inlined);
  proto.set_name(Utf8(frame.name));
  proto.set_full_name(Utf8(frame.full_name));
  proto.set_symbol(Utf8(frame.symbol));
  proto.set_module(Utf8(frame.module));
  proto.set_offset(frame.offset);
  proto.set_file(Utf8(frame.file));
  proto.set_line(frame.line);
  proto.set_reason(Utf8(frame.reason));
  proto.set_interpreter(frame.interpreter);
  if (!frame.name.empty()) return;
  if (const auto program = programs.find(frame.module); program != programs.end())
    proto.set_program(Utf8(program->second));
}

}  // namespace profd::server
