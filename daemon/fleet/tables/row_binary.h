// RowBinary: values in ClickHouse's format of that name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace profd::fleet {

// Appends values of one row after another. Integers are little-endian; a text and a list are behind
// their length. Used by one thread.
class RowBinary {
 public:
  void Int8(std::int8_t value) { bytes_ += static_cast<char>(value); }
  void UInt32(std::uint64_t value);  // more than fits becomes the most that fits
  void UInt64(std::uint64_t value);
  void Float64(double value);
  void Text(std::string_view text);
  // Of an array or a map, whose values follow.
  void Length(std::uint64_t length);
  void Map(const std::map<std::string, std::string>& map);
  void Map(const std::map<std::string, std::uint64_t>& map);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

}  // namespace profd::fleet
