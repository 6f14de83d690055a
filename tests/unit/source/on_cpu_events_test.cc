#include "daemon/source/perf/on_cpu_events.h"

#include <gtest/gtest.h>

#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

double CyclesPerNs(const FakeProc& fake) {
  return NominalCyclesPerNs(fake.root().string(), fake.root().string());
}

TEST(NominalCyclesPerNs, IsTheHighestFrequencyElseThePresentOne) {
  const FakeProc fake;
  EXPECT_EQ(CyclesPerNs(fake), 1.0) << "nothing is known";
  fake.Write("cpuinfo",
             "processor\t: 0\nmodel name\t: EPYC 9\ncpu MHz\t\t: 2599.998\nflags\t: a\n");
  EXPECT_DOUBLE_EQ(CyclesPerNs(fake), 2.599998);
  fake.Write("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3400000\n");
  EXPECT_EQ(CyclesPerNs(fake), 3.4);
}

TEST(NominalCyclesPerNs, WhatMakesNoSenseIsNotKnown) {
  const FakeProc fake;
  for (const char* text :
       {"", "cpu MHz", "\ncpu MHz\t\t:\nflags\t: 3\n", "x\ncpu MHz\t\t: 0.000\n"}) {
    fake.Write("cpuinfo", text);
    EXPECT_EQ(CyclesPerNs(fake), 1.0) << text;
  }
}

}  // namespace
}  // namespace profd::source
