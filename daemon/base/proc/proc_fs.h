// ProcFs: the only way anything in profd reads /proc. Takes a root, so tests use a tree of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd {

// Immutable; safe from any thread. Every read is bounded by `max_bytes`; a longer file is kIo.
class ProcFs {
 public:
  static constexpr std::size_t kDefaultMaxBytes = 64u << 20;

  explicit ProcFs(std::string root = "/proc") : root_(std::move(root)) {}

  // `path` is relative to the root: "self/stat", "1234/maps".
  [[nodiscard]] Result<std::string> Read(std::string_view path,
                                         std::size_t max_bytes = kDefaultMaxBytes) const;
  [[nodiscard]] Result<std::string> ReadLink(std::string_view path) const;
  // Names that are all digits, as numbers, ascending: pids of "/proc", tids of "1234/task".
  [[nodiscard]] Result<std::vector<std::uint32_t>> ListNumbers(std::string_view path) const;
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string Path(std::string_view path) const;

 private:
  std::string root_;
};

}  // namespace profd
