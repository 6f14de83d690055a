// Names of steps in memory made for the test, and the word by which a program knows its place.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kString = 0x5000'0000;
constexpr std::uint64_t kText = 0x6000'0000;
constexpr std::uint64_t kCowLength = 24;  // bytes before the text

class StepTest : public testing::Test {
 protected:
  StepTest() {
    user_reset();
    user_set_memory([](void* self, void* to, __u32 bytes,
                       __u64 from) { return static_cast<StepTest*>(self)->Read(to, bytes, from); },
                    this);
  }

  long Read(void* to, __u32 bytes, __u64 from) {
    for (__u32 i = 0; i < bytes; ++i) {
      const auto byte = memory_.find(from + i);
      if (byte == memory_.end()) return -14;
      static_cast<char*>(to)[i] = byte->second;
    }
    return 0;
  }
  void Put(std::uint64_t address, const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) memory_[address + i] = bytes[i];
  }
  void Put(std::uint64_t address, std::uint64_t word) {
    Put(address, std::string(reinterpret_cast<const char*>(&word), sizeof word));
  }
  // A string in each of the layouts.
  void PutString(profd_step_naming naming, const std::string& text) {
    memory_.clear();
    Put(kText, text + std::string(1, '\0'));
    Put(kString, kText);
    Put(kString + 8, naming == PROFD_STEP_STRING ? text.size() : ~std::uint64_t{0});
    if (naming == PROFD_STEP_COW_STRING) Put(kText - kCowLength, text.size());
  }
  static std::uint64_t Argument(profd_step_naming naming) {
    return naming == PROFD_STEP_TEXT ? kText : kString;
  }
  static std::string TextOf(const user_step_name& name) { return {name.text, name.bytes}; }

  static constexpr std::array kAll{PROFD_STEP_STRING, PROFD_STEP_COW_STRING, PROFD_STEP_TEXT};
  std::map<std::uint64_t, char> memory_;
};

TEST_F(StepTest, NamesAreReadFromEachKindOfString) {
  for (const profd_step_naming naming : kAll) {
    for (const std::string& text : {std::string("Optimizer.step#Adam.step"), std::string(),
                                    std::string(PROFD_STEP_NAME_BYTES, 'x')}) {
      PutString(naming, text);
      const user_step_name name = user_read_step_name(naming, Argument(naming));
      EXPECT_EQ(TextOf(name), text) << naming;
      EXPECT_EQ(name.flags, 0u) << naming;
    }
  }
}

TEST_F(StepTest, WhatIsTooLongIsCut) {
  const std::string most(PROFD_STEP_NAME_BYTES, 'x');
  for (const profd_step_naming naming : kAll) {
    for (const std::string& more : {std::string("y"), std::string(1'000, 'y')}) {
      PutString(naming, most + more);
      const user_step_name name = user_read_step_name(naming, Argument(naming));
      EXPECT_EQ(TextOf(name), most) << naming;
      EXPECT_EQ(name.flags, static_cast<__u32>(PROFD_STEP_NAME_CUT)) << naming;
    }
  }
}

TEST_F(StepTest, WhatIsNotThereIsSaid) {
  for (const profd_step_naming naming : kAll) {
    PutString(naming, "step");
    const user_step_name none = user_read_step_name(naming, 0x1000);
    EXPECT_EQ(none.flags, static_cast<__u32>(PROFD_STEP_NAME_FAULT)) << naming;
    EXPECT_EQ(none.bytes, 0u) << naming;
    memory_.erase(kText + 2);
    const user_step_name torn = user_read_step_name(naming, Argument(naming));
    EXPECT_EQ(torn.flags, static_cast<__u32>(PROFD_STEP_NAME_FAULT)) << naming;
    EXPECT_EQ(torn.bytes, 0u) << naming;
  }
  // Its text is there, the length before it is not.
  PutString(PROFD_STEP_STRING, "step");
  EXPECT_EQ(user_read_step_name(PROFD_STEP_COW_STRING, kString).flags,
            static_cast<__u32>(PROFD_STEP_NAME_FAULT));
}

TEST_F(StepTest, ALengthThatIsFalseReadsNoMoreThanThereIsRoomFor) {
  PutString(PROFD_STEP_STRING, std::string(PROFD_STEP_NAME_BYTES, 'x'));
  Put(kString + 8, ~std::uint64_t{0});
  const user_step_name name = user_read_step_name(PROFD_STEP_STRING, kString);
  EXPECT_EQ(name.bytes, static_cast<__u32>(PROFD_STEP_NAME_BYTES));
  EXPECT_EQ(name.flags, static_cast<__u32>(PROFD_STEP_NAME_CUT));
}

TEST_F(StepTest, APlaceComesBackFromItsWord) {
  const profd_step_place place{
      .session = 31, .source = 200, .naming = PROFD_STEP_TEXT, .end = 1, .object = 1};
  const profd_step_place back = profd_step_place_of(profd_step_cookie(place));
  EXPECT_EQ(std::memcmp(&back, &place, sizeof(place)), 0);
}

}  // namespace
}  // namespace profd
