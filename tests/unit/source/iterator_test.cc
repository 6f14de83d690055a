#include "daemon/source/bpf/iterator.h"

#include <gtest/gtest.h>
#include "tests/support/direct_reader.h"

namespace profd::source {
namespace {

wire::EventBytes Clock(std::uint32_t tid) {
  profd_clock_event clock{};
  clock.event.tid = tid;
  return wire::LayOut(PROFD_EVENT_CLOCK, clock);
}

wire::EventBytes Join(const std::vector<wire::EventBytes>& parts) {
  wire::EventBytes bytes;
  for (const wire::EventBytes& part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

TEST(SplitEvents, CutsWhatAnIteratorWrote) {
  bool malformed = true;
  const auto events = SplitEvents(Join({Clock(1), Clock(2), Clock(3)}), &malformed);
  EXPECT_FALSE(malformed);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1], Clock(2));
}

TEST(SplitEvents, NothingIsNoEvent) {
  bool malformed = true;
  EXPECT_TRUE(SplitEvents({}, &malformed).empty());
  EXPECT_FALSE(malformed);
}

TEST(SplitEvents, StopsAtWhatMakesNoSense) {
  bool malformed = false;
  auto bytes = Join({Clock(1), Clock(2)});
  bytes.pop_back();
  EXPECT_EQ(SplitEvents(bytes, &malformed).size(), 1u);
  EXPECT_TRUE(malformed);

  profd_event tiny{};
  tiny.size = 8;
  bytes = Join({Clock(1), wire::EventBytes(sizeof(tiny))});
  std::memcpy(bytes.data() + Clock(1).size(), &tiny, sizeof(tiny));
  EXPECT_EQ(SplitEvents(bytes, &malformed).size(), 1u);
  EXPECT_TRUE(malformed);
}

TEST(ReadIterator, AnIteratorThatCannotBeMadeIsAnError) {
  const auto read = ReadIterator(-1);
  ASSERT_FALSE(read);
  EXPECT_FALSE(OpenIterator(-1));
  test::DirectReaders readers(std::make_unique<IteratorParser>());
  EXPECT_FALSE(readers.Ask({}, {})) << "a request without an iterator";
}

}  // namespace
}  // namespace profd::source
