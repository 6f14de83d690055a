// ProgressBar: one line that says how far a collection is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace profd::client {

struct CollectionProgress {
  std::string target;  // safe text: "4242 (python3 train.py) and its 9 threads"
  std::uint64_t elapsed_ns = 0;
  std::uint64_t duration_ns = 0;  // 0: until it is stopped
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  bool finishing = false;  // collected; names are being found
};

// At most `width` columns, no newline. On a narrow terminal the bar goes first, then the middle of
// the target; numbers stay whole.
[[nodiscard]] std::string RenderProgress(const CollectionProgress& progress, std::size_t width);

}  // namespace profd::client
