#include "daemon/python/code/layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

namespace profd::python {
namespace {

// Field release level and serial of PY_VERSION_HEX.
constexpr std::uint32_t kFinal = 0xf;

Error Unsupported(std::string message) {
  return Error{ErrorCode::kUnsupported, std::move(message), ""};
}

// 3.7 to 3.9: frame objects. Code objects of 3.7 lack an int at their beginning.
Layout FrameObjects() {
  Layout layout;
  layout.interpreters_head = 32;
  layout.interpreter_threads = 8;
  layout.code_file = 104;
  layout.code_first_line = 40;
  layout.code_lines = 120;
  layout.ascii_bytes = 48;
  layout.compact_bytes = 72;
  profd_python_process& process = layout.process;
  process.chain = PROFD_PYTHON_OBJECTS;
  process.thread_id = 176;
  process.current = 24;
  process.frame_bytes = 112;
  process.frame_previous = 24;
  process.frame_code = 32;
  process.frame_instruction = 104;
  process.code_constant = 16;  // co_argcount to co_lnotab
  process.code_words = 14;
  process.code_name = 112;
  process.string_hash = 24;
  return layout;
}

Layout Python37() {
  Layout layout = FrameObjects();
  layout.interpreters_head = 24;
  layout.slot_key = 1504;
  layout.runtime_gil = 1264;
  layout.code_file = 96;
  layout.code_first_line = 36;
  layout.code_lines = 112;
  layout.process.code_name = 104;
  layout.process.code_words = 13;
  return layout;
}

Layout Python38() {
  Layout layout = FrameObjects();
  layout.slot_key = 1392;
  layout.runtime_gil = 1152;
  return layout;
}

Layout Python39() {
  Layout layout = FrameObjects();
  layout.slot_key = 584;
  layout.runtime_gil = 352;
  return layout;
}

Layout Python310() {
  Layout layout = Python39();
  profd_python_process& process = layout.process;
  process.chain = PROFD_PYTHON_OBJECTS_AND_CFRAMES;
  process.current = 48;
  process.cframe_previous = 8;
  process.first_frame = 24;
  process.frame_bytes = 104;
  process.frame_instruction = 96;
  return layout;
}

// 3.11 and later: frames of the interpreter's own.
Layout Python311() {
  Layout layout;
  layout.interpreters_head = 40;
  layout.slot_key = 592;
  layout.runtime_gil = 360;
  layout.interpreter_threads = 16;
  layout.code_file = 112;
  layout.code_qualname = 128;
  layout.code_first_line = 72;
  layout.code_lines = 136;
  layout.ascii_bytes = 48;
  layout.compact_bytes = 72;
  profd_python_process& process = layout.process;
  process.chain = PROFD_PYTHON_ENTRY_FLAGS;
  process.thread_id = 152;
  process.current = 56;
  process.cframe_current = 8;
  process.cframe_previous = 16;
  process.frame_bytes = 72;
  process.frame_previous = 48;
  process.frame_code = 32;
  process.frame_instruction = 56;
  process.frame_owner = 68;
  process.code_instructions = 184;
  process.code_constant = 56;  // co_argcount to co_linetable
  process.code_words = 11;
  process.code_name = 120;
  process.string_hash = 24;
  return layout;
}

Layout Python312() {
  Layout layout = Python311();
  layout.slot_key = 1544;
  layout.runtime_gil = 0;
  layout.interpreter_threads = 72;
  layout.interpreter_gil = 384;
  layout.code_first_line = 68;
  layout.ascii_bytes = 40;
  layout.compact_bytes = 56;
  profd_python_process& process = layout.process;
  process.chain = PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME;
  process.thread_id = 136;
  process.cframe_current = 0;
  process.cframe_previous = 8;
  process.frame_previous = 8;
  process.frame_code = 0;
  process.frame_owner = 70;
  process.code_instructions = 192;
  process.code_version = 92;
  return layout;
}

constexpr std::size_t kVersion = 1;
constexpr std::size_t kFreeThreaded = 2;
constexpr std::size_t kInterpretersHead = 5;
constexpr std::size_t kInterpreterNext = 8;

// Whether the numbers at these indexes can be what they are taken for.
bool MakesSense(std::span<const std::uint64_t> words, const PythonOffsets& at) {
  if (at.threads_head == 0) return false;
  constexpr std::uint64_t kMaxInState = 1u << 20;  // interpreters are some 100 KiB
  constexpr std::uint64_t kMaxInObject = 1024;
  const auto below = [&](std::uint64_t bound, std::initializer_list<std::size_t> indexes) {
    return std::all_of(indexes.begin(), indexes.end(),
                       [&](std::size_t i) { return words[i] < bound && words[i] % 2 == 0; });
  };
  const std::uint64_t frame_bytes = words[at.frame];
  return below(kMaxInState, {kInterpretersHead, kInterpreterNext, at.threads_head, at.ceval_gil}) &&
         below(kMaxInObject, {at.thread + 2, at.thread + 3, at.thread + 4, at.thread_id}) &&
         below(kMaxInObject, {at.code + 1, at.code + 2, at.code + 3, at.code + 4, at.code + 5,
                              at.code_instructions}) &&
         words[at.thread_id + 1] == words[at.thread_id] + 8 && words[at.thread] < 4096 &&
         frame_bytes >= 64 && frame_bytes < kMaxInObject &&
         below(frame_bytes, {at.frame + 1, at.frame + 2, at.frame + 3, at.frame + 5}) &&
         words[at.frame + 5] < PROFD_PYTHON_FRAME_BYTES - 8 &&
         words[at.frame + 3] < PROFD_PYTHON_FRAME_BYTES - 8 &&
         words[at.code + 2] == words[at.code + 1] + 8 &&
         words[at.code + 3] == words[at.code + 2] + 8 &&
         words[at.code_instructions] < words[at.code] &&
         words[at.code_instructions] + 8 >= words[at.code];
}

template <typename To>
To Narrow(std::uint64_t value) {
  return static_cast<To>(value);  // MakesSense has bounded it
}

}  // namespace

std::string VersionText(std::uint32_t version) {
  std::string text = std::to_string(version >> 24) + "." + std::to_string(version >> 16 & 0xff);
  if ((version & 0xffff) == 0) return text;
  text += "." + std::to_string(version >> 8 & 0xff);
  const std::uint32_t level = version >> 4 & 0xf;
  if (level != kFinal && level != 0)
    text += (level == 0xa ? "a" : level == 0xb ? "b" : "rc") + std::to_string(version & 0xf);
  return text;
}

std::size_t Layout::CodeHeaderBytes() const {
  const std::size_t constant_end = process.code_constant + 8u * process.code_words;
  return std::max<std::size_t>({constant_end, code_lines + 8u, code_file + 8u, code_qualname + 8u,
                                process.code_name + 8u, code_first_line + 4u});
}

Result<Layout> LayoutOf(std::uint32_t version) {
  Layout layout;
  switch (version >> 16) {
    case 0x0307:
      layout = Python37();
      break;
    case 0x0308:
      layout = Python38();
      break;
    case 0x0309:
      layout = Python39();
      break;
    case 0x030a:
      layout = Python310();
      break;
    case 0x030b:
      layout = Python311();
      break;
    case 0x030c:
      layout = Python312();
      break;
    default:
      return Unsupported("CPython " + VersionText(version) + " is not supported");
  }
  layout.version = version;
  if (layout.process.code_version == 0) {
    layout.process.code_file = Narrow<__u16>(layout.code_file);
    layout.process.code_qualname = Narrow<__u16>(layout.code_qualname);
    layout.process.code_lines = Narrow<__u16>(layout.code_lines);
  }
  return layout;
}

Result<Layout> LayoutFromOffsets(std::span<const std::uint64_t> words) {
  if (words.size() < kDebugOffsetWords) return Unsupported("too few offsets");
  if (words[0] == 0) return Error{ErrorCode::kUnavailable, "its offsets are not written yet", ""};
  if (std::memcmp(words.data(), "xdebugpy", 8) != 0) return Unsupported("no offsets are there");
  const auto version = Narrow<std::uint32_t>(words[kVersion]);
  const PythonVersion* known_version = KnownVersion(version);
  if (words[kVersion] != version || known_version == nullptr || !known_version->has_offsets())
    return Unsupported("CPython " + VersionText(version) + " is not supported");
  if (words[kFreeThreaded] != 0)
    return Unsupported("CPython " + VersionText(version) +
                       ": free-threaded builds are not supported");
  const PythonOffsets* at = &known_version->offsets;
  if (!MakesSense(words, *at)) at = &known_version->early_offsets;
  if (!MakesSense(words, *at))
    return Unsupported("the offsets of CPython " + VersionText(version) + " make no sense");

  Layout layout = Python312();
  layout.version = version;
  layout.interpreters_head = Narrow<std::uint32_t>(words[kInterpretersHead]);
  layout.slot_key = known_version->slot_key;  // a guess, which is checked by its value
  layout.interpreter_next = Narrow<std::uint32_t>(words[kInterpreterNext]);
  layout.interpreter_threads = Narrow<std::uint32_t>(words[at->threads_head]);
  layout.interpreter_gil = Narrow<std::uint32_t>(words[at->ceval_gil]);
  layout.gil_locked = Narrow<std::uint32_t>(words[at->ceval_gil + 3] - words[at->ceval_gil + 1]);
  layout.gil_holder = Narrow<std::uint32_t>(words[at->ceval_gil + 4] - words[at->ceval_gil + 1]);
  if (layout.gil_locked >= PROFD_PYTHON_GIL_BYTES || layout.gil_holder >= PROFD_PYTHON_GIL_BYTES)
    layout.interpreter_gil = 0;
  layout.thread_next = Narrow<std::uint32_t>(words[at->thread + 2]);
  layout.thread_interpreter = Narrow<std::uint32_t>(words[at->thread + 3]);
  layout.code_file = Narrow<std::uint32_t>(words[at->code + 1]);
  layout.code_qualname = Narrow<std::uint32_t>(words[at->code + 3]);
  layout.code_lines = Narrow<std::uint32_t>(words[at->code + 4]);
  layout.code_first_line = Narrow<std::uint32_t>(words[at->code + 5]);
  profd_python_process& process = layout.process;
  process.chain = PROFD_PYTHON_ENTRY_FRAMES;
  process.code_mask = known_version->tag_bits;
  process.thread_id = Narrow<__u16>(words[at->thread_id]);
  process.current = Narrow<__u16>(words[at->thread + 4]);
  process.cframe_previous = 0;
  process.frame_previous = Narrow<__u16>(words[at->frame + 1]);
  process.frame_code = Narrow<__u16>(words[at->frame + 2]);
  process.frame_instruction = Narrow<__u16>(words[at->frame + 3]);
  process.frame_owner = Narrow<__u16>(words[at->frame + 5]);
  const unsigned last = std::max(
      {process.frame_previous, process.frame_code, process.frame_instruction, process.frame_owner});
  process.frame_bytes = Narrow<__u16>(last / 8 * 8 + 8);
  process.code_name = Narrow<__u16>(words[at->code + 2]);
  process.code_instructions = Narrow<__u16>(words[at->code_instructions]);
  // Where the fields beside it lie as in 3.12, so does the version.
  const Layout known = Python312();
  const bool same = layout.code_first_line == known.code_first_line &&
                    layout.code_file == known.code_file && layout.code_lines == known.code_lines;
  if (!same) {
    process.code_version = 0;
    process.code_constant = static_cast<__u16>(layout.code_file);  // to the line table
    process.code_words = 4;
  }
  return layout;
}

}  // namespace profd::python
