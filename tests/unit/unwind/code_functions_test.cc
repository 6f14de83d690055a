// The functions that only the code of this program shows.
#include "daemon/unwind/cfi/code_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/kernels/code_kernels.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

using elf::FunctionExtent;
using elf::FunctionFinder;

TEST(CodeFunctionsTest, FindsEachKernelAndReadsTheFileOnce) {
  CodeFunctions functions;
  int opened = 0;
  elf::FileStamp stamp;
  stamp.bytes = OpenSystemFile("/proc/self/exe").bytes;
  const auto open = [&]() -> Result<UniqueFd> {
    ++opened;
    return OpenSystemFile("/proc/self/exe").fd;
  };
  const std::uint64_t bias = LoadBias();
  std::vector<FunctionExtent> found;
  for (std::uint64_t piece = FunctionFinder::PieceOf(test::CodeKernelsBegin() - bias);
       piece < test::CodeKernelsEnd() - bias; piece += FunctionFinder::kPieceBytes) {
    const auto part = functions.Find(stamp, open, piece);
    ASSERT_TRUE(part) << part.error().message;
    for (const FunctionExtent& one : *part)
      if (found.empty() || found.back().end <= one.begin) found.push_back(one);
  }
  EXPECT_EQ(opened, 1);
  for (const test::CodeKernel& kernel : test::CodeKernels()) {
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(kernel.run) - bias;
    const auto function = std::ranges::find(found, begin, &FunctionExtent::begin);
    ASSERT_NE(function, found.end()) << kernel.name;
    EXPECT_LE(function->end, test::CodeKernelsEnd() - bias) << kernel.name;
  }
}

TEST(CodeFunctionsTest, AFileThatIsGoneIsAnError) {
  CodeFunctions functions;
  const auto gone = [] { return Result<UniqueFd>(Error{ErrorCode::kNotFound, "gone", ""}); };
  EXPECT_EQ(functions.Find({}, gone, 0).error().message, "gone");
}

}  // namespace
}  // namespace profd::unwind
