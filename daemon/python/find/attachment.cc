#include "daemon/python/find/attachment.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/python/code/type_names.h"

namespace profd::python {
namespace {

constexpr std::size_t kMaxInterpreters = 256;
constexpr std::size_t kMaxStates = 64;  // any of them shows the place
constexpr int kMaxEntryFrames = 8;      // that may lie on top of the first Python frame
constexpr std::size_t kTriedKeys = 64;
constexpr std::uint64_t kMaxAddress = 1ull << 47;

Error NotYet(std::string message) { return Error{ErrorCode::kUnavailable, std::move(message), ""}; }

// The process has ended or is about to.
Error Unreadable() { return NotYet(std::string(kUnreadable)); }

Error NotMapped() { return NotYet("its mapping is none of the file's segments"); }

bool IsAddress(std::uint64_t word) { return word != 0 && word % 8 == 0 && word < kMaxAddress; }

// One interpreter of a process, by one layout.
class Reader {
 public:
  Reader(const ProcessMemory& memory, const Layout& layout, std::uint64_t runtime)
      : memory_(memory), layout_(layout), runtime_(runtime) {}

  [[nodiscard]] Result<std::vector<ThreadState>> ReadStates() const;
  [[nodiscard]] std::optional<Slot> FindSlotOf(const std::vector<ThreadState>& states) const;
  // Whether the innermost frame of some thread runs a code object.
  [[nodiscard]] bool FramesMakeSense(const std::vector<ThreadState>& states) const;
  // struct _gil_runtime_state; 0: not known.
  [[nodiscard]] std::uint64_t FindGil() const;
  void TouchFramesOf(std::uint64_t state) const;

 private:
  [[nodiscard]] std::optional<std::uint32_t> ReadKey() const;
  [[nodiscard]] std::uint64_t Word(std::uint64_t address) const {
    std::uint64_t word = 0;
    return memory_.Get(address, &word) ? word : 0;
  }
  [[nodiscard]] Result<void> ReadStatesOf(std::uint64_t interpreter,
                                          std::vector<ThreadState>& states) const;
  [[nodiscard]] std::uint64_t FirstFrame(std::uint64_t state) const;
  [[nodiscard]] std::uint64_t FirstCode(std::uint64_t state) const;

