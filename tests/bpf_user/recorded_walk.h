// RecordedWalk: what the walk of one real stack looked at, and what it found, as text.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/result.h"
#include "tests/bpf_user/bpf_as_user.h"

namespace profd {

// The format is in tests/data/walks/README.md.
struct RecordedWalk {
  struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::string name;  // of the file; "-" for memory that is not executable
  };
  // The rule of [begin, end) of the file of a mapping.
  struct Row {
    std::size_t mapping = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    profd_unwind_rule rule{};
  };
  std::vector<std::string> about;  // comments
  user_registers registers{};
  std::vector<Mapping> mappings;  // ascending; at most 16
  std::vector<Row> rows;          // ascending by mapping, then by offset
  std::map<std::uint64_t, std::uint64_t> words;
  std::string found;  // as Replay says it

  [[nodiscard]] static Result<RecordedWalk> Read(std::istream& in);
  void Write(std::ostream& out) const;
};

// Reads one word of the process that is walked; false: it cannot be read.
using WordReader = std::function<bool(std::uint64_t address, std::uint64_t& word)>;
struct ReplayedWalk {
  std::string found;  // a line a frame, leaf first: `frame MODULE+OFFSET`, `!` exact, `?` uncertain
  std::vector<std::uint64_t> looked_up;  // addresses whose rules were requested
};
// Walks with these registers, mappings and rows; memory from the recorded words, or from `memory`.
[[nodiscard]] ReplayedWalk Replay(const RecordedWalk& walk, bool task_reader,
                                  const WordReader& memory = {});

}  // namespace profd
