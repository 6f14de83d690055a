// Packer, Unpacker: how requests to a reader process and its answers are laid out as bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace profd::reader {

// Appends fields. Both sides are of one build on one machine, so numbers keep the byte order of the
// machine.
class Packer {
 public:
  template <typename T>
  Packer& Number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  // A struct of plain numbers, as it is.
  template <typename T>
  Packer& Plain(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  // With its length before it.
  Packer& Text(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  [[nodiscard]] std::string Take() { return std::move(bytes_); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

// Takes the fields again, in the same order. The bytes may come from a process that a hostile file
// has taken over: every length is checked, and after the first field that does not fit all fields
// are 0 or empty and ok() is false.
class Unpacker {
 public:
  // `bytes` must outlive this and what Text() returns.
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  [[nodiscard]] T Number() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    // Any byte may come; of a bool, only 0 and 1 are values.
    if constexpr (std::is_same_v<T, bool>) return Number<std::uint8_t>() != 0;
    T value{};
    if (!Has(sizeof value)) return value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  // Of plain numbers alone: any bytes may come.
  template <typename T>
  [[nodiscard]] T Plain() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (!Has(sizeof value)) return value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  [[nodiscard]] std::string_view Text() {
    const auto bytes = Number<std::uint32_t>();
    if (!Has(bytes)) return {};
    const std::string_view text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return text;
  }
  // How many elements follow; 0 when the rest is too short for so many of at least `element_bytes`
  // each.
  [[nodiscard]] std::uint32_t Count(std::size_t element_bytes) {
    const auto count = Number<std::uint32_t>();
    return Has(count * element_bytes) ? count : 0;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  // Whether every field was there, and nothing more.
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

 private:
  [[nodiscard]] bool Has(std::size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) rest_ = {};
    return ok_;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Whether a text of an answer may be shown to people: a parser that was taken over could write
// anything.
[[nodiscard]] inline bool IsShowable(std::string_view text) {
  constexpr std::size_t kMaxBytes = 256;
  return text.size() <= kMaxBytes &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace profd::reader
