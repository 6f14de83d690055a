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
  std::string file;                     // fsync, outside, other-process
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

// On whom threads wait; of these the report has WhomTruths, too.
// truth_wakers.cc
void Chain(Case& run);  // A waits for B, which waits for C, which sleeps 4 ms
void TwoWakers(
    Case& run);  // A waits for one thread that sleeps 3 ms and one that sleeps 7, in turn
void FairQueue(Case& run);  // four threads sleep 0.5, 1, 2, 4 ms with a lock, one after another
void PiQueue(Case& run);    // the same with a mutex that inherits priorities
void Many(Case& run);       // A waits 500 ms for W, which computes and sleeps 500 times

// truth_servers.cc
void PipeServer(Case& run);    // a server that computes 3 ms for each answer, through pipes
void UnixServer(Case& run);    // through a socket of the host
void TcpServer(Case& run);     // through TCP on loopback
void OtherProcess(Case& run);  // A waits for threads of another process, through shared memory
void Outside(Case& run);       // that process; says its children's pids
void Events(Case& run);        // two threads write to what A polls, every 3 and every 11 ms

// truth_ends.cc
void Timers(Case& run);     // waits for timers, with a spinner on each CPU
void Fsync(Case& run);      // waits for a file system, with a spinner beside
void Children(Case& run);   // waits for children that compute 5 ms and end
void Signals(Case& run);    // pauses until a signal comes, every 5 ms
void Broadcast(Case& run);  // three threads are woken for one item
void Late(Case& run);       // one who comes late takes the lock before the one who waited for it
void Deaths(Case& run);     // those who wake A die at once, and their number is used again
void Storm(Case& run);      // two pairs for each CPU that wake each other as fast as it goes

}  // namespace truth
