// PythonVersions: the CPython versions that profd understands, and how they differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace profd {

// Indexes of words in _Py_DebugOffsets, by which a process itself says where its fields lie.
struct PythonOffsets {
  std::size_t threads_head = 0;  // 0: this version has none
  std::size_t ceval_gil = 0;     // then gil_runtime_state, its `enabled`, `locked`, `holder`
  std::size_t thread = 0;        // size of a thread state, then prev, next, interp, current_frame
  std::size_t thread_id = 0;     // then native_thread_id
  std::size_t frame = 0;         // size, previous, executable, instr_ptr, localsplus, owner
  std::size_t code = 0;          // size, filename, name, qualname, linetable, firstlineno
  std::size_t code_instructions = 0;
};

// How a code object says its lines (python/code/line_table.h).
enum class PythonLines { kPairs, kRanges, kLocations };

struct PythonVersion {
  std::uint32_t major = 3;
  std::uint32_t minor = 0;
  PythonLines lines = PythonLines::kLocations;
  // None: the layout is a function of python/code/layout.cc. The second stands for early releases.
  PythonOffsets offsets{};
  PythonOffsets early_offsets{};
  // Of versions with offsets, which do not hold these: where _PyRuntime has the key of the slot, as
  // a first guess (0: there is no key), and the tag bits of a reference to a code object.
  std::uint32_t slot_key = 0;
  std::uint32_t tag_bits = 0;

  // As in PY_VERSION_HEX: major << 8 | minor.
  [[nodiscard]] constexpr std::uint32_t number() const { return major << 8 | minor; }
  [[nodiscard]] constexpr bool has_offsets() const { return offsets.threads_head != 0; }
};

// Ascending, without gaps. One line a version: scripts/pythons reads them, too. It stands in base/
// because profctl names the oldest and the newest one.
inline constexpr std::array kPythonVersions{
    // clang-format off
    PythonVersion{3, 7, PythonLines::kPairs},  // code objects lack an int at their beginning
    PythonVersion{3, 8, PythonLines::kPairs},
    PythonVersion{3, 9, PythonLines::kPairs},
    PythonVersion{3, 10, PythonLines::kRanges},  // C frames point to frame objects
    PythonVersion{3, 11},  // frames of the interpreter's own
    PythonVersion{3, 12},  // each interpreter has a GIL; code objects have versions
    PythonVersion{3, 13, PythonLines::kLocations, {9, 14, 19, 24, 28, 34, 43}, {}, 2160},
    PythonVersion{3, 14, PythonLines::kLocations, {9, 15, 22, 27, 31, 39, 48}, {}, 2336, 3},
    // base_frame and last_profiled_frame stand before thread_id, in releases a third; holds_gil,
    // gil_requested, two for exceptions and a group of one word stand after the status. No key.
    PythonVersion{3, 15, PythonLines::kLocations,
                  {9, 15, 22, 30, 39, 47, 56}, {9, 15, 22, 29, 38, 46, 55}, 0, 3},
    // clang-format on
};

// Null when it is not among them.
[[nodiscard]] constexpr const PythonVersion* FindPythonVersion(std::uint32_t number) {
  for (const PythonVersion& version : kPythonVersions)
    if (version.number() == number) return &version;
  return nullptr;
}

// "3.7 to 3.15".
[[nodiscard]] inline std::string PythonVersionRange() {
  const auto text = [](const PythonVersion& version) {
    return std::to_string(version.major) + "." + std::to_string(version.minor);
  };
  return text(kPythonVersions.front()) + " to " + text(kPythonVersions.back());
}

}  // namespace profd
