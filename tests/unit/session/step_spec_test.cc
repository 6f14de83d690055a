#include "daemon/session/step_spec.h"

#include <gtest/gtest.h>

namespace profd::session {
namespace {

StepSpec Parsed(std::string_view text) {
  const auto spec = ParseStepSpec(text);
  EXPECT_TRUE(spec) << text;
  return spec ? *spec : StepSpec{};
}

TEST(StepSpec, TextsAreReadAndWritten) {
  for (const char* text : {"record_function", "uprobe:libfoo.so:work",
                           "uprobe:/opt/a:b/lib.so:work", "usdt:libfoo.so:trainer:step"})
    EXPECT_EQ(FormatStepSpec(Parsed(text)), text);
  EXPECT_EQ(Parsed("uprobe:/opt/a:b/lib.so:work").library, "/opt/a:b/lib.so");
  EXPECT_EQ(Parsed("usdt:libfoo.so:trainer:step").provider, "trainer");
}

TEST(StepSpec, WhatSaysNothingIsRefused) {
  for (const char* text : {"", "auto", "work", "uprobe:", "uprobe:work", "uprobe::work",
                           "uprobe:lib:", "usdt:lib:step", "usdt::trainer:step", "uprobe:l\n:f"})
    EXPECT_FALSE(ParseStepSpec(text)) << text;
}

TEST(StepSpec, ALibraryIsNamedByTheEndOfItsPath) {
  const StepSpec spec = Parsed("uprobe:libfoo.so:work");
  EXPECT_TRUE(IsLibraryOf(spec, "/usr/lib/libfoo.so"));
  EXPECT_TRUE(IsLibraryOf(spec, "libfoo.so"));
  EXPECT_FALSE(IsLibraryOf(spec, "/usr/lib/mylibfoo.so"));
  EXPECT_FALSE(IsLibraryOf(spec, "/usr/lib/libfoo.so.1"));
  const StepSpec whole = Parsed("uprobe:/lib/libfoo.so:work");
  EXPECT_TRUE(IsLibraryOf(whole, "/lib/libfoo.so"));
  EXPECT_FALSE(IsLibraryOf(whole, "/usr/lib/libfoo.so"));
}

TEST(StepSpec, PyTorchIsKnownByItsLibrary) {
  const StepSpec spec;
  EXPECT_TRUE(IsLibraryOf(spec, "/venv/torch/lib/libtorch_cpu.so"));
  EXPECT_TRUE(IsLibraryOf(spec, "/venv/torch/lib/libtorch.so.1"));
  EXPECT_FALSE(IsLibraryOf(spec, "/venv/torch/lib/libtorch_python.so"));
  EXPECT_FALSE(IsLibraryOf(spec, "/venv/torch/lib/libtorch_cpu.txt"));
}

}  // namespace
}  // namespace profd::session
