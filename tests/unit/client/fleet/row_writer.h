// RowWriter: answers of ClickHouse in RowBinary, made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace profd::testing {

class RowWriter {
 public:
  RowWriter& Text(std::string_view text) {
    Length(text.size());
    bytes_ += text;
    return *this;
  }
  RowWriter& Byte(std::uint8_t byte) {
    bytes_ += static_cast<char>(byte);
    return *this;
  }
  RowWriter& Number(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) Byte(static_cast<std::uint8_t>(number >> (8 * i)));
    return *this;
  }
  RowWriter& Real(double real) {
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof real);
    __builtin_memcpy(&bits, &real, sizeof bits);
    return Number(bits);
  }
  RowWriter& Texts(const std::vector<std::string>& texts) {
    Length(texts.size());
    for (const std::string& text : texts) Text(text);
    return *this;
  }
  RowWriter& Length(std::uint64_t length) {
    for (; length >= 0x80; length >>= 7) Byte(static_cast<std::uint8_t>(length | 0x80));
    return Byte(static_cast<std::uint8_t>(length));
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace profd::testing
