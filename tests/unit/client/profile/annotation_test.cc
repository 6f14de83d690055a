#include "client/profile/report/annotation.h"

#include <gtest/gtest.h>

#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;
using testing::Running;

constexpr std::uint64_t kMs = 1'000'000;

v1::Frame Python(const std::string& name, const std::string& file, std::uint32_t line) {
  v1::Frame frame;
  frame.set_kind(v1::FRAME_PYTHON);
  frame.set_name(name);
  frame.set_file(file);
  frame.set_line(line);
  return frame;
}

v1::Frame Native(const std::string& name, std::uint64_t offset, bool inlined = false) {
  v1::Frame frame;
  frame.set_name(name);
  frame.set_symbol("_Z" + name);
  frame.set_module("/usr/lib/libwork.so");
  frame.set_offset(offset);
  frame.set_inlined(inlined);
  return frame;
}

v1::Profile Made() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const v1::Frame main = Python("main", "/srv/app/a.py", 3);
  maker.AddFrames(thread, {main, Python("step", "/srv/app/a.py", 10)}, Running(30, 30));
  maker.AddFrames(thread,
                  {main, Python("step", "/srv/app/a.py", 11), Python("step", "/srv/app/a.py", 11),
                   Python("helper", "/srv/lib/b.py", 7)},
                  Blocked(v1::WAIT_IO, 20, 20));
  maker.AddFrames(thread, {main, Native("work", 0x1010)}, Running(10, 10));
  maker.AddFrames(thread, {main, Native("work", 0x1014), Native("small", 0x1014, true)},
                  Running(5, 5));
  maker.AddFrames(thread, {main, Native("work", 0x1018), Native("other", 0x2000)}, Running(5, 5));
  maker.Add(thread, {"code_[j]", "read_[k]"}, Running(1, 1));
  return maker.Make();
}

TEST(AnnotationTest, LinesOfAFile) {
  const v1::Profile profile = Made();
  for (const char* name : {"/srv/app/a.py", "a.py", "app/a.py"}) {
    const auto annotation = AnnotationOf(name, profile, {});
    ASSERT_TRUE(annotation) << annotation.error().message;
    EXPECT_EQ(annotation->kind, Annotation::Kind::kSource);
    EXPECT_EQ(annotation->path, "/srv/app/a.py");
    EXPECT_EQ(annotation->all_ns, 71 * kMs);
    ASSERT_EQ(annotation->places.size(), 3u);
    EXPECT_EQ(annotation->places.at(3).self.all().ns, 20 * kMs);  // in native functions
    EXPECT_EQ(annotation->places.at(3).total.all().ns, 70 * kMs);
    EXPECT_EQ(annotation->places.at(10).self[TimePart::kWorking].ns, 30 * kMs);
    EXPECT_EQ(annotation->places.at(11).self.all().ns, 0u);
    EXPECT_EQ(annotation->places.at(11).total[TimePart::kBlocked].ns, 20 * kMs);  // once
  }
}

TEST(AnnotationTest, APythonFunctionIsItsLines) {
  const auto annotation = AnnotationOf("step", Made(), {});
  ASSERT_TRUE(annotation);
  EXPECT_EQ(annotation->path, "/srv/app/a.py");
  ASSERT_EQ(annotation->places.size(), 2u);
  EXPECT_TRUE(annotation->places.contains(10));
}

TEST(AnnotationTest, ANativeFunctionIsItsInstructionsWithWhatIsInlinedThere) {
  const auto annotation = AnnotationOf("work", Made(), {});
  ASSERT_TRUE(annotation) << annotation.error().message;
  EXPECT_EQ(annotation->kind, Annotation::Kind::kCode);
  EXPECT_EQ(annotation->path, "/usr/lib/libwork.so");
  EXPECT_EQ(annotation->symbol, "_Zwork");
  ASSERT_EQ(annotation->places.size(), 2u);
  EXPECT_EQ(annotation->places.at(0x1010).self.all().ns, 10 * kMs);
  EXPECT_EQ(annotation->places.at(0x1014).self.all().ns, 5 * kMs);
}

TEST(AnnotationTest, WhatHasNoCodeOfItsOwnIsRefused) {
  for (const char* name : {"small", "code", "read_[k]"}) {
    const auto annotation = AnnotationOf(name, Made(), {});
    ASSERT_FALSE(annotation) << name;
    EXPECT_EQ(annotation.error().code, ErrorCode::kUnsupported) << name;
  }
  const auto none = AnnotationOf("nowhere", Made(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST(AnnotationTest, SeveralFilesAreNamed) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.AddFrames(thread, {Python("main", "/x/a.py", 1), Python("main", "/y/a.py", 1)},
                  Running(10));
  for (const char* name : {"a.py", "main"}) {
    const auto annotation = AnnotationOf(name, maker.Make(), {});
    ASSERT_FALSE(annotation) << name;
    EXPECT_EQ(annotation.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(annotation.error().hint, "write one of /x/a.py, /y/a.py");
  }
}

}  // namespace
}  // namespace profd::client
