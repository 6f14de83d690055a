// The version of an interpreter that exports no Py_Version (3.10 and older), from its constants.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::python {

// Fed with pieces of a file one after the other. Looks for two constants that end with a
// zero: "cpython-39", the tag of its byte code, and "3.9.18", its version.
class VersionSearch {
 public:
  // Consecutive pieces must share this many bytes.
  static constexpr std::size_t kOverlap = 32;

  void Look(std::string_view piece);
  // As PY_VERSION_HEX; the lower half is 0 where only the minor is known. 0: no tag, or several.
  [[nodiscard]] std::uint32_t version() const;

 private:
  static constexpr std::size_t kMinors = 32;

  void SeeTag(std::string_view digits);
  void SeeVersion(std::string_view text);

  std::uint32_t tagged_ = 0;             // bit i: 3.i has a tag
  std::uint32_t patches_[kMinors] = {};  // 1 + patch level of "3.i.x"; 0: none
};

}  // namespace profd::python
