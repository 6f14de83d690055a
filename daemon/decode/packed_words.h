// The packed tail of stacks.
#pragma once

#include "daemon/decode/fields.h"

namespace profd::decode {

// Takes `count` words of frames and CFAs off the front of `from`; PROFD_SAMPLE_PACKED in
// bpf/events.h says how they lie. False when they are not all there.
[[nodiscard]] bool TakePackedWords(Bytes& from, std::size_t count,
                                   std::vector<std::uint64_t>& words);

}  // namespace profd::decode
