#include "tests/unit/aggregate/synthetic_thread.h"

namespace profd::aggregate {

std::vector<symbolize::SymbolizedSample> SyntheticThread::Samples(std::uint64_t period_ns,
                                                                  std::mt19937_64& random) const {
  using process::State;
  std::vector<symbolize::SymbolizedSample> samples;
  std::uint64_t off_elapsed = 0;
  std::uint64_t off_period = 0;  // number of the period `mark` lies in
  std::uint64_t point = random() % period_ns;
  const auto points_within = [&](std::uint64_t ns) {
    std::uint32_t points = 0;
    off_elapsed += ns;
    while (point < off_elapsed) {
      ++points;
      point = ++off_period * period_ns + random() % period_ns;
    }
    return points;
  };
  std::uint64_t next_on = begin_ns_ + random() % period_ns;
  std::uint64_t begin = begin_ns_;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const auto& segment = segments_[i];
    symbolize::SymbolizedSample made;
    made.frames = {segment.frame};
    auto& sample = made.sample;
    sample.process = process_;
    sample.thread = key_;
    sample.sessions = 1;
    sample.period_ns = period_ns;
    if (segment.state == State::kOnCpu) {
      for (; next_on < begin + segment.ns; next_on += period_ns / 2 + random() % period_ns) {
        if (next_on < begin) continue;
        sample.time_ns = next_on;
        samples.push_back(made);
      }
      begin += segment.ns;
      continue;
    }
    sample.begin_ns = begin;
    if (segment.state == State::kBlocked) {
      sample.state = State::kBlocked;
      sample.wait = process::WaitReason::kLock;
      sample.blocked_points = points_within(segment.ns);
      begin += segment.ns;
    }
    const bool runnable = segment.state == State::kRunnable;
    if (!runnable && i + 1 < segments_.size() && segments_[i + 1].state == State::kRunnable) ++i;
    if (runnable || segments_[i].state == State::kRunnable) {
      sample.runnable_ns = segments_[i].ns;
      sample.runnable_points = points_within(sample.runnable_ns);
      if (runnable) sample.state = State::kRunnable;
      begin += segments_[i].ns;
    }
    sample.time_ns = begin;
    if (sample.blocked_points + sample.runnable_points != 0) samples.push_back(made);
  }
  return samples;
}

}  // namespace profd::aggregate
