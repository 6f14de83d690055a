// Reading BPF task iterators: here, or in a reader process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/reader/zygote.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Runs the iterator behind `link_fd` over all tasks and returns what it wrote. Only for programs
// that cannot sleep: nothing stops them.
[[nodiscard]] Result<std::vector<std::byte>> ReadIterator(int link_fd);

// Makes a file from which the iterator behind `link_fd` can be read once.
[[nodiscard]] Result<UniqueFd> OpenIterator(int link_fd);

// Reads an iterator, whose file comes with the request, in a reader process. For programs that may
// sleep: they read the memory of other processes and so wait for their locks and their pages. Only
// a fatal signal ends the wait, and sometimes not even that.
class IteratorParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;
};

// Cuts what an iterator wrote into events. Stops at the first that makes no sense, and says so.
[[nodiscard]] std::vector<wire::EventBytes> SplitEvents(std::span<const std::byte> bytes,
                                                        bool* malformed);

}  // namespace profd::source
