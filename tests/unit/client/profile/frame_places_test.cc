#include "client/profile/report/frame_places.h"

#include <gtest/gtest.h>

#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

struct Case {
  std::string file;
  std::string package;
  std::string module;
  bool library;
};

TEST(FramePlacesTest, PythonFilesHaveAPackage) {
  const Case cases[] = {
      {"/usr/lib/python3/dist-packages/numpy/core/numeric.py", "numpy", "numpy.core.numeric", true},
      {"/v/lib/python3.12/site-packages/six.py", "six", "six", true},
      {"/v/lib/python3.12/site-packages/torch/__init__.py", "torch", "torch", true},
      {"/v/lib64/python3.9/site-packages/a/b/c.py", "a", "a.b.c", true},
      {"/usr/lib/python3.11/json/encoder.py", "[stdlib]", "json.encoder", true},
      {"/usr/lib64/python3.9/threading.py", "[stdlib]", "threading", true},
      {"/opt/py/lib/python3.13t/asyncio/__init__.py", "[stdlib]", "asyncio", true},
      {"<frozen importlib._bootstrap>", "[stdlib]", "<frozen importlib._bootstrap>", true},
      {"<string>", "<string>", "<string>", false},
      {"/srv/app/train.py", "/srv/app", "train", false},
      {"/srv/lib/pythonic/train.py", "/srv/lib/pythonic", "train", false},
      {"/train.py", "/", "train", false},
      {"train.py", ".", "train", false},
      {"", ".", "", false},
  };
  for (const Case& one : cases) {
    const PythonPlace place = PythonPlaceOf(one.file);
    EXPECT_EQ(place.package, one.package) << one.file;
    EXPECT_EQ(place.module, one.module) << one.file;
    EXPECT_EQ(place.library, one.library) << one.file;
  }
}

TEST(FramePlacesTest, WhatIsNotKnownStandsInBrackets) {
  v1::Frame native;
  native.set_name("f");
  EXPECT_EQ(ModuleText(native), "[unknown]");
  EXPECT_EQ(FileText(native), "[no file: [unknown]]");
  native.set_module("/usr/lib/libz.so.1");
  EXPECT_EQ(ModuleText(native), "libz.so.1");
  EXPECT_EQ(PackageText(native), "libz.so.1");
  EXPECT_EQ(LineText(native), "[no line: libz.so.1]");
  native.set_file("/src/zip.c");
  EXPECT_EQ(LineText(native), "[no line: libz.so.1]");
  native.set_line(12);
  EXPECT_EQ(LineText(native), "/src/zip.c:12");
  EXPECT_EQ(FileText(native), "/src/zip.c");
  EXPECT_EQ(ModuleText(testing::FrameFromText("read_[k]")), "[kernel]");
  EXPECT_EQ(ModuleText(testing::FrameFromText("g_[j]")), "[jit]");
  EXPECT_EQ(PackageText(testing::FrameFromText("[stolen]")), "[stolen]");
  EXPECT_EQ(FileText(testing::FrameFromText("[stolen]")), "[stolen]");
}

TEST(FramePlacesTest, TextsAreSafe) {
  v1::Frame frame;
  frame.set_kind(v1::FRAME_PYTHON);
  frame.set_file("/a;b\x1b[2J/c\n.py");
  for (const std::string& text :
       {FileText(frame), LineText(frame), ModuleText(frame), PackageText(frame)})
    EXPECT_EQ(text.find_first_of(";\x1b\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace profd::client
