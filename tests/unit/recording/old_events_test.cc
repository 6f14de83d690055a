#include "daemon/recording/old_events.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "bpf/shared/events.h"

namespace profd::recording {
namespace {

// As version 2 had them; written out, as the present ones may change.
struct Clock2 {
  std::array<std::uint64_t, 15> fields;
};
struct ClockEvent2 {
  profd_event event;
  std::uint64_t epoch;
  std::uint64_t epoch_ns;
  std::uint64_t begin_ns;
  std::uint64_t since_ns;
  std::uint32_t state;
  std::uint32_t stack_number;
  Clock2 at_epoch;
  Clock2 final;
  char comm[16];
};
static_assert(sizeof(ClockEvent2) == 352);

ClockEvent2 MakeOld(profd_event_kind kind) {
  ClockEvent2 old{};
  old.event.kind = kind;
  old.event.size = sizeof(old);
  old.event.tid = 7;
  old.state = PROFD_STATE_BLOCKED;
  old.stack_number = 9;
  for (std::size_t i = 0; i < old.final.fields.size(); ++i) {
    old.at_epoch.fields[i] = 100 + i;
    old.final.fields[i] = 200 + i;
  }
  std::strcpy(old.comm, "worker");
  return old;
}

template <typename Struct>
std::span<const std::byte> BytesOf(const Struct& from) {
  return std::as_bytes(std::span(&from, 1));
}

TEST(OldEvents, ClocksOfVersion2HaveNoStolenTime) {
  for (const profd_event_kind kind : {PROFD_EVENT_CLOCK, PROFD_EVENT_THREAD_END}) {
    const ClockEvent2 old = MakeOld(kind);
    std::vector<std::byte> scratch;
    const auto bytes = InPresentLayout(BytesOf(old), 2, scratch);
    profd_clock_event clock;
    ASSERT_EQ(bytes.size(), sizeof(clock));
    std::memcpy(&clock, bytes.data(), sizeof(clock));
    EXPECT_EQ(clock.event.kind, kind);
    EXPECT_EQ(clock.event.size, sizeof(clock));
    EXPECT_EQ(clock.event.tid, 7u);
    EXPECT_EQ(clock.state, PROFD_STATE_BLOCKED);
    EXPECT_EQ(clock.stack_number, 9u);
    EXPECT_EQ(clock.at_epoch.on_cpu_ns, 100u);
    EXPECT_EQ(clock.at_epoch.migrations, 114u);
    EXPECT_EQ(clock.final.on_cpu_ns, 200u);
    EXPECT_EQ(clock.final.migrations, 214u);
    for (const auto& part : {clock.at_epoch, clock.final})
      for (const auto ns : part.stolen_ns) EXPECT_EQ(ns, 0u);
    EXPECT_STREQ(clock.comm, "worker");
  }
}

TEST(OldEvents, ClocksOfVersion5EndBeforeTheMoves) {
  constexpr std::size_t kOldBytes = 392;
  profd_clock_event clock{};
  ASSERT_EQ(offsetof(profd_clock_event, moves_at_epoch), kOldBytes);
  clock.event.kind = PROFD_EVENT_CLOCK;
  clock.event.size = kOldBytes;
  clock.own_tid = 5;
  clock.moves_final.node = 3;  // of what lies behind
  std::vector<std::byte> scratch;
  const auto bytes = InPresentLayout(BytesOf(clock).first(kOldBytes), 5, scratch);
  profd_clock_event present;
  ASSERT_EQ(bytes.size(), sizeof(present));
  std::memcpy(&present, bytes.data(), sizeof(present));
  EXPECT_EQ(present.event.size, sizeof(present));
  EXPECT_EQ(present.event.flags & PROFD_CLOCK_MOVES, 0);
  EXPECT_EQ(present.own_tid, 5u);
  EXPECT_EQ(present.moves_final.node, 0u);
}

TEST(OldEvents, ClocksOfVersion4EndBeforeTheOwnTid) {
  constexpr std::size_t kOldBytes = 384;
  profd_clock_event clock{};
  ASSERT_EQ(offsetof(profd_clock_event, own_tid), kOldBytes);
  clock.event.kind = PROFD_EVENT_THREAD_END;
  clock.event.size = kOldBytes;
  clock.event.tid = 7;
  clock.final.on_cpu_ns = 9;
  std::strcpy(clock.comm, "worker");
  clock.own_tid = 5;  // of what lies behind
  for (const std::uint32_t version : {3u, 4u}) {
    std::vector<std::byte> scratch;
    const auto bytes = InPresentLayout(BytesOf(clock).first(kOldBytes), version, scratch);
    profd_clock_event present;
    ASSERT_EQ(bytes.size(), sizeof(present));
    std::memcpy(&present, bytes.data(), sizeof(present));
    EXPECT_EQ(present.event.size, sizeof(present));
    EXPECT_EQ(present.event.tid, 7u);
    EXPECT_EQ(present.final.on_cpu_ns, 9u);
    EXPECT_STREQ(present.comm, "worker");
    EXPECT_EQ(present.own_tid, 0u);
  }
  std::vector<std::byte> scratch;
  const auto present = BytesOf(clock).first(kOldBytes);
  EXPECT_EQ(InPresentLayout(present, 5, scratch).data(), present.data());
}

TEST(OldEvents, AllElseStaysAsItIs) {
  std::vector<std::byte> scratch;
  const auto stays = [&](const ClockEvent2& event, std::size_t size, std::uint32_t version) {
    const auto bytes = BytesOf(event).first(size);
    return InPresentLayout(bytes, version, scratch).data() == bytes.data();
  };
  const ClockEvent2 clock = MakeOld(PROFD_EVENT_CLOCK);
  EXPECT_TRUE(stays(clock, sizeof(clock), 3)) << "it is no old one";
  EXPECT_TRUE(stays(clock, sizeof(clock) - 1, 2)) << "it is cut";
  EXPECT_TRUE(stays(clock, 2, 2));
  EXPECT_TRUE(stays(MakeOld(PROFD_EVENT_FORK), sizeof(clock), 2));
  ClockEvent2 wrong = clock;
  wrong.event.size = 8;
  EXPECT_TRUE(stays(wrong, sizeof(wrong), 2));
}

TEST(OldEvents, SamplesOfVersion3EndBeforeWhoIsFollowed) {
  constexpr std::size_t kOldBytes = 144;
  struct Old {
    std::array<std::byte, kOldBytes> fixed;
    std::uint64_t frame;
  } old{};
  profd_event header{};
  header.kind = PROFD_EVENT_OFF_CPU;
  header.size = sizeof(old);
  header.tid = 7;
  std::memcpy(old.fixed.data(), &header, sizeof(header));
  old.fixed.back() = std::byte{9};  // of python_flags
  old.frame = 0x1234;
  for (const std::uint32_t version : {2u, 3u}) {
    std::vector<std::byte> scratch;
    const auto bytes = InPresentLayout(BytesOf(old), version, scratch);
    ASSERT_EQ(bytes.size(), sizeof(profd_sample_event) + sizeof(old.frame));
    profd_sample_event sample;
    std::uint64_t frame = 0;
    std::memcpy(&sample, bytes.data(), sizeof(sample));
    std::memcpy(&frame, bytes.data() + sizeof(sample), sizeof(frame));
    EXPECT_EQ(sample.event.size, bytes.size());
    EXPECT_EQ(sample.event.tid, 7u);
    EXPECT_EQ(sample.python_flags, 9u << 8);
    EXPECT_EQ(sample.followed_sessions, 0u);
    EXPECT_EQ(sample.number, 0u);
    EXPECT_EQ(frame, 0x1234u);
  }
  std::vector<std::byte> scratch;
  EXPECT_EQ(InPresentLayout(BytesOf(old), 4, scratch).data(), BytesOf(old).data());
}

TEST(OldEvents, PackedSamplesLeaveOutWhatIsNewAnyway) {
  std::array<std::byte, 160> packed{};
  profd_event header{};
  header.kind = PROFD_EVENT_ON_CPU;
  header.flags = PROFD_SAMPLE_PACKED;
  header.size = sizeof(packed);
  std::memcpy(packed.data(), &header, sizeof(header));
  std::vector<std::byte> scratch;
  EXPECT_EQ(InPresentLayout(packed, 3, scratch).data(), packed.data());
}

TEST(OldEvents, ProcessesOfVersion5SayNothingOfTheirResource) {
  struct Old {
    profd_event event;
    std::array<std::uint32_t, 8> blob_bytes;
    std::array<char, 8> blobs;
  } old{};
  old.event.kind = PROFD_EVENT_PROCESS;
  old.event.size = sizeof(old);
  old.event.pid = 7;
  old.blob_bytes[PROFD_BLOB_COMM] = 4;
  old.blob_bytes[PROFD_BLOB_USER] = 4;
  std::memcpy(old.blobs.data(), "cat\nuser", old.blobs.size());
  for (const std::uint32_t version : {2u, 5u}) {
    std::vector<std::byte> scratch;
    const auto bytes = InPresentLayout(BytesOf(old), version, scratch);
    ASSERT_EQ(bytes.size(), sizeof(profd_process_event) + old.blobs.size());
    profd_process_event process;
    std::memcpy(&process, bytes.data(), sizeof(process));
    EXPECT_EQ(process.event.size, bytes.size());
    EXPECT_EQ(process.event.pid, 7u);
    EXPECT_EQ(process.blob_bytes[PROFD_BLOB_COMM], 4u);
    EXPECT_EQ(process.blob_bytes[PROFD_BLOB_USER], 4u);
    EXPECT_EQ(process.blob_bytes[PROFD_BLOB_RESOURCE], 0u);
    EXPECT_EQ(std::memcmp(bytes.data() + sizeof(process), "cat\nuser", 8), 0);
  }
  std::vector<std::byte> scratch;
  EXPECT_EQ(InPresentLayout(BytesOf(old), 6, scratch).data(), BytesOf(old).data());
  old.event.size = 16;
  EXPECT_EQ(InPresentLayout(BytesOf(old), 5, scratch).data(), BytesOf(old).data());
}

}  // namespace
}  // namespace profd::recording
