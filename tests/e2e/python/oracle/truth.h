// Truth: what a program of the oracle said of its own stacks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace profd::oracle {

struct Frame {
  std::string name;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t first_line = 0;  // of its statement ...
  std::uint32_t last_line = 0;   // ... these are as good, at the leaf
  std::uint32_t function_line = 0;
};

using Chain = std::vector<std::size_t>;  // root first, indexes of Window::frames
using Names = std::map<std::string, std::vector<std::string>>;

// One thread between two times.
struct Window {
  int number = 0;  // of the case
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::string comm;  // where ids are those of another namespace: the thread's name
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  int minor = 0;  // of the version
  std::vector<Frame> frames;
  Chain prefix;
  std::vector<Chain> chains;  // any of them stands on prefix and repeat(), or none
  std::vector<Chain> interrupts;
  std::uint32_t call_line = 0;  // in repeat()
  bool hold = false;            // the prefix is all there is
  bool loose = false;
  bool gaps = false;
  bool native_only = false;  // no frames of Python
  bool apart = false;        // merge=failed is right as well
  bool alone = false;        // and so are chains that stand on nothing
  // Not 0: nothing is judged before this thread's runtime is understood.
  std::uint32_t known_by = 0;
  std::string known_in;
  Names before;  // by Python function; root first
  Names after;
  std::map<std::string, std::string> through;
  Names waits;  // by leaf; "*": any
  std::vector<std::string> needs;
  struct Short {
    std::string name;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  std::vector<Short> churn;  // the leaf's caller at each time
};

struct Truth {
  std::vector<Window> windows;
  std::map<int, std::string> skipped;  // case to reason
  std::map<int, std::string> errors;
};

// The file that the programs wrote.
[[nodiscard]] Result<Truth> ReadTruth(const std::string& path);

}  // namespace profd::oracle
