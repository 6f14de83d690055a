// MadeFunctions: functions in code that a process has made at run time and that nothing lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/result.h"
#include "daemon/reader/opener.h"
#include "daemon/unwind/code/row.h"

namespace profd::symbolize {

// What lies in a window of a process's addresses, which begins at a multiple of kBytes.
struct MadeWindow {
  static constexpr std::uint64_t kBytes = 64u << 10;
  static constexpr std::size_t kMaxFunctions = 8'192;

  std::uint64_t hash = 0;  // of the code and of where it is mapped
  // With code in the window, ascending and disjoint. Only those whose begin is certain.
  std::vector<unwind::CodeRange> functions;
};

// What a reader process says of a window.
struct MadeAnswer {
  std::optional<MadeWindow> window;  // nothing: it is as it was
  std::uint64_t cost = 0;            // as JitProgress::cost
};

// In a reader process: of the window that holds `address`. Only executable anonymous memory that
// the process itself may read is read. `known`: the hash that the caller has.
[[nodiscard]] Result<std::string> ReadMadeWindow(std::uint32_t pid, std::uint64_t address,
                                                 std::optional<std::uint64_t> known,
                                                 reader::FileOpener& opener);
// In the daemon; nothing: it makes no sense.
[[nodiscard]] std::optional<MadeAnswer> UnpackMadeWindow(std::string_view answer,
                                                         std::uint64_t address);

// Keeps the windows that were used last. A window is compared with what it was, ever less often
// while it stays so; where an address belongs to no function, at least each kMissedNs. Until then a
// function that is gone has its name. Belongs to one process; used by one thread.
class MadeFunctions {
 public:
  static constexpr std::uint64_t kFirstNs = 20'000'000;
  static constexpr std::uint64_t kMissedNs = 1'000'000'000;
  static constexpr std::uint64_t kLastNs = 16'000'000'000;
  static constexpr std::size_t kMaxBytes = 8u << 20;

  // The window of `address` is to be read, or compared.
  [[nodiscard]] bool IsDue(std::uint64_t address, std::uint64_t now_ns);
  [[nodiscard]] std::optional<std::uint64_t> HashAt(std::uint64_t address);
  // Nothing: it is as it was, or could not be read.
  void Take(std::uint64_t address, std::optional<MadeWindow> read, std::uint64_t now_ns);
  [[nodiscard]] std::optional<unwind::CodeRange> Find(std::uint64_t address);
  void Clear() { windows_.Clear(); }
  // Memory, about.
  [[nodiscard]] std::size_t bytes() const { return windows_.cost(); }

 private:
  struct Window {
    bool is_known = false;
    MadeWindow read;
    std::uint64_t checked_ns = 0;
    std::uint64_t pause_ns = kFirstNs;
  };
  using Windows = LruCache<std::uint64_t, Window>;

  Windows windows_{Windows::kUnbounded, kMaxBytes};  // by address / MadeWindow::kBytes
};

// "[code made at run time]!fn_7f0012345000": no two functions of a process have the same.
[[nodiscard]] std::string NameOfMade(const unwind::CodeRange& function);

}  // namespace profd::symbolize
