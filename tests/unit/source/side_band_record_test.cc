#include "daemon/source/perf/side_band_record.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <string>

#include "daemon/wire/event_bytes.h"

namespace profd::source {
namespace {

// Writes records the way kernel/events/core.c does.
class RecordWriter {
 public:
  template <typename T>
  RecordWriter& Put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  // Text with its zero, padded to 8 bytes.
  RecordWriter& PutName(const std::string& name) {
    bytes_.append(name);
    do {
      bytes_.push_back('\0');
    } while (bytes_.size() % 8 != 0);
    return *this;
  }
  std::vector<std::byte> Finish(std::uint32_t type, std::uint16_t misc = 0) {
    const perf_event_header header{type, misc,
                                   static_cast<std::uint16_t>(bytes_.size() + sizeof(header))};
    std::vector<std::byte> record(header.size);
    std::memcpy(record.data(), &header, sizeof(header));
    std::memcpy(record.data() + sizeof(header), bytes_.data(), bytes_.size());
    return record;
  }

 private:
  std::string bytes_;
};

std::vector<std::byte> Mmap2(const std::string& name, std::uint16_t misc = 0) {
  return RecordWriter()
      .Put(std::uint32_t{11})
      .Put(std::uint32_t{12})
      .Put(std::uint64_t{0x7f0000000000})
      .Put(std::uint64_t{0x2000})
      .Put(std::uint64_t{0x1000})
      .Put(std::uint32_t{8})
      .Put(std::uint32_t{1})
      .Put(std::uint64_t{4711})
      .Put(std::uint64_t{3})
      .Put(std::uint32_t{5})
      .Put(std::uint32_t{2})
      .PutName(name)
      .Put(std::uint64_t{123'456})
      .Finish(PERF_RECORD_MMAP2, misc);
}

profd_mmap_event FixedOf(const SideBandRecord& record) {
  profd_mmap_event fixed{};
  EXPECT_TRUE(record.mmap && wire::ReadFixed(*record.mmap, &fixed));
  return fixed;
}

std::string PathOf(const SideBandRecord& record) {
  const auto fixed = FixedOf(record);
  return {reinterpret_cast<const char*>(record.mmap->data()) + sizeof(fixed), fixed.path_bytes};
}

TEST(SideBandRecord, MmapBecomesAnEvent) {
  const auto record = DecodeSideBand(Mmap2("/usr/lib/libfoo.so.1"), 3);
  const profd_mmap_event fixed = FixedOf(record);
  EXPECT_EQ(fixed.event.kind, PROFD_EVENT_MMAP);
  EXPECT_EQ(fixed.event.size, record.mmap->size());
  EXPECT_EQ(fixed.event.time_ns, 123'456u);
  EXPECT_EQ(fixed.event.pid, 11u);
  EXPECT_EQ(fixed.event.tid, 12u);
  EXPECT_EQ(fixed.event.cpu, 3u);
  EXPECT_EQ(fixed.address, 0x7f0000000000u);
  EXPECT_EQ(fixed.bytes, 0x2000u);
  EXPECT_EQ(fixed.file_offset, 0x1000u);
  EXPECT_EQ(fixed.device_major, 8u);
  EXPECT_EQ(fixed.device_minor, 1u);
  EXPECT_EQ(fixed.inode, 4711u);
  EXPECT_EQ(fixed.inode_generation, 3u);
  EXPECT_EQ(fixed.prot, 5u);
  EXPECT_EQ(PathOf(record), std::string("/usr/lib/libfoo.so.1\0", 21));
  EXPECT_FALSE(record.malformed);
}

TEST(SideBandRecord, AnonymousMemoryReadsAsInMaps) {
  EXPECT_EQ(PathOf(DecodeSideBand(Mmap2("//anon"), 0)), std::string(1, '\0'));
  EXPECT_EQ(PathOf(DecodeSideBand(Mmap2("[vdso]"), 0)), std::string("[vdso]\0", 7));
}

TEST(SideBandRecord, ABuildIdIsNoInode) {
  const auto fixed = FixedOf(DecodeSideBand(Mmap2("/x", PERF_RECORD_MISC_MMAP_BUILD_ID), 0));
  EXPECT_EQ(fixed.inode, 0u);
  EXPECT_EQ(fixed.device_major, 0u);
}

TEST(SideBandRecord, LostRecordsAreCounted) {
  const auto bytes = RecordWriter()
                         .Put(std::uint64_t{1})
                         .Put(std::uint64_t{17})
                         .Put(std::uint64_t{5})
                         .Finish(PERF_RECORD_LOST);
  const auto record = DecodeSideBand(bytes, 0);
  EXPECT_EQ(record.lost, 17u);
  EXPECT_FALSE(record.mmap);
}

TEST(SideBandRecord, OtherKindsAreEmpty) {
  const auto record = DecodeSideBand(RecordWriter().PutName("x").Finish(PERF_RECORD_COMM), 0);
  EXPECT_FALSE(record.mmap);
  EXPECT_EQ(record.lost, 0u);
  EXPECT_FALSE(record.malformed);
}

TEST(SideBandRecord, EveryCutRecordIsMalformedNotRead) {
  const auto whole = Mmap2("/usr/lib/libfoo.so.1");
  for (std::size_t size = 0; size < 80; ++size) {
    const auto record = DecodeSideBand(std::span(whole).first(size), 0);
    EXPECT_TRUE(record.malformed) << size;
    EXPECT_FALSE(record.mmap) << size;
  }
  // A name without a zero ends where the record does.
  auto unterminated = Mmap2("12345678");
  std::fill(unterminated.begin() + 72, unterminated.end() - 8, std::byte{'x'});
  EXPECT_EQ(PathOf(DecodeSideBand(unterminated, 0)).size(), 17u);
}

}  // namespace
}  // namespace profd::source
