#include "daemon/python/code/layout.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace profd::python {
namespace {

using Words = std::vector<std::uint64_t>;

std::uint64_t Cookie() {
  std::uint64_t cookie = 0;
  std::memcpy(&cookie, "xdebugpy", sizeof cookie);
  return cookie;
}

Words Full(Words words) {
  words.resize(kDebugOffsetWords);
  return words;
}

// _Py_DebugOffsets as the interpreters have them, to the instructions of code objects; what is not
// requested is 1, 3, ...
Words Offsets313() {
  return Full({Cookie(), 0x030d00f0, 0,    283320, 608,  632, 194968, 7272, 7264, 7344, 7400,
               7656,     7640,       7648, 16,     7752, 0,   7768,   7760, 304,  0,    8,
               16,       72,         152,  160,    232,  32,  80,     8,    0,    56,   72,
               70,       208,        112,  120,    128,  136, 68,     52,   96,   104,  200});
}

Words Offsets314() {
  return Full({Cookie(), 0x030e0af0, 0,   1,    1,   808,  1,    7280, 7272, 7344, 7360, 1,  1,
               1,        1,          16,  7784, 1,   7800, 7792, 7992, 1,    312,  0,    8,  16,
               72,       152,        160, 1,    32,  88,   8,    0,    56,   80,   74,   64, 1,
               216,      112,        120, 128,  136, 68,   52,   96,   104,  208,  1});
}

Words Offsets315(bool early) {
  Words words{Cookie(), 0x030f02f0, 0, 1,    1,    936,  1, 7272, 7264, 7336, 7352, 1,  1,  1, 1,
              16,       7736,       1, 7752, 7744, 7944, 1, 400,  0,    8,    16,   72, 80, 88};
  if (!early) words.push_back(96);
  const Words rest{176, 184, 1, 32,  36,  40,  1,   1,   8,  88, 8,  0,   56,  80,
                   74,  64,  1, 216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 1};
  words.insert(words.end(), rest.begin(), rest.end());
  return Full(words);
}

TEST(Layout, ReadsOffsetsByVersion) {
  const auto v313 = LayoutFromOffsets(Offsets313());
  ASSERT_TRUE(v313) << v313.error().message;
  EXPECT_EQ(v313->interpreters_head, 632u);
  EXPECT_EQ(v313->interpreter_next, 7264u);
  EXPECT_EQ(v313->interpreter_threads, 7344u);
  EXPECT_EQ(v313->interpreter_gil, 16u);
  EXPECT_EQ(v313->gil_locked, 16u);
  EXPECT_EQ(v313->gil_holder, 8u);
  EXPECT_EQ(v313->process.thread_id, 152);
  EXPECT_EQ(v313->process.frame_owner, 70);
  EXPECT_EQ(v313->process.frame_bytes, 72);
  EXPECT_EQ(v313->process.code_instructions, 200);
  EXPECT_EQ(v313->process.code_version, 92);
  EXPECT_EQ(v313->process.code_mask, 0u);

  const auto v314 = LayoutFromOffsets(Offsets314());
  ASSERT_TRUE(v314) << v314.error().message;
  EXPECT_EQ(v314->interpreters_head, 808u);
  EXPECT_EQ(v314->interpreter_threads, 7344u);
  EXPECT_EQ(v314->gil_locked, 16u);
  EXPECT_EQ(v314->process.thread_id, 152);
  EXPECT_EQ(v314->process.current, 72);
  EXPECT_EQ(v314->process.frame_owner, 74);
  EXPECT_EQ(v314->process.frame_bytes, 80);
  EXPECT_EQ(v314->process.code_instructions, 208);
  EXPECT_EQ(v314->process.code_mask, 3u);

  for (const bool early : {false, true}) {
    const auto v315 = LayoutFromOffsets(Offsets315(early));
    ASSERT_TRUE(v315) << v315.error().message;
    EXPECT_EQ(v315->interpreters_head, 936u);
    EXPECT_EQ(v315->process.thread_id, 176);
    EXPECT_EQ(v315->process.current, 72);
    EXPECT_EQ(v315->process.frame_instruction, 56);
    EXPECT_EQ(v315->code_first_line, 68u);
    EXPECT_EQ(v315->process.code_instructions, 208);
    EXPECT_EQ(v315->slot_key, 0u);
  }
}

TEST(Layout, RefusesWithAReason) {
  EXPECT_EQ(LayoutOf(0x02071200).error().message, "CPython 2.7.18 is not supported");
  EXPECT_EQ(LayoutOf(0x030600f0).error().message, "CPython 3.6.0 is not supported");
  auto words = Offsets313();
  words[2] = 1;
  EXPECT_EQ(LayoutFromOffsets(words).error().message,
            "CPython 3.13.0: free-threaded builds are not supported");
  words = Offsets313();
  words[1] = 0x036300f0;
  EXPECT_EQ(LayoutFromOffsets(words).error().message, "CPython 3.99.0 is not supported");
  words[1] = 0x030c00f0;
  EXPECT_EQ(LayoutFromOffsets(words).error().message, "CPython 3.12.0 is not supported")
      << "has no offsets";
  words[0] = 0;
  EXPECT_EQ(LayoutFromOffsets(words).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(VersionText(0x030f00c2), "3.15.0rc2");
  EXPECT_EQ(VersionText(0x03080000), "3.8");
}

TEST(Layout, BelievesNoNumber) {
  const auto good = Offsets313();
  const std::array<std::size_t, 12> used{5, 8, 9, 14, 21, 23, 24, 29, 31, 33, 35, 43};
  for (const std::size_t i : used) {
    auto words = good;
    words[i] = ~0ull;
    EXPECT_EQ(LayoutFromOffsets(words).error().code, ErrorCode::kUnsupported) << i;
  }
  EXPECT_FALSE(LayoutFromOffsets(std::span(good).first(40)));
}

TEST(Layout, EveryTableFitsTheKernelSide) {
  for (const PythonVersion& version : kPythonVersions) {
    const auto layout = LayoutOf(version.number() << 16);
    ASSERT_EQ(layout.ok(), !version.has_offsets()) << version.minor;
    if (!layout) continue;
    const profd_python_process& process = layout->process;
    EXPECT_EQ(process.frame_bytes % 8, 0);
    EXPECT_LE(process.frame_bytes, PROFD_PYTHON_FRAME_BYTES);
    EXPECT_LE(process.code_words, PROFD_PYTHON_CODE_WORDS);
    EXPECT_LT(process.frame_instruction, process.frame_bytes);
    EXPECT_LT(process.frame_previous, process.frame_bytes);
    EXPECT_LT(process.frame_owner, process.frame_bytes);
    EXPECT_GE(layout->CodeHeaderBytes(), layout->code_lines + 8u);
    // Every code object can be distinguished from a later one in its memory.
    EXPECT_NE(process.code_version == 0, process.code_file == 0);
    EXPECT_EQ(process.code_lines, process.code_version == 0 ? layout->code_lines : 0);
  }
}

}  // namespace
}  // namespace profd::python
