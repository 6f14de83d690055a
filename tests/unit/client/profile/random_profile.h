// RandomProfile: profiles with every table and column, for what must hold of all profiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Few names, so that profiles of several seeds have entries in common. The same for one seed.
class RandomProfile {
 public:
  explicit RandomProfile(std::uint32_t seed) : random_(seed) {}

  v1::Profile Make() {
    profile_.set_host("host");
    profile_.set_target("all");
    profile_.set_kernel("6.1." + std::to_string(Below(3)));
    profile_.set_hook("hook");
    profile_.set_start_ns(1'000'000'000'000 + Below(1'000'000));
    profile_.set_end_ns(profile_.start_ns() + kLengthNs);
    profile_.set_start_unix_ns(1'700'000'000'000'000'000 + Below(1'000'000'000));
    profile_.set_on_cpu(true);
    profile_.set_off_cpu(true);
    profile_.set_cpus(1 + Below(4));
    profile_.set_wakers(true);
    AddStacks();
    AddThreads();
    AddPaths();
    AddSamples();
    AddSteps();
    AddSwitches();
    return profile_;
  }

 private:
  static constexpr std::uint64_t kLengthNs = 1'000'000'000;

  std::uint32_t Below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
  }
  std::uint64_t Time() { return profile_.start_ns() + Below(kLengthNs); }
  std::string Word(const char* what, std::uint32_t kinds) {
    return what + std::to_string(Below(kinds));
  }

  void AddStacks() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      v1::Module& module = *profile_.add_modules();
      module.set_path(Word("/lib/", 3));
      module.set_build_id(Word("id", 2));
      module.set_code_covered_bytes(Below(1000));
      profile_.add_operators()->set_name(Word("aten::op", 4));
      v1::Rule& rule = *profile_.add_rules();
      rule.set_frame_class(v1::CLASS_SPIN);
      rule.set_place("rules.toml:" + std::to_string(Below(5)));
      v1::Label& label = *profile_.add_label_sets()->add_labels();
      label.set_name("step");
      label.set_value(Word("", 4));
    }
    for (std::uint32_t i = 0; i < 20; ++i) {
      v1::Frame& frame = *profile_.add_frames();
      frame.set_name(Word("f", 15));
      frame.set_kind(Below(4) == 0 ? v1::FRAME_KERNEL : v1::FRAME_NATIVE);
      frame.set_offset(Below(3));
      frame.set_module_info(Below(4));
      frame.set_op(Below(4));
    }
    for (std::uint32_t i = 0; i < 60; ++i) {
      v1::StackNode& node = *profile_.add_nodes();
      node.set_parent(Below(i + 1));
      node.set_frame(Below(20));
    }
  }

  void AddThreads() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      v1::Process& process = *profile_.add_processes();
      process.set_pid(100 + i);
      process.set_start_ns(5'000 + Below(100));
      process.set_comm(Word("program", 3));
      process.set_group_size(i == 2 ? 7 : 0);
    }
    for (std::uint32_t i = 0; i < 6; ++i) {
      v1::Thread& thread = *profile_.add_threads();
      thread.set_tid(100 + i);
      thread.set_start_ns(6'000 + Below(100));
      thread.set_process(Below(3));
      thread.set_comm(Word("thread", 3));
      thread.set_begin_ns(profile_.start_ns());
      thread.set_end_ns(profile_.end_ns());
      thread.mutable_clock()->set_on_cpu_ns(Below(1'000'000));
      thread.add_cpus(Below(4));
    }
  }

  void AddPaths() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      v1::PathThread& thread = *profile_.add_path_threads();
      thread.set_tid(100 + i);
      thread.set_pid(100);
      thread.set_comm(Word("waker", 3));
      v1::WakeUps& wake_ups = *profile_.add_wake_ups();
      wake_ups.set_thread(Below(6));
      wake_ups.set_waker(i);
      wake_ups.set_waits(Below(100));
    }
    for (std::uint32_t i = 0; i < 12; ++i) {
      v1::PathNode& path = *profile_.add_paths();
      path.set_parent(Below(i + 1));
      path.set_kind(v1::PATH_RUNS);
      path.set_thread(Below(4));
      path.set_node(Below(61));
    }
  }

  void AddSamples() {
    v1::Samples& samples = *profile_.mutable_samples();
    const bool gil = Below(2) == 0;
    const bool labels = Below(2) == 0;
    const bool cpu = Below(2) == 0;
    std::vector<std::uint64_t> times(200);
    for (std::uint64_t& time_ns : times) time_ns = Time();
    std::ranges::sort(times);
    for (const std::uint64_t time_ns : times) {
      samples.add_time_ns(time_ns);
      samples.add_raw_weight_ns(Below(1'000'000'000));
      samples.add_weight_ns(Below(1'000'000'000));
      samples.add_thread(Below(6));
      samples.add_node(Below(61));
      samples.add_state(static_cast<v1::State>(Below(3)));
      samples.add_wait(static_cast<v1::WaitReason>(Below(13)));
      samples.add_count(Below(3));
      samples.add_exact(Below(2) == 0);
      samples.add_stack_flags(Below(8));
      if (gil) samples.add_gil(static_cast<v1::Gil>(Below(5)));
      samples.add_edges(Below(4096));
      samples.add_rule(Below(4));
      samples.add_rule_node(Below(61));
      samples.add_path(Below(13));
      if (labels) samples.add_labels(Below(4));
      if (cpu) samples.add_cpu(Below(5));
    }
  }

  void AddSteps() {
    profile_.add_step_names("");
    profile_.add_step_names(Word("step", 3));
    profile_.add_step_sources()->set_text(Word("uprobe:lib:f", 3));
    std::vector<std::uint64_t> times(10);
    for (std::uint64_t& time_ns : times) time_ns = Time();
    std::ranges::sort(times);
    v1::StepEvents& events = *profile_.mutable_step_events();
    for (const std::uint64_t time_ns : times) {
      events.add_time_ns(time_ns);
      events.add_thread(Below(6));
      events.add_source(0);
      events.add_name(Below(2));
      events.add_end(Below(2) == 0);
      events.add_object(Below(3));
    }
  }

  void AddSwitches() {
    v1::Switches& switches = *profile_.mutable_switches();
    for (std::uint32_t thread = 0; thread < 6; ++thread) {
      std::uint64_t at_ns = profile_.start_ns();
      for (int i = 0; i < 5; ++i) {
        switches.add_thread(thread);
        switches.add_out_ns(at_ns += Below(1000));
        switches.add_ready_ns(at_ns += Below(1000));
        switches.add_in_ns(i == 4 && Below(2) == 0 ? 0 : at_ns += Below(1000));
        switches.add_reason(v1::LEAVE_SLEEP);
        switches.add_cpu(Below(4));
        switches.add_woken_ns(Below(2) == 0 ? 0 : at_ns);
        switches.add_waker_pid(100);
        switches.add_waker_tid(100 + Below(6));
        switches.add_by_interrupt(false);
      }
    }
    switches.add_incomplete(Below(6));
  }

  std::mt19937 random_;
  v1::Profile profile_;
};

}  // namespace profd::client
