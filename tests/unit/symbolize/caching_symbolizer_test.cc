#include "daemon/symbolize/cache/caching_symbolizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using testing::KernelAddress;
using testing::MakeModule;
using testing::UserAddress;

// Names an address after itself, in two frames; counts.
class NamingSymbolizer : public Symbolizer {
 public:
  void Resolve(const process::AddressFrame& address, Detail /*detail*/,
               std::vector<Frame>& frames) override {
    ++requested;
    for (const char* prefix : {"inlined_", "outer_"}) {
      Frame& frame = frames.emplace_back();
      frame.kind = address.kernel ? FrameKind::kKernel : user_kind;
      if (unresolved) {
        frame.reason = "unknown";
        return;
      }
      frame.name = prefix + std::to_string(address.file_offset) +
                   (address.return_address ? "r" : "") +
                   (address.module ? address.module->path : "");
    }
  }
  int requested = 0;
  bool unresolved = false;
  FrameKind user_kind = FrameKind::kNative;
};

class CachingSymbolizerTest : public ::testing::Test {
 protected:
  // Resolves with and without the cache; equal, whatever was in the vector before.
  void ExpectRight(const process::AddressFrame& address) {
    NamingSymbolizer plain;
    plain.unresolved = inner_.unresolved;
    std::vector<Frame> expected(1);
    std::vector<Frame> actual(1);
    plain.Resolve(address, Detail::kSource, expected);
    cache_.Resolve(address, Detail::kSource, actual);
    EXPECT_EQ(actual, expected);
  }

  NamingSymbolizer inner_;
  CachingSymbolizer cache_{inner_, 1u << 20};
  const process::ModuleRef a_ = MakeModule("/a");
  const process::ModuleRef b_ = MakeModule("/b");
};

TEST_F(CachingSymbolizerTest, AsksOnce) {
  for (int i = 0; i < 3; ++i) ExpectRight(UserAddress(a_, 0x10));
  EXPECT_EQ(inner_.requested, 1);
  EXPECT_EQ(cache_.counters().misses.value(), 1u);
  EXPECT_EQ(cache_.counters().hits.value(), 2u);
}

TEST_F(CachingSymbolizerTest, DifferentPlacesAreDifferent) {
  for (int i = 0; i < 2; ++i) {
    ExpectRight(UserAddress(a_, 0x10));
    ExpectRight(UserAddress(a_, 0x11));
    ExpectRight(UserAddress(a_, 0x10, true));
    ExpectRight(UserAddress(b_, 0x10));
    ExpectRight(UserAddress(nullptr, 0x10));
    ExpectRight(KernelAddress(0x10));
    ExpectRight(KernelAddress(0x10, false));
  }
  EXPECT_EQ(inner_.requested, 7);
}

TEST_F(CachingSymbolizerTest, OneAddressOfTwoProcessesIsOnePlace) {
  process::AddressFrame first = UserAddress(a_, 0x10);
  process::AddressFrame second = first;
  second.address += 0x1000;
  ExpectRight(first);
  ExpectRight(second);
  EXPECT_EQ(inner_.requested, 1);
}

TEST_F(CachingSymbolizerTest, KernelAddressesWithoutANameAreTriedAgain) {
  inner_.unresolved = true;
  ExpectRight(KernelAddress(0x10));
  ExpectRight(UserAddress(a_, 0x10));
  inner_.unresolved = false;
  ExpectRight(KernelAddress(0x10));
  std::vector<Frame> frames;
  cache_.Resolve(UserAddress(a_, 0x10), Detail::kSource, frames);
  EXPECT_EQ(frames.at(0).reason, "unknown") << "a file without a name stays without";
}

TEST_F(CachingSymbolizerTest, OfCodeInMemoryOnlyAProgramsOwnNamesAreKept) {
  const auto in_memory = UserAddress(MakeModule("/memfd:program"), 0x10);
  std::vector<Frame> frames;
  const auto ask_twice = [&] {
    const int before = inner_.requested;
    for (int i = 0; i < 2; ++i) cache_.Resolve(in_memory, Detail::kSource, frames);
    return inner_.requested - before;
  };
  inner_.unresolved = true;
  EXPECT_EQ(ask_twice(), 2);
  inner_.unresolved = false;
  inner_.user_kind = FrameKind::kJit;
  EXPECT_EQ(ask_twice(), 2);
  inner_.user_kind = FrameKind::kNative;
  EXPECT_EQ(ask_twice(), 1);
}

TEST_F(CachingSymbolizerTest, ADetailThatWasNotRequestedIsNoAnswerToTheOther) {
  std::vector<Frame> frames;
  for (int i = 0; i < 2; ++i) {
    cache_.Resolve(UserAddress(a_, 0x10), Detail::kSymbols, frames);
    cache_.Resolve(UserAddress(a_, 0x10), Detail::kSource, frames);
  }
  EXPECT_EQ(inner_.requested, 2);
}

TEST_F(CachingSymbolizerTest, HoldsModulesSoThatNoneIsMistakenForAnother) {
  std::weak_ptr<const process::Module> weak;
  {
    const auto module = MakeModule("/short_lived");
    weak = module;
    ExpectRight(UserAddress(module, 0x10));
  }
  EXPECT_FALSE(weak.expired());
}

TEST_F(CachingSymbolizerTest, DiscardsTheLeastRecentlyUsedOnRequest) {
  for (std::uint64_t place = 0; place < 10; ++place) ExpectRight(UserAddress(a_, place));
  const std::uint64_t all = cache_.memory().bytes();
  ASSERT_EQ(all, cache_.counters().bytes.value());
  cache_.memory().RequestReclaim(all / 2);
  cache_.GiveUp();
  EXPECT_LE(cache_.memory().bytes(), all - all / 2);
  EXPECT_EQ(cache_.memory().requested(), 0u);
  ExpectRight(UserAddress(a_, 9));
  EXPECT_EQ(inner_.requested, 10);
  ExpectRight(UserAddress(a_, 0));
  EXPECT_EQ(inner_.requested, 11);
}

TEST_F(CachingSymbolizerTest, DropsTheLeastRecentlyUsedBeyondItsBound) {
  ExpectRight(UserAddress(a_, 0));
  const std::size_t one = cache_.counters().bytes.value();
  CachingSymbolizer small(inner_, 10 * one + one / 2);
  inner_.requested = 0;
  std::vector<Frame> frames;
  for (std::uint64_t i = 0; i < 10; ++i) small.Resolve(UserAddress(a_, i), Detail::kSource, frames);
  small.Resolve(UserAddress(a_, 0), Detail::kSource, frames);
  EXPECT_EQ(inner_.requested, 10);
  small.Resolve(UserAddress(a_, 10), Detail::kSource, frames);  // the eleventh takes the place of 1
  EXPECT_LE(small.counters().bytes.value(), 10 * one + one / 2);
  small.Resolve(UserAddress(a_, 0), Detail::kSource, frames);
  EXPECT_EQ(inner_.requested, 11);
  small.Resolve(UserAddress(a_, 1), Detail::kSource, frames);
  EXPECT_EQ(inner_.requested, 12);
}

}  // namespace
}  // namespace profd::symbolize
