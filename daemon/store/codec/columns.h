// Columns: encodes numbers as variable-length bytes, in columns that are compressed together.
// Numbers of one kind are in one column, because equal and near numbers compress well side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace profd::store {

// Writes one column. A value takes one byte for each 7 bits.
class ColumnWriter {
 public:
  void Add(std::uint64_t value);
  void AddSigned(std::int64_t value);  // zigzag: a small absolute value takes few bytes
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads one column. Past its end, or after a value that no writer writes, it returns zeros and ok()
// is false. The bytes must outlive it.
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

// Compresses the length of each column and the columns, with a checksum. kExhausted: they have more
// than UnpackedColumns::kMaxBytes.
[[nodiscard]] Result<std::string> PackColumns(std::span<const ColumnWriter> columns, int level);

// Owns the unpacked bytes. kCorrupt: not made by PackColumns, or larger than kMaxBytes.
class UnpackedColumns {
 public:
  static constexpr std::size_t kMaxBytes = 256u << 20;

  [[nodiscard]] static Result<UnpackedColumns> From(std::span<const std::byte> packed,
                                                    std::size_t columns);
  [[nodiscard]] ColumnReader operator[](std::size_t column) const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // offset and length
};

}  // namespace profd::store
