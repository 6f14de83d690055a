#include "daemon/source/perf/perf_ring.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <string>
#include <vector>

namespace profd::source {
namespace {

// A ring of `bytes` in which records of the given sizes follow each other from `tail` on.
struct Ring {
  std::vector<std::byte> data;
  std::uint64_t tail;
  std::uint64_t head;

  Ring(std::size_t bytes, std::uint64_t from) : data(bytes), tail(from), head(from) {}

  void Put(std::uint16_t claimed, std::uint16_t actual, unsigned char fill) {
    const perf_event_header header{1, 0, claimed};
    std::vector<std::byte> record(actual, std::byte{fill});
    std::memcpy(record.data(), &header, std::min<std::size_t>(sizeof(header), actual));
    for (const std::byte byte : record) data[head++ % data.size()] = byte;
  }
  void Put(std::uint16_t size, unsigned char fill) { Put(size, size, fill); }

  bool Walk(std::vector<std::vector<std::byte>>* records) const {
    return WalkPerfRing(data, tail, head, [&](std::span<const std::byte> record) {
      records->emplace_back(record.begin(), record.end());
    });
  }
};

TEST(PerfRing, HandsOverRecordsInOrderAndAroundTheEnd) {
  for (std::uint64_t from = 0; from < 64; from += 8) {
    Ring ring(64, from);
    ring.Put(16, 'a');
    ring.Put(40, 'b');
    ring.Put(8, 'c');
    std::vector<std::vector<std::byte>> records;
    ASSERT_TRUE(ring.Walk(&records)) << from;
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].size(), 16u);
    EXPECT_EQ(records[1].size(), 40u);
    EXPECT_EQ(records[1][39], std::byte{'b'});
    EXPECT_EQ(records[2].size(), 8u);
  }
}

TEST(PerfRing, EmptyRingHasNone) {
  std::vector<std::vector<std::byte>> records;
  EXPECT_TRUE(Ring(64, 1000).Walk(&records));
  EXPECT_TRUE(records.empty());
}

TEST(PerfRing, ImpossibleLengthsEndTheWalk) {
  struct Case {
    std::uint16_t claimed;
    std::uint16_t actual;
  };
  for (const Case bad : {Case{0, 16}, Case{4, 16}, Case{24, 16}, Case{65535, 16}, Case{8, 4}}) {
    Ring ring(64, 56);
    ring.Put(16, 'a');
    ring.Put(bad.claimed, bad.actual, 'b');
    std::vector<std::vector<std::byte>> records;
    EXPECT_FALSE(ring.Walk(&records)) << bad.claimed;
    EXPECT_EQ(records.size(), 1u);
  }
}

TEST(PerfRing, AHeadFartherThanTheRingIsRefused) {
  Ring ring(64, 0);
  ring.head = 72;
  std::vector<std::vector<std::byte>> records;
  EXPECT_FALSE(ring.Walk(&records));
  EXPECT_TRUE(records.empty());
}

}  // namespace
}  // namespace profd::source
