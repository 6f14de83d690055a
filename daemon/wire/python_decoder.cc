#include "daemon/wire/python_decoder.h"

#include <array>
#include <string>
#include <utility>

namespace profd::wire {
namespace {

// What follows is of another runtime.
constexpr std::uint64_t kNext = PROFD_PYTHON_ANCHOR | PROFD_PYTHON_RUNTIME;

}  // namespace

bool ReadPythonFrames(std::span<const std::uint64_t> words, std::vector<PythonFrame>& frames) {
  if (words.size() > PROFD_MAX_PYTHON_WORDS) return false;
  std::uint32_t runtime = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((words[i] & kNext) == kNext) {
      const std::uint64_t next = words[i] & ~kNext;
      if (next <= runtime || next >= PROFD_MAX_PYTHON_RUNTIMES) return false;
      runtime = static_cast<std::uint32_t>(next);
      continue;
    }
    if ((words[i] & PROFD_PYTHON_ANCHOR) != 0) {
      frames.push_back(
          {.address = words[i] & ~PROFD_PYTHON_ANCHOR, .anchor = true, .runtime = runtime});
      continue;
    }
    if (i + 1 == words.size()) return false;
    const std::uint64_t code = words[i++];
    frames.push_back({.address = code,
                      .validator = static_cast<std::uint32_t>(words[i] >> 32),
                      .instruction = static_cast<std::uint32_t>(words[i]),
                      .runtime = runtime});
  }
  return true;
}

Result<Event> DecodePythonProcess(Bytes bytes) {
  profd_python_process_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_PYTHON_PROCESS, "shorter than its fixed part");
  if (fixed.chain > PROFD_PYTHON_ENTRY_FRAMES)
    return Corrupt(PROFD_EVENT_PYTHON_PROCESS, "unknown kind of frames");
  if (fixed.runtime >= PROFD_MAX_PYTHON_RUNTIMES)
    return Corrupt(PROFD_EVENT_PYTHON_PROCESS, "more runtimes than there may be");
  if (fixed.reason_bytes > tail.size())
    return Corrupt(PROFD_EVENT_PYTHON_PROCESS, "text beyond its end");
  return Event(PythonProcessEvent{.header = HeaderFrom(fixed.event),
                                  .runtime = fixed.runtime,
                                  .version = fixed.version,
                                  .chain = fixed.chain,
                                  .module = {fixed.module_begin, fixed.module_end},
                                  .eval = {fixed.eval_begin, fixed.eval_end},
                                  .gil = {fixed.gil_begin, fixed.gil_end},
                                  .reason = std::string(TextOf(tail.first(fixed.reason_bytes)))});
}

Result<Event> DecodePythonCode(Bytes bytes) {
  profd_python_code_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_PYTHON_CODE, "shorter than its fixed part");
  std::array<std::string, PROFD_PYTHON_TEXT_MAX> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::uint32_t length = fixed.text_bytes[i];
    if (length > tail.size()) return Corrupt(PROFD_EVENT_PYTHON_CODE, "text beyond its end");
    texts.at(i).assign(TextOf(tail.first(length)));
    tail = tail.subspan(length);
  }
  return Event(PythonCodeEvent{.header = HeaderFrom(fixed.event),
                               .runtime = fixed.runtime,
                               .code = fixed.code,
                               .validator = fixed.validator,
                               .stale = (fixed.event.flags & PROFD_PYTHON_CODE_STALE) != 0,
                               .version = fixed.version,
                               .first_line = fixed.first_line,
                               .name = std::move(texts[PROFD_PYTHON_NAME]),
                               .qualname = std::move(texts[PROFD_PYTHON_QUALNAME]),
                               .file = std::move(texts[PROFD_PYTHON_FILE]),
                               .lines = std::move(texts[PROFD_PYTHON_LINES])});
}

}  // namespace profd::wire
