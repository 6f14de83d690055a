#include "client/text/progress_bar.h"

#include <gtest/gtest.h>

#include "client/text/text.h"

namespace profd::client {
namespace {

CollectionProgress HalfWay() {
  CollectionProgress progress;
  progress.target = "4242 (python3 train.py) and its 9 threads";
  progress.elapsed_ns = 5'000'000'000;
  progress.duration_ns = 10'000'000'000;
  progress.samples = 3'214;
  return progress;
}

TEST(ProgressBarTest, SaysWhatHowFarAndWhatIsLost) {
  EXPECT_EQ(RenderProgress(HalfWay(), 130),
            "collecting 4242 (python3 train.py) and its 9 threads  [##########----------]  "
            "5.0/10.0 s   3,214 samples   0 lost");
}

TEST(ProgressBarTest, GivesWayToTheWidthButNotWithItsNumbers) {
  EXPECT_EQ(RenderProgress(HalfWay(), 100),
            "collecting 4242 (p... and its 9 threads  [##########----------]  "
            "5.0/10.0 s   3,214 samples   0 lost");
  for (std::size_t width = 40; width < 140; ++width) {
    const std::string line = RenderProgress(HalfWay(), width);
    EXPECT_LE(DisplayWidth(line), width);
    EXPECT_NE(line.find("5.0/10.0 s   3,214 samples   0 lost"), std::string::npos) << line;
  }
  for (std::size_t width = 0; width < 40; ++width)
    EXPECT_LE(DisplayWidth(RenderProgress(HalfWay(), width)), width);
}

TEST(ProgressBarTest, WithoutAnEndThereIsNoBar) {
  CollectionProgress progress = HalfWay();
  progress.duration_ns = 0;
  const std::string line = RenderProgress(progress, 130);
  EXPECT_EQ(line.find('['), std::string::npos);
  EXPECT_NE(line.find("5.0 s"), std::string::npos);
}

TEST(ProgressBarTest, DoesNotRunOverItsEnd) {
  CollectionProgress progress = HalfWay();
  progress.elapsed_ns = 11'000'000'000;
  progress.finishing = true;
  const std::string line = RenderProgress(progress, 130);
  EXPECT_NE(line.find("[####################]"), std::string::npos);
  EXPECT_NE(line.find("finding names"), std::string::npos);
}

}  // namespace
}  // namespace profd::client
