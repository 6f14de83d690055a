// The cases of `truth`: each runs threads or processes whose time is known by construction, and
// reports.
#pragma once

#include <cstdint>
#include <string>

#include "tests/testprogs/spin.h"
#include "tests/testprogs/thread_truth.h"

namespace truth {

using profd::testprog::Counter;
using profd::testprog::MonotonicNs;
using profd::testprog::Report;
using profd::testprog::ThreadTruth;

struct Options {
  std::int64_t ns = 2'000'000'000;      // how long the case runs
  std::int64_t period_ns = 10'000'000;  // periodic
  std::uint32_t threads = 4;            // convoy, crowd
  std::uint32_t lives = 1000;           // threads, forks
};

// What every case is given. The report prints when the case has returned.
struct Case {
  const Options& options;
  const Counter& counter;
  Report& report;
};

// truth_cpu.cc
void Spin(Case& run);      // two functions, 70 : 30, never off the CPU
void Lockstep(Case& run);  // a loop of exactly 1/99 s whose first 30 % is another function
void Crowd(Case& run);     // spinners on two CPUs, more than fit

// truth_depth.cc
void Depth(Case& run);  // six functions, each called by the one before, of known time

// truth_waits.cc
void Sleep(Case& run);      // one function, sleeps of 100 ms
void LongSleep(Case& run);  // one sleep, ended by SIGTERM or by the time
void Periodic(Case& run);   // two functions alternate, 30 : 70 of each period, on a fixed beat
void Alternate(Case& run);  // waits of 3 ms and 7 ms in turn
void Brief(Case& run);      // ten waits of 60 us, and one of 600 us

// truth_crowds.cc
void Convoy(Case& run);    // threads that hold one lock for 1 ms each, in turn
void PingPong(Case& run);  // a byte to and fro through two pipes, on one CPU
void Threads(Case& run);   // threads that come and go, evenly over the time
void Forks(Case& run);     // processes that come and go

}  // namespace truth
