// SharedText: a short text that one process writes and others read, without waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace profd::fleet {

// Job: memory that a process shares with those it forks. Two slots take turns, so a reader finds a
// whole text unless the writer has written twice meanwhile. One writer; any readers. A writer that
// is killed, or writes nonsense, costs a text.
class SharedText {
 public:
  static constexpr std::size_t kMaxBytes = 64u << 10;

  [[nodiscard]] static Result<SharedText> Make();

  // Too long a text is not written.
  void Write(std::string_view text);
  // Nothing: there is none yet, or it changes all the time.
  [[nodiscard]] std::optional<std::string> Read() const;

 private:
  struct Memory;
  struct Unmap {
    void operator()(Memory* memory) const;
  };
  explicit SharedText(Memory* memory) : memory_(memory) {}

  std::unique_ptr<Memory, Unmap> memory_;
};

}  // namespace profd::fleet
