#include "client/profile/stack_names.h"

#include <gtest/gtest.h>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::FrameFromText;

TEST(StackNames, SaysWhatAFrameIs) {
  for (const char* text : {"main", "vfs_read_[k]", "inlined_[i]", "compiled_[j]",
                           "Tensor.numpy (tensor.py:31)", "[still blocked: stack not available]"})
    EXPECT_EQ(FrameName(FrameFromText(text), {}), text);
}

TEST(StackNames, AFrameWithoutNameKeepsItsPlace) {
  EXPECT_EQ(FrameName(FrameFromText("libfoo.so+0x1234"), {}), "[unknown libfoo.so+0x1234]");
  v1::Frame linked = FrameFromText("redis-check-rdb+0x12");
  linked.set_program("redis-server");
  EXPECT_EQ(FrameName(linked, {}), "[unknown redis-server+0x12]");
  v1::Frame frame;
  EXPECT_EQ(FrameName(frame, {}), "[unknown]");
  frame.set_offset(0x7f12);
  EXPECT_EQ(FrameName(frame, {}), "[unknown 0x7f12]");
  frame.set_kind(v1::FRAME_KERNEL);
  frame.set_module("[kernel]");
  frame.set_offset(0xffffffff81000000);
  EXPECT_EQ(FrameName(frame, {}), "[unknown [kernel]+0xffffffff81000000]_[k]");
}

TEST(StackNames, SignaturesAreShownOnlyOnRequest) {
  v1::Frame frame = FrameFromText("f_[i]");
  frame.set_full_name("f(int, char)");
  EXPECT_EQ(FrameName(frame, {}), "f_[i]");
  EXPECT_EQ(FrameName(frame, {.signature = true}), "f(int, char)_[i]");
  EXPECT_EQ(FrameName(frame, {.signature = true, .suffixes = false}), "f(int, char)");
  EXPECT_EQ(FrameName(frame, {.inlined = false}), "f");
  EXPECT_EQ(FrameName(FrameFromText("g_[k]"), {.inlined = false}), "g_[k]");
}

TEST(StackNames, PythonPlacesCanBeLeftOut) {
  v1::Frame frame = FrameFromText("step (train.py:88)");
  EXPECT_EQ(FrameName(frame, {.place = false}), "step");
  frame.set_line(0);
  EXPECT_EQ(FrameName(frame, {}), "step (train.py)");
  frame.clear_file();
  EXPECT_EQ(FrameName(frame, {}), "step");
}

