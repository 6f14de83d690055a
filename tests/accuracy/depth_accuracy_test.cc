// Functions that call each other, through code that keeps no frame pointers.
#include <gmock/gmock.h>

#include <iostream>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

using DepthAccuracy = BuildTest;

TEST_P(DepthAccuracy, EachFunctionHasItsShareUpToTheRoot) {
  ASSERT_NO_FATAL_FAILURE(Collect({"depth", "--ms", "4000"}, 997, GetParam()));
  const TruthRun& run = *run_;
  for (const char* function : {"truth::Depth1", "truth::Depth2", "truth::Depth3", "truth::Depth4",
                               "truth::Depth5", "truth::Depth6"}) {
    ExpectShare(run, "deep", function, Side::kOnCpu);
    ExpectShare(run, "deep", function, Side::kOffCpu);
  }
  const auto stacks = run.MustThread("deep").CountStacks();
  std::cout << stacks.complete << " stacks to the root, " << stacks.not_ready
            << " before tables were ready, " << stacks.cut << " cut\n";
  EXPECT_GT(stacks.complete, 1000u);
  // A thread that begins or ends has no whole stack: that is one in 200 at most.
  EXPECT_LE(stacks.cut * 200, stacks.complete);
  EXPECT_THAT(stacks.roots, testing::SizeIs(1)) << "all of them begin where the thread does";
}

PROFD_EACH_BUILD(DepthAccuracy);

}  // namespace
}  // namespace profd::accuracy
