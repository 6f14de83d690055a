#include "daemon/store/codec/path_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/aggregate/waits/path_finder.h"
#include "daemon/store/codec/window_codec.h"

namespace profd::store {
namespace {

using aggregate::PathHow;
using aggregate::PathKind;
using aggregate::PathNode;
using aggregate::Profile;
using process::State;
using process::WaitReason;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kColumns = 13;  // as in FORMAT.md

// A window of three threads of two processes, in which the first two are blocked.
Profile MakeWindow() {
  Profile window;
  window.start_ns = 5 * kSecond;
  window.end_ns = 15 * kSecond;
  window.wakers = true;
  window.processes.resize(2);
  for (std::uint32_t i = 0; i < 3; ++i) {
    aggregate::ProfileThread thread;
    thread.key = {100 + i, 1};
    thread.process = i == 2 ? 0 : 1;
    thread.begin_ns = window.start_ns;
    thread.end_ns = window.end_ns;
    thread.clock.blocked_ns[PROFD_INTERRUPTIBLE] = 10 * kSecond;
    window.threads.push_back(thread);
  }
  window.path_threads = {
      {.key = {102, 1}, .process = {}, .comm = "c", .process_comm = "p"},
      {.key = {7, 7}, .process = {}, .comm = "gone", .process_comm = "a\xff program"},
      {.key = {100, 1}, .process = {}, .comm = "a", .process_comm = "q"}};
  window.paths = {{},
                  {.parent = 0,
                   .kind = PathKind::kWaits,
                   .wait = WaitReason::kGil,
                   .thread = 1,
                   .node = 4'000'000'000},
                  {.parent = 1,
                   .kind = PathKind::kRuns,
                   .how = PathHow::kOwner,
                   .estimated = true,
                   .thread = 2,
                   .node = 17},
                  {.parent = 1, .kind = PathKind::kTooLong, .how = PathHow::kExit},
                  {.parent = 0, .kind = PathKind::kTimer, .node = 9}};
  window.wake_ups = {
      {.thread = 1, .waker = 0, .wait = WaitReason::kOther, .waits = 1u << 20},
      {.thread = 0, .waker = 2, .wait = WaitReason::kLock, .waits = 3, .spurious = 2}};
  for (std::uint32_t i = 0; i < 6; ++i) {
    aggregate::ProfileSample sample;
    sample.thread = i % 2;
    sample.node = 40 + i / 2;
    sample.time_ns = window.start_ns;
    sample.state = State::kBlocked;
    sample.weight_ns = sample.raw_weight_ns = kSecond;
    sample.path = i % 5;
    window.samples.push_back(sample);
  }
  window.samples.push_back(window.samples.back());
  window.samples.back().state = State::kOnCpu;
  window.samples.back().path = 0;
  return window;
}

const WindowNumbers kNumbers{.process_of = {3, 2}, .thread_of = {10, 11, 12}};

EncodedWindow Encode(const Profile& window) {
  auto encoded = EncodeWindow(window, kNumbers, 3);
  EXPECT_TRUE(encoded.ok());
  return encoded ? *std::move(encoded) : EncodedWindow();
}

Result<StoredWindow> Decode(const EncodedWindow& encoded,
                            const std::function<bool(const StoredThread&)>& wants) {
  EncodedBytes bytes{.data = std::as_bytes(std::span(encoded.data)), .paths = std::nullopt};
  if (encoded.paths) bytes.paths = std::as_bytes(std::span(*encoded.paths));
  return DecodeWindow(bytes, 5 * kSecond, 15 * kSecond, wants);
}

bool All(const StoredThread& /*thread*/) { return true; }

auto FieldsOf(const PathNode& path) {
  return std::tuple(path.parent, path.kind, path.how, path.wait, path.estimated, path.thread,
                    path.node);
}

// By stack and path, which are different ones.
std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> PathsOf(
    const std::vector<aggregate::ProfileSample>& samples,
    const std::function<std::uint32_t(std::uint32_t)>& thread_of) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> paths;
  for (const auto& sample : samples)
    paths.emplace_back(thread_of(sample.thread), sample.node, sample.path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(PathCodecTest, PathsThreadsAndWakeUpsComeBack) {
  const Profile window = MakeWindow();
  const auto read = Decode(Encode(window), All);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->wakers);
  ASSERT_EQ(read->paths.size(), window.paths.size());
  for (std::size_t i = 0; i < window.paths.size(); ++i)
    EXPECT_EQ(FieldsOf(read->paths[i]), FieldsOf(window.paths[i])) << i;
  ASSERT_EQ(read->path_threads.size(), 3u);
  EXPECT_TRUE(read->path_threads[0].is_row);
  EXPECT_EQ(read->path_threads[0].number, 12u);
  EXPECT_EQ(read->path_threads[0].process, 3u);
  EXPECT_FALSE(read->path_threads[1].is_row);
  EXPECT_EQ(read->path_threads[1].comm, "gone");
  EXPECT_EQ(read->path_threads[1].process_comm, "a\xff program");
  EXPECT_EQ(read->path_threads[2].number, 10u);
  EXPECT_EQ(read->path_threads[2].process, 2u);
  const auto number_of = [&](std::uint32_t thread) { return read->threads[thread].number; };
  EXPECT_EQ(PathsOf(read->samples, number_of),
            PathsOf(window.samples, [](std::uint32_t thread) { return 10 + thread; }));
  ASSERT_EQ(read->wake_ups.size(), 2u);
  EXPECT_EQ(number_of(read->wake_ups[0].thread), 11u);
  EXPECT_EQ(read->wake_ups[0].waits, 1u << 20);
  EXPECT_EQ(read->wake_ups[0].wait, WaitReason::kOther);
  EXPECT_EQ(read->wake_ups[1].waker, 2u);
  EXPECT_EQ(read->wake_ups[1].spurious, 2u);
}

TEST(PathCodecTest, AWindowWithoutWakersHasNoBytesForThem) {
  Profile window = MakeWindow();
  window.wakers = false;
  const EncodedWindow encoded = Encode(window);
  EXPECT_FALSE(encoded.paths.has_value());
  const auto read = Decode(encoded, All);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->wakers);
  for (const auto& sample : read->samples) EXPECT_EQ(sample.path, 0u);
}

TEST(PathCodecTest, PathsOfWantedThreadsMayNameOthers) {
  const auto read =
      Decode(Encode(MakeWindow()), [](const StoredThread& thread) { return thread.number == 11; });
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->threads.size(), 1u);
  EXPECT_EQ(read->path_threads.size(), 3u);
  ASSERT_EQ(read->wake_ups.size(), 1u);
  EXPECT_EQ(read->wake_ups[0].thread, 0u);
  EXPECT_EQ(PathsOf(read->samples, [](std::uint32_t thread) { return thread; }).size(), 4u);
}

TEST(PathCodecTest, NamesAreBounded) {
  Profile window = MakeWindow();
  window.path_threads[1].comm.assign(1'000, 'x');
  const auto read = Decode(Encode(window), All);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->path_threads[1].comm, std::string(PathDecoder::kMaxNameBytes, 'x'));
}

TEST(PathCodecTest, EachWrongByteIsFoundOrHarmless) {
  const EncodedWindow encoded = Encode(MakeWindow());
  for (std::size_t at = 0; at < encoded.paths->size(); ++at) {
    EncodedWindow wrong = encoded;
    (*wrong.paths)[at] = static_cast<char>((*wrong.paths)[at] ^ 16);
    const auto read = Decode(wrong, All);
    EXPECT_TRUE(read.ok() || read.error().code == ErrorCode::kCorrupt) << at;
  }
}

TEST(PathCodecTest, TruncatedBytesAreDamaged) {
  const EncodedWindow encoded = Encode(MakeWindow());
  for (std::size_t bytes = 0; bytes < encoded.paths->size(); ++bytes) {
    EncodedWindow cut = encoded;
    cut.paths->resize(bytes);
    const auto read = Decode(cut, All);
    ASSERT_FALSE(read.ok()) << bytes;
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  }
}

// Columns whose checksum is right, with any numbers.
class HostilePaths : public ::testing::Test {
 protected:
  using Columns = std::array<std::vector<std::uint64_t>, kColumns>;