TEST(StackNames, SafeNameReplacesWhatBreaksLinesTerminalsAndReadingOrder) {
  EXPECT_EQ(SafeName("a;b"), "a:b");
  EXPECT_EQ(SafeName("a\nb\tc\rd\x1b[0m\x7f"), "a?b?c?d?[0m?");
  EXPECT_EQ(SafeName(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(SafeName("\xE2\x80\xA8|\xE2\x80\xAE|\xE2\x81\xA6|\xC2\x85|\xEF\xBB\xBF"), "?|?|?|?|?");
  EXPECT_EQ(SafeName("\xEF\xBF\xBF|\xF0\x9F\xBF\xBE"), "?|?");  // U+FFFF, U+1FFFE
  EXPECT_EQ(SafeName("<b>&\"' \\"), "<b>&\"' \\");              // every format escapes by itself
  EXPECT_EQ(SafeName(""), "[unknown]");
}

TEST(StackNames, SafeNameKeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(SafeName("grüße 統計 \xF0\x9F\x94\xA5"), "grüße 統計 \xF0\x9F\x94\xA5");
  constexpr char kBad[] = "\xEF\xBF\xBD";
  EXPECT_EQ(SafeName("\xff"), kBad);
  EXPECT_EQ(SafeName("a\xe2\x82"), "a" + std::string(kBad) + kBad);      // cut
  EXPECT_EQ(SafeName("\xc0\xaf"), std::string(kBad) + kBad);             // overlong
  EXPECT_EQ(SafeName("\xe0\x80\xaf"), std::string(kBad) + kBad + kBad);  // overlong
  EXPECT_EQ(SafeName("\xed\xa0\x80"), std::string(kBad) + kBad + kBad);  // surrogate
  EXPECT_EQ(SafeName("\xf4\x90\x80\x80"), std::string(kBad) + kBad + kBad + kBad);
}

TEST(StackNames, LongNamesAreCutBetweenCharacters) {
  const std::string name = SafeName(std::string(10 * kMaxNameBytes, 'x'));
  EXPECT_LE(name.size(), kMaxNameBytes);
  EXPECT_TRUE(name.ends_with("x..."));
  std::string wide;
  while (wide.size() < 10 * kMaxNameBytes) wide += "統";
  const std::string cut = SafeName(wide);
  EXPECT_LE(cut.size(), kMaxNameBytes);
  EXPECT_EQ(SafeName(cut), cut);
}

TEST(StackNames, SafeNamesOfHostileOnesAreFixedPoints) {
  for (const std::string& name : testing::HostileNames()) {
    const std::string safe = SafeName(name);
    EXPECT_EQ(SafeName(safe), safe);
    EXPECT_EQ(safe.find(';'), std::string::npos);
    for (const char c : safe) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << name;
  }
}

TEST(StackNames, EveryReasonHasAName) {
  EXPECT_EQ(StateFrameName(v1::STATE_ON_CPU, v1::WAIT_NONE), "[working]");
  EXPECT_EQ(StateFrameName(v1::STATE_RUNNABLE, v1::WAIT_NONE), "[runnable]");
  EXPECT_EQ(StateFrameName(v1::STATE_BLOCKED, v1::WAIT_NONE), "[blocked]");
  EXPECT_EQ(StateFrameName(v1::STATE_BLOCKED, v1::WAIT_GIL), "[blocked:gil]");
  EXPECT_EQ(StateFrameName(v1::STATE_RUNNABLE, v1::WAIT_NONE, v1::GIL_HELD),
            "[runnable:gil-holder]");
  EXPECT_EQ(StateFrameName(v1::STATE_RUNNABLE, v1::WAIT_NONE, v1::GIL_NOT_HELD), "[runnable]");
  EXPECT_EQ(StateFrameName(v1::STATE_ON_CPU, v1::WAIT_NONE, v1::GIL_HELD), "[working]");
  EXPECT_EQ(GilName(v1::GIL_NONE), "");
  EXPECT_EQ(GilName(v1::GIL_HELD), "held");
  EXPECT_EQ(GilName(static_cast<v1::Gil>(99)), "unknown");
  EXPECT_EQ(WaitName(v1::WAIT_NONE), "");
  for (int i = 1; i < v1::WaitReason_ARRAYSIZE; ++i) {
    const auto wait = static_cast<v1::WaitReason>(i);
    // Said in the words of the enum: WAIT_LOCK is "lock".
    std::string word = v1::WaitReason_Name(wait).substr(5);
    for (char& c : word) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(WaitName(wait), word);
    EXPECT_EQ(StateFrameName(v1::STATE_BLOCKED, wait), "[blocked:" + word + "]");
  }
  EXPECT_EQ(WaitName(static_cast<v1::WaitReason>(99)), "other");
}

TEST(StackNames, ProcessesAndThreadsCarryTheirNumber) {
  const v1::Profile profile = testing::SmallProfile();
  EXPECT_EQ(ProcessName(profile.processes(0)), "demo (4242)");
  EXPECT_EQ(ThreadName(profile.threads(1)), "worker (4243)");
  EXPECT_EQ(TitleOf(profile), "/usr/bin/demo --fast (4242)");
  EXPECT_EQ(TitleOf(v1::Profile()), "[unknown]");
}

TEST(StackNames, GroupsCarryTheirSize) {
  v1::Profile profile = testing::SmallProfile();
  profile.mutable_processes(0)->set_pid(0);
  profile.mutable_processes(0)->set_group_size(412);
  profile.mutable_threads(1)->set_group_size(824);
  EXPECT_EQ(ProcessName(profile.processes(0)), "demo x 412");
  EXPECT_EQ(ThreadName(profile.threads(1)), "worker x 824");
}

TEST(StackNames, TitlesOfSeveralProcessesNameTheRequestedOne) {
  testing::ProfileMaker maker;
  maker.AddProcess(42, "child");
  maker.profile().set_target("pid 4242 +children");
  EXPECT_EQ(TitleOf(maker.Make()), "/usr/bin/demo --fast (4242) and 1 more process");
  maker.AddProcess(43, "child");
  EXPECT_EQ(TitleOf(maker.Make()), "/usr/bin/demo --fast (4242) and 2 more processes");
  maker.profile().set_target("pid 43");
  EXPECT_EQ(TitleOf(maker.Make()), "child (43) and 2 more processes");
  for (const char* target : {"all", "pid 42421", "comm demo"}) {
    maker.profile().set_target(target);
    EXPECT_EQ(TitleOf(maker.Make()), target);
  }
}

}  // namespace
}  // namespace profd::client
