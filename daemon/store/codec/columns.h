// Columns: numbers as variable-length bytes, a column after the other, compressed as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace profd::store {

// One column being written. A value takes 1 byte for each 7 bits.
class ColumnWriter {
 public:
  void Add(std::uint64_t value);
  void AddSigned(std::int64_t value);  // small of either sign: few bytes
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads one column. Past its end, or on a value that no writer wrote, it gives zeros and is not
// ok() any more. The bytes must outlive it.
class ColumnReader {
 public:
  ColumnReader() = default;
  explicit ColumnReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t Next();
  [[nodiscard]] std::int64_t NextSigned();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

// Length of each column, then the columns, then zstd with a checksum over all of it.
[[nodiscard]] Result<std::string> PackColumns(std::span<const ColumnWriter> columns, int level);

// Owns what it unpacked. kCorrupt for anything that PackColumns does not make, and for more than
// `kMaxBytes`.
class UnpackedColumns {
 public:
  static constexpr std::size_t kMaxBytes = 256u << 20;

  [[nodiscard]] static Result<UnpackedColumns> From(std::span<const std::byte> packed,
                                                    std::size_t columns);
  [[nodiscard]] ColumnReader operator[](std::size_t column) const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // offset and length
};

}  // namespace profd::store
