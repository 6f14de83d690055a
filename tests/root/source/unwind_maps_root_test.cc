// The maps of unwind tables, and the ring through which the programs ask for them.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "tests/root/source/live_test.h"
#include "tests/testprogs/raw_syscall.h"

namespace profd::source {
namespace {

constexpr std::chrono::seconds kLongest{100};

[[gnu::noinline]] void SleepOnAndOn() {
  while (true) testprog::RawSleep(1'000'000);
}

// Own sources: what is requested must be listened to before the first poll.
class UnwindMapsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    auto live = LiveSource::Start({}, [this](BpfSource& source) {
      source.OnWanted([this](const profd_wanted& wanted) {
        const std::scoped_lock lock(mutex_);
        wanted_.push_back(wanted);
        heard_.notify_all();
      });
      return std::shared_ptr<void>();
    });
    ASSERT_TRUE(live) << live.error().message;
    live_ = *std::move(live);
  }

  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<profd_wanted> wanted_;
  std::unique_ptr<LiveSource> live_;  // last: its thread uses all of the above
};

TEST_F(UnwindMapsTest, ProgramsAskForTheTablesOfWhatTheySee) {
  const Puppet puppet([](const Puppet::Strings&) { SleepOnAndOn(); });
  live_->source().unwind_maps().SetTick(1);
  session::SessionSpec spec;
  auto target = session::ParseTarget("pid " + std::to_string(puppet.pid()));
  ASSERT_TRUE(target);
  spec.target = *std::move(target);
  const auto session = live_->Begin(spec);
  // The puppet is a fork of this program, and sleeps in its code; it may begin in libc's.
  const auto code = reinterpret_cast<std::uint64_t>(&SleepOnAndOn);
  const auto is_it = [&](const profd_wanted& wanted) {
    return wanted.pid == puppet.pid() && wanted.mapping_begin <= code && code < wanted.mapping_end;
  };
  {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(
        heard_.wait_for(lock, kLongest, [&] { return std::ranges::any_of(wanted_, is_it); }));
    EXPECT_NE(std::ranges::find_if(wanted_, is_it)->key.inode, 0u);
  }
  (void)live_->End(session);
}

TEST_F(UnwindMapsTest, SlabsFollowEachOtherAndKeepWhatIsWritten) {
  LiveUnwindMaps& maps = live_->source().unwind_maps();
  ASSERT_TRUE(maps.Synchronize());  // with no slab yet
  for (int slab = 0; slab < 3; ++slab) {
    ASSERT_TRUE(maps.AddSlab());
    std::byte* at = maps.base() + static_cast<std::size_t>(slab) * PoolMemory::kSlabBytes;
    EXPECT_TRUE(std::all_of(at, at + PoolMemory::kSlabBytes,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    std::memset(at, slab + 1, PoolMemory::kSlabBytes);
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(maps.Synchronize());
  for (int slab = 0; slab < 3; ++slab) {
    const std::byte* at = maps.base() + static_cast<std::size_t>(slab) * PoolMemory::kSlabBytes;
    EXPECT_TRUE(std::all_of(at, at + PoolMemory::kSlabBytes,
                            [&](std::byte byte) { return byte == std::byte(slab + 1); }));
  }
}

}  // namespace
}  // namespace profd::source
