// ContentHash: a hash that is the same on every host and of every build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace profd::fleet {

// Collects what is hashed. Used by one thread.
class ContentHash {
 public:
  void Number(std::uint64_t number);  // 8 bytes, little-endian
  void Text(std::string_view text);   // behind its length

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // The first 8 bytes, as a big-endian number, of their XXH3 of 128 bits (canonical form).
  [[nodiscard]] std::uint64_t Hash() const { return Of(bytes_); }
  // The same of bytes that are there already.
  [[nodiscard]] static std::uint64_t Of(std::string_view bytes);

 private:
  std::string bytes_;
};

}  // namespace profd::fleet
