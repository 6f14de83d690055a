// RowReader: rows of ClickHouse's format RowBinary, which a server may have made of anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

// Reads value after value. The first that does not fit makes it fail for good: from then on values
// are empty, and `error` says so. `bytes` must outlive it. Used by one thread.
class RowReader {
 public:
  static constexpr std::size_t kMaxTextBytes = 64u << 10;
  static constexpr std::size_t kMaxItems = 4096;  // of an array

  explicit RowReader(std::string_view bytes) : left_(bytes) {}

  // Another row begins here.
  [[nodiscard]] bool more() const { return !failed_ && !left_.empty(); }
  [[nodiscard]] Result<void> error() const;

  [[nodiscard]] std::uint8_t Byte();
  [[nodiscard]] std::uint32_t Number32();
  [[nodiscard]] std::uint64_t Number64();
  [[nodiscard]] double Real();
  [[nodiscard]] std::string Text();
  [[nodiscard]] std::size_t Count();  // of an array or a map, whose items follow
  void Fail() { failed_ = true; }

 private:
  [[nodiscard]] std::string_view Take(std::size_t bytes);
  template <typename Number>
  [[nodiscard]] Number Plain();
  [[nodiscard]] std::uint64_t Length();

  std::string_view left_;
  bool failed_ = false;
};

// Arrays of texts.
[[nodiscard]] std::vector<std::string> TextsOf(RowReader& reader);

}  // namespace profd::client