  // One path of one thread that is only a name, and no wake-up; six blocked samples without a path.
  static Columns Good() {
    return {{{1, 1, 0},
             {1},
             {2},
             {1},
             {0},
             {0},
             {1, 'x', 1, 'y'},
             {},
             {},
             {},
             {},
             {},
             {0, 0, 0, 0, 0, 0}}};
  }
  static bool IsRead(const Columns& columns) {
    std::array<ColumnWriter, kColumns> writers;
    for (std::size_t i = 0; i < kColumns; ++i)
      for (const std::uint64_t number : columns[i]) writers[i].Add(number);
    auto packed = PackColumns(writers, 1);
    EXPECT_TRUE(packed.ok());
    EncodedWindow encoded = Encode(MakeWindow());
    encoded.paths = *packed;
    const auto read = Decode(encoded, All);
    EXPECT_TRUE(read.ok() || read.error().code == ErrorCode::kCorrupt);
    return read.ok();
  }
};

TEST_F(HostilePaths, EachNumberIsChecked) {
  EXPECT_TRUE(IsRead(Good()));
  struct Change {
    const char* what;
    std::function<void(Columns&)> make;
  };
  const std::vector<Change> changes = {
      {"more paths than bytes", [](Columns& c) { c[0][0] = 1u << 30; }},
      {"more threads than bytes", [](Columns& c) { c[0][1] = ~0ull; }},
      {"more wake-ups than bytes", [](Columns& c) { c[0][2] = 1u << 20; }},
      {"its own parent", [](Columns& c) { c[1][0] = 0; }},
      {"a parent before the root", [](Columns& c) { c[1][0] = 2; }},
      {"a kind that there is not", [](Columns& c) { c[2][0] = 14; }},
      {"a way that there is not", [](Columns& c) { c[2][0] = 2 | 5 << 4; }},
      {"a reason that there is not", [](Columns& c) { c[2][0] = 1 | 13 << 7; }},
      {"more bits than a kind has", [](Columns& c) { c[2][0] = 1u << 12; }},
      {"a thread that there is not", [](Columns& c) { c[3][0] = 2; }},
      {"a stack beyond 32 bits", [](Columns& c) { c[4][0] = 1ull << 40; }},
      {"a row that there is not", [](Columns& c) { c[5][0] = 4; }},
      {"a name that is too long", [](Columns& c) { c[6][0] = 65; }},
      {"a byte of a name that is none", [](Columns& c) { c[6][1] = 256; }},
      {"a zero in a name", [](Columns& c) { c[6][1] = 0; }},
      {"a column that is too long", [](Columns& c) { c[9].push_back(1); }},
      {"a column that is too short", [](Columns& c) { c[6].pop_back(); }},
      {"fewer samples", [](Columns& c) { c[12].pop_back(); }},
      {"more samples", [](Columns& c) { c[12].push_back(0); }},
      {"a path that there is not", [](Columns& c) { c[12][0] = 4; }},
      {"a waiter that there is not",
       [](Columns& c) {
         c[0][2] = 1;
         c[7] = {6};
         c[8] = c[9] = c[10] = c[11] = {0};
       }},
      {"a waker that there is not",
       [](Columns& c) {
         c[0][2] = 1;
         c[8] = {1};
         c[7] = c[9] = c[10] = c[11] = {0};
       }},
      {"a wake-up of no reason", [](Columns& c) {
         c[0][2] = 1;
         c[9] = {13};
         c[7] = c[8] = c[10] = c[11] = {0};
       }}};
  for (const Change& change : changes) {
    Columns columns = Good();
    change.make(columns);
    EXPECT_FALSE(IsRead(columns)) << change.what;
  }
}

TEST_F(HostilePaths, APathHasNoMoreStepsThanOneThatIsFound) {
  for (const std::size_t more : {0u, 1u}) {
    const std::size_t steps = aggregate::PathFinder::kMaxSteps + 1 + more;
    Columns columns = Good();
    columns[0][0] = steps;
    for (const std::size_t column : {1u, 2u, 3u, 4u}) columns[column].assign(steps, 1);
    columns[4].assign(steps, 0);
    EXPECT_EQ(IsRead(columns), more == 0);
  }
}

}  // namespace
}  // namespace profd::store