  const ProcessMemory& memory_;
  const Layout& layout_;
  const std::uint64_t runtime_;
};

Result<std::vector<ThreadState>> Reader::ReadStates() const {
  std::uint64_t interpreter = 0;
  if (!memory_.Get(runtime_ + layout_.interpreters_head, &interpreter)) return Unreadable();
  if (interpreter == 0) return NotYet(std::string(kNotInitialised));
  std::vector<ThreadState> states;
  for (std::size_t i = 0; interpreter != 0 && i < kMaxInterpreters; ++i) {
    if (!IsAddress(interpreter)) return NotYet("its list of interpreters makes no sense");
    PROFD_TRY(ReadStatesOf(interpreter, states));
    interpreter = Word(interpreter + layout_.interpreter_next);
  }
  if (states.empty()) return NotYet("it has no threads");
  return states;
}

Result<void> Reader::ReadStatesOf(std::uint64_t interpreter,
                                  std::vector<ThreadState>& states) const {
  std::uint64_t state = Word(interpreter + layout_.interpreter_threads);
  while (state != 0 && states.size() < kMaxStates) {
    if (!IsAddress(state) || Word(state + layout_.thread_interpreter) != interpreter)
      return NotYet("its list of threads makes no sense");
    states.push_back({state, Word(state + layout_.process.thread_id)});
    state = Word(state + layout_.thread_next);
  }
  return {};
}

std::optional<std::uint32_t> Reader::ReadKey() const {
  struct {
    std::int32_t initialised;
    std::uint32_t key;
  } slot{};
  if (layout_.slot_key == 0 || !memory_.Get(runtime_ + layout_.slot_key, &slot) ||
      slot.initialised != 1)
    return std::nullopt;
  return slot.key;
}

std::optional<Slot> Reader::FindSlotOf(const std::vector<ThreadState>& states) const {
  if (layout_.slot_key == 0) return FindSlot(memory_, states, {});
  std::vector<std::uint32_t> keys;
  if (const auto key = ReadKey()) {
    keys.push_back(*key);
    if (const auto slot = FindSlot(memory_, states, keys)) return slot;
  }
  if (!KnownVersion(layout_.version)->has_offsets()) return std::nullopt;
  // The place of the key is not among the offsets: it may be another than in the first release.
  keys.resize(kTriedKeys);
  std::iota(keys.begin(), keys.end(), 0u);
  return FindSlot(memory_, states, keys);
}

std::uint64_t Reader::FirstFrame(std::uint64_t state) const {
  const profd_python_process& process = layout_.process;
  switch (process.chain) {
    case PROFD_PYTHON_OBJECTS_AND_CFRAMES:
      return Word(state + process.first_frame);
    case PROFD_PYTHON_ENTRY_FLAGS:
    case PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME:
      return Word(Word(state + process.current) + process.cframe_current);
    default:
      return Word(state + process.current);
  }
}

std::uint64_t Reader::FirstCode(std::uint64_t state) const {
  const profd_python_process& process = layout_.process;
  std::uint64_t frame = FirstFrame(state);
  for (int i = 0; i < kMaxEntryFrames && IsAddress(frame); ++i) {
    std::uint8_t owner = 0;
    if (process.chain >= PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME &&
        !memory_.Get(frame + process.frame_owner, &owner))
      return 0;
    if (owner < PROFD_PYTHON_OWNED_BY_INTERPRETER)
      return Word(frame + process.frame_code) & ~std::uint64_t{process.code_mask};
    frame = Word(frame + process.frame_previous);
  }
  return 0;
}

bool Reader::FramesMakeSense(const std::vector<ThreadState>& states) const {
  TypeNames types(memory_);
  return std::any_of(states.begin(), states.end(), [&](const ThreadState& state) {
    const std::uint64_t code = FirstCode(state.address);
    return IsAddress(code) && types.Is(code, TypeNames::kCode) &&
           types.Is(Word(code + layout_.process.code_name), TypeNames::kStr) &&
           types.Is(Word(code + layout_.code_lines), TypeNames::kBytes);
  });
}

std::uint64_t Reader::FindGil() const {
  std::uint64_t gil = runtime_ + layout_.runtime_gil;
  if (layout_.runtime_gil == 0) {
    const std::uint64_t main = Word(runtime_ + layout_.interpreters_head + 8);
    if (layout_.interpreter_gil == 0 || !IsAddress(main)) return 0;
    gil = Word(main + layout_.interpreter_gil);
    if (!IsAddress(gil)) return 0;
  }
  // -1 until threads can be made.
  std::int32_t locked = 0;
  const bool fits = memory_.Get(gil + layout_.gil_locked, &locked) && locked >= -1 && locked <= 1;
  return fits ? gil : 0;
}

void Reader::TouchFramesOf(std::uint64_t state) const {
  const profd_python_process& process = layout_.process;
  std::uint64_t frame = FirstFrame(state);
  for (int i = 0; i < PROFD_MAX_PYTHON_FRAMES && IsAddress(frame); ++i) {
    (void)Word(frame + process.frame_bytes - 8);
    const std::uint64_t code = Word(frame + process.frame_code) & ~std::uint64_t{process.code_mask};
    (void)Word(code + layout_.CodeHeaderBytes() - 8);
    (void)Word(Word(code + process.code_name) + process.string_hash);
    frame = Word(frame + process.frame_previous);
  }
}

Result<RuntimeState> ReadBy(const Layout& layout, const ProcessMemory& memory,
                            std::uint64_t runtime) {
  const Reader reader(memory, layout, runtime);
  const auto states = reader.ReadStates();
  if (!states) return states.error();
  if (!reader.FramesMakeSense(*states)) return NotYet("no thread runs Python code");
  const auto slot = reader.FindSlotOf(*states);
  if (!slot) return NotYet("no place is found where its threads keep their states");
  return RuntimeState{
      .version = {.number = layout.version, .offsets = {}}, .slot = *slot, .gil = reader.FindGil()};
}

// The file has neither a number nor a text of its version: the layout that fits the process counts.
Result<RuntimeState> ReadUnknown(const ProcessMemory& memory, std::uint64_t runtime) {
  Result<RuntimeState> last = NotYet("its version is not known");
  for (const PythonVersion& version : kPythonVersions) {
    const auto layout = LayoutOf(version.number() << 16);
    if (!layout) continue;
    last = ReadBy(*layout, memory, runtime);
    if (last) return last;
  }
  return last;
}

Result<RuntimeState> ReadByOffsets(const ProcessMemory& memory, std::uint64_t runtime) {
  std::vector<std::uint64_t> words(kDebugOffsetWords);
  if (!memory.Read(runtime, std::as_writable_bytes(std::span(words)))) return Unreadable();
  const auto layout = LayoutFromOffsets(words);
  if (!layout) return layout.error();
  auto state = ReadBy(*layout, memory, runtime);
  if (state) state->version.offsets = std::move(words);
  return state;
}

}  // namespace

Result<Layout> LayoutOf(const RuntimeVersion& version) {
  return version.offsets.empty() ? LayoutOf(version.number) : LayoutFromOffsets(version.offsets);
}

Result<RuntimeState> ReadRuntime(const ProcessMemory& memory, const RuntimeFile& file,
                                 const ModuleMapping& mapping) {
  if (!file.refused.empty()) return Error{ErrorCode::kUnsupported, file.refused, ""};
  const auto bias = file.BiasOf(mapping.begin, mapping.file_offset);
  if (!bias) return NotMapped();
  const std::uint64_t runtime = *bias + file.runtime;
  Result<RuntimeState> state = NotYet("");
  const PythonVersion* version = KnownVersion(file.version);
  if (version != nullptr && version->has_offsets()) {
    state = ReadByOffsets(memory, runtime);
  } else if (file.version != 0) {
    const auto layout = LayoutOf(file.version);
    state = layout ? ReadBy(*layout, memory, runtime) : layout.error();
  } else {
    state = ReadUnknown(memory, runtime);
  }
  if (!state && !memory.Exists()) return Error{ErrorCode::kNotFound, "the process has ended", ""};
  return state;
}

Result<Attachment> AttachmentOf(const RuntimeState& state, const RuntimeFile& file,
                                const ModuleMapping& mapping) {
  const auto bias = file.BiasOf(mapping.begin, mapping.file_offset);
  if (!bias) return NotMapped();
  auto layout = LayoutOf(state.version);
  if (!layout) return layout.error();
  Attachment attachment;
  attachment.version = {.number = layout->version, .offsets = state.version.offsets};
  attachment.layout = *layout;
  attachment.runtime = *bias + file.runtime;
  attachment.certain = state.slot.certain;
  attachment.module = {mapping.begin, mapping.end};
  if (file.eval_end != 0) attachment.eval = {*bias + file.eval_begin, *bias + file.eval_end};
  profd_python_process& process = attachment.layout.process;
  process.slot = state.slot.offset;
  process.slot_inner = state.slot.inner;
  if (state.gil == 0) return attachment;
  process.gil = state.gil;
  process.interpreter_gil = layout->interpreter_gil;
  process.thread_interpreter = static_cast<__u16>(layout->thread_interpreter);
  process.gil_locked = static_cast<__u16>(layout->gil_locked);
  process.gil_holder = static_cast<__u16>(layout->gil_holder);
  attachment.gil = {state.gil + PROFD_PYTHON_GIL_WAITS, state.gil + PROFD_PYTHON_GIL_BYTES};
  return attachment;
}

void TouchFrames(const ProcessMemory& memory, const Layout& layout, std::uint64_t runtime) {
  const Reader reader(memory, layout, runtime);
  const auto states = reader.ReadStates();
  if (!states) return;
  for (const ThreadState& state : *states) reader.TouchFramesOf(state.address);
}

}  // namespace profd::python
