#include "tests/support/sample_profiles.h"

#include <algorithm>
#include <random>

#include "bpf/shared/events.h"
#include "tests/support/profile_maker.h"

namespace profd::testing {
namespace {}  // namespace

v1::Profile SpinningProfile() {
  ProfileMaker maker;
  const auto spin = maker.AddRule(v1::CLASS_SPIN, "gomp_.*");
  const auto gpu = maker.AddRule(v1::CLASS_GPU_WAIT, "cuda.*");
  const auto runtime = maker.AddRule(v1::CLASS_RUNTIME, "malloc");
  const auto thread = maker.AddThread(4242, "demo");
  const auto on_cpu = [](std::uint32_t ms, std::uint32_t rule) {
    return SampleSpec{.weight_ns = ms * 1'000'000u, .count = ms / 10, .rule = rule};
  };
  maker.Add(thread, {"main", "compute"}, on_cpu(600, 0));
  maker.Add(thread, {"main", "gomp_barrier_wait"}, on_cpu(300, spin));
  maker.Add(thread, {"main", "cudaStreamSynchronize"}, on_cpu(100, gpu));
  maker.Add(thread, {"main", "malloc"}, on_cpu(50, runtime));
  maker.Add(thread, {"main", "wait"}, Blocked(v1::WAIT_LOCK, 950, 95));
  maker.Add(maker.AddThread(4243, "worker"), {"run"}, Blocked(v1::WAIT_SLEEP, 2000, 200));
  return maker.Make();
}

v1::Profile PoolProfile() {
  ProfileMaker maker;
  const auto spin = maker.AddRule(v1::CLASS_SPIN, "gomp_.*");
  maker.Add(maker.AddThread(4242, "demo"), {"main", "join"}, Blocked(v1::WAIT_LOCK, 10'000, 1'000));
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto thread = maker.AddThread(4243 + i, "pool-" + std::to_string(i));
    const std::uint64_t work_ms = i == 0 ? 4'000 : 1'000;
    maker.Add(thread, {"run", "compute"},
              Running(work_ms, static_cast<std::uint32_t>(work_ms / 10)));
    if (i != 0)
      maker.Add(thread, {"run", "gomp_barrier_wait"},
                {.weight_ns = 1'000'000'000, .count = 100, .rule = spin});
    maker.Add(thread, {"run", "compute"}, Runnable(2'000, 200));
    const std::uint64_t left_ms = i == 0 ? 4'000 : 6'000;
    maker.Add(thread, {"run", "wait"},
              Blocked(v1::WAIT_LOCK, left_ms - 10, static_cast<std::uint32_t>(left_ms / 10 - 1)));
    maker.Add(thread, {"run", "read"}, Blocked(v1::WAIT_IO, 10, 1));
  }
  const auto other = maker.AddProcess(77, "other");
  maker.Add(maker.AddThread(77, "other", other), {"main"}, Blocked(v1::WAIT_SLEEP, 10'000, 1'000));
  v1::Profile& profile = maker.profile();
  profile.set_cpus(8);
  profile.set_wakers(true);
  profile.set_no_hardware_counters(true);
  for (v1::Thread& thread : *profile.mutable_threads()) {
    if (thread.tid() == 77) continue;
    v1::ThreadClock& clock = *thread.mutable_clock();
    clock.set_runnable_after_preemption_ns(clock.runnable_after_wakeup_ns() / 4);
    clock.set_runnable_after_wakeup_ns(clock.runnable_after_wakeup_ns() -
                                       clock.runnable_after_preemption_ns());
    clock.set_blocked_interruptible_count(1'234);
    clock.set_runnable_after_preemption_count(thread.tid() == 4242 ? 0 : 567);
    clock.set_migrations(thread.tid() == 4242 ? 0 : 25);
    for (const std::uint32_t cpu : {0u, 1u}) thread.add_cpus(cpu);
  }
  v1::Process& demo = *profile.mutable_processes(0);
  const auto level = [&](std::uint32_t threads, std::uint64_t running, std::uint64_t wanting) {
    v1::Concurrency::Level& added = *demo.mutable_concurrency()->add_levels();
    added.set_threads(threads);
    added.set_running(running);
    added.set_wanting(wanting);
  };
  level(0, 400, 400);
  level(1, 200, 150);
  level(2, 400, 50);
  level(4, 0, 400);
  demo.mutable_concurrency()->set_unknown_points(3);
  demo.mutable_cpu_limits()->set_allowed_cpus(2);
  demo.mutable_cpu_limits()->set_quota_cpus(4);
  demo.mutable_cpu_limits()->set_quota_periods(100);
  demo.mutable_cpu_limits()->set_throttled_periods(12);
  demo.mutable_cpu_limits()->set_throttled_ns(1'200'000'000);
  return maker.Make();
}

v1::Profile PlacedProfile() {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "demo"), {"main", "join"}, Blocked(v1::WAIT_LOCK, 10'000, 1'000));
  const auto add = [&](std::uint32_t tid, const char* name, std::uint64_t work_ms, int parts) {
    const auto thread = maker.AddThread(tid, name);
    for (int i = 0; i < parts; ++i)
      maker.Add(
          thread, {"run", "compute"},
          Running(work_ms / static_cast<std::uint64_t>(parts),
                  static_cast<std::uint32_t>(work_ms / 10) / static_cast<std::uint32_t>(parts)));
    maker.Add(thread, {"run", "wait"}, Blocked(v1::WAIT_LOCK, 10'000 - work_ms, 100));
  };
  add(4243, "pool-0", 4'000, 1);
  add(4244, "pool-1", 2'000, 1);
  add(4245, "pool-2", 2'000, 1);
  add(4246, "mover", 2'000, 2);
  v1::Profile& profile = maker.profile();
  profile.set_cpus(8);
  // Two nodes with two cores of two CPUs each.
  for (std::uint32_t cpu = 0; cpu < 8; ++cpu) {
    v1::CpuPlace& place = *profile.add_cpu_places();
    place.set_cpu(cpu);
    place.set_core(cpu % 4);
    place.set_node(cpu % 4 / 2);
    place.set_cache(cpu % 4 / 2 * 2);
  }
  for (v1::Thread& thread : *profile.mutable_threads()) {
    v1::ThreadClock& clock = *thread.mutable_clock();
    const bool moves = thread.tid() == 4246;
    clock.set_migrations(moves ? 600 : 0);
    clock.set_core_migrations(moves ? 500 : 0);
    clock.set_cache_migrations(moves ? 400 : 0);
    clock.set_node_migrations(moves ? 400 : 0);
  }
  v1::Profile made = maker.Make();
  v1::Samples& samples = *made.mutable_samples();
  int of_mover = 0;
  for (int i = 0; i < samples.thread_size(); ++i) {
    std::uint32_t cpu = 0;
    auto sibling = v1::SIBLING_UNKNOWN;
    v1::Thread& thread = *made.mutable_threads(static_cast<int>(samples.thread(i)));
    if (samples.state(i) == v1::STATE_ON_CPU) {
      // The first two on one core, the third on its own, the last one on two nodes.
      const std::uint32_t tid = thread.tid();
      cpu = tid == 4243 ? 1 : tid == 4244 ? 5 : tid == 4245 ? 2 : of_mover++ == 0 ? 4 : 6;
      sibling = tid <= 4244 ? v1::SIBLING_BUSY : v1::SIBLING_IDLE;
      thread.add_cpus(cpu - 1);
    }
    samples.add_cpu(cpu);
    samples.add_sibling(sibling);
  }
  return made;
}

v1::Profile EndedWaitsProfile() {
  ProfileMaker maker;
  const auto waiter = maker.AddThread(1, "waiter");
  const auto worker = maker.AddThread(2, "worker");
  const auto engine = maker.AddPathThread(2, "worker");
  const auto other = maker.AddPathThread(3, "other");  // no thread of this profile
  const auto by_worker = maker.AddPath({{.thread = engine}});
  const auto by_other = maker.AddPath({{.thread = other}});
  const auto held = maker.AddPath({{.thread = engine, .how = v1::HOW_OWNER}});
  const auto timer = maker.AddPath({{.kind = v1::PATH_TIMER}});
  const auto computes = maker.AddPath({{.thread = engine, .stack = {"compute"}}});
  maker.Add(waiter, {"f"}, Blocked(v1::WAIT_LOCK, 100, 1, computes));
  maker.Add(waiter, {"f"}, Blocked(v1::WAIT_LOCK, 20, 1, by_worker));  // of one wait
  maker.Add(waiter, {"f"}, Running(30));
  maker.Add(waiter, {"g"}, Blocked(v1::WAIT_LOCK, 50, 1, by_other));
  maker.Add(waiter, {"h"}, Blocked(v1::WAIT_LOCK, 50, 1, timer));
  maker.Add(waiter, {"i"}, Blocked(v1::WAIT_LOCK, 50, 1, held));
  maker.Add(worker, {"run"}, Running(400));
  return maker.Make();
}

v1::Profile WaitingProfile() {
  ProfileMaker maker;
  const auto main = maker.AddThread(4242, "demo");
  const auto worker = maker.AddThread(4243, "engine-worker");
  const auto engine = maker.AddPathThread(4243, "engine-worker");
  const auto store = maker.AddPathThread(78, "io-3", 77, "store");
  const StepSpec disk{.kind = v1::PATH_DISK, .stack = {"blk_done_softirq_[k]"}};
  const auto computes =
      maker.AddPath({{.thread = engine, .stack = {"run", "get_device_properties"}}});
  const auto computes_elsewhere = maker.AddPath(
      {{.thread = engine, .stack = {"run", "get_device_properties"}, .estimated = true}});
  const auto flushes = maker.AddPath({{.kind = v1::PATH_WAITS,
                                       .thread = engine,
                                       .stack = {"run", "flush", "fsync_[k]"},
                                       .wait = v1::WAIT_IO},
                                      disk});
  const auto timer = maker.AddPath({{.kind = v1::PATH_TIMER}});
  const auto stored = maker.AddPath({{.kind = v1::PATH_NOT_FOLLOWED, .thread = store}});
  const auto open = maker.AddPath({{.kind = v1::PATH_STILL_WAITS}});
  const auto raced = maker.AddPath({{.kind = v1::PATH_NOT_SEEN}});
  const std::vector<std::string> locked{"main", "Tensor.numpy (tensor.py:31)", "futex_wait_[k]"};
  maker.Add(main, {"main", "compute"}, Running(100, 10));
  maker.Add(main, locked, Blocked(v1::WAIT_LOCK, 600, 60, computes));
  maker.Add(main, locked, Blocked(v1::WAIT_LOCK, 20, 2, computes_elsewhere));
  maker.Add(main, locked, Blocked(v1::WAIT_LOCK, 210, 21, flushes));
  maker.Add(main, {"main", "nanosleep"}, Blocked(v1::WAIT_SLEEP, 98, 10, timer));
  maker.Add(main, {"main", "send"}, Blocked(v1::WAIT_PIPE, 42, 4, stored));
  maker.Add(main, locked, Blocked(v1::WAIT_LOCK, 20, 2, open));
  maker.Add(main, locked, Blocked(v1::WAIT_LOCK, 10, 1, raced));
  maker.Add(worker, {"run", "get_device_properties"}, Running(620, 62));
  maker.Add(worker, {"run", "flush", "fsync_[k]"},
            Blocked(v1::WAIT_IO, 210, 21, maker.AddPath({disk})));
  maker.AddWakeUps(main, engine, v1::WAIT_LOCK, 83, 2);
  maker.AddWakeUps(main, store, v1::WAIT_PIPE, 4);
  return maker.Make();
}

v1::Profile SmallProfile() {
  ProfileMaker maker;
  const auto main = maker.AddThread(4242, "demo");
  const auto worker = maker.AddThread(4243, "worker");
  maker.Add(main, {"_start", "main", "compute"}, {.weight_ns = 1'500'000'400, .count = 150});
  maker.Add(main, {"_start", "main", "compute"}, Runnable(20));
  maker.Add(main, {"_start", "main", "wait", "futex_wait_[k]"}, Blocked(v1::WAIT_LOCK, 300));
  maker.Add(main, {"_start", "main", "compute"}, {.weight_ns = 179'999'600, .count = 18});
  maker.Add(worker, {"_start", "run"}, Blocked(v1::WAIT_SLEEP, 1200));
  maker.Add(worker, {"_start", "run", "fsync_[k]"}, Blocked(v1::WAIT_IO, 800));
  return maker.Make();
}

v1::Profile SampledProfile() {
  ProfileMaker maker;
  const auto main = maker.AddThread(4242, "demo");
  maker.Add(main, {"main", "read"}, Blocked(v1::WAIT_IO, 600));
  maker.Add(main, {"main", "lock"}, Blocked(v1::WAIT_LOCK, 400));
  v1::Samples& samples = *maker.profile().mutable_samples();
  samples.set_count(0, 60);
  samples.set_count(1, 40);
  // The first ends where the second begins: an edge of part 3, which weighs one of 100 points.
  constexpr std::uint32_t kEdge = 32 | 3;
  constexpr std::uint32_t kMinus = 16;
  samples.add_edges(kEdge << 6);
  samples.add_edges(kEdge | kMinus);
  for (int state = 0; state < 3; ++state)
    maker.profile().mutable_threads(static_cast<int>(main))->add_edge_factors(1);
  return maker.Make();
}

v1::Profile SmallProfileLater() {
  ProfileMaker maker;
  maker.profile().mutable_processes(0)->set_pid(5353);
  const auto main = maker.AddThread(5353, "demo");
  const auto worker = maker.AddThread(5354, "worker");
  maker.Add(main, {"_start", "main", "compute"}, {.weight_ns = 1'680'000'000, .count = 168});
  maker.Add(main, {"_start", "main", "compute"}, Runnable(20));
  maker.Add(main, {"_start", "main", "wait", "futex_wait_[k]"}, Blocked(v1::WAIT_LOCK, 2300));
  maker.Add(worker, {"_start", "run"}, Blocked(v1::WAIT_SLEEP, 2400));
  maker.Add(worker, {"_start", "run", "send_[k]"}, Blocked(v1::WAIT_NET, 1600));
  for (int i = 0; i < maker.profile().samples().exact_size(); ++i)
    maker.profile().mutable_samples()->set_exact(i, maker.profile().samples().count(i) == 1);
  return maker.Make();
}

v1::Profile TypicalProfile() {
  ProfileMaker maker;
  v1::Process& process = *maker.profile().mutable_processes(0);
  process.set_comm("python3");
  process.set_command_line("python3 train.py --epochs 10 --data /srv/data/imagenet");
  const auto main = maker.AddThread(4242, "MainThread");
  const auto native = maker.AddThread(4247, "topk-worker");
  const std::vector<std::string> base{"_start", "Py_BytesMain", "main (train.py:120)",
                                      "train_step (train.py:88)"};
  const auto with = [&](std::vector<std::string> above) {
    std::vector<std::string> stack = base;
    stack.insert(stack.end(), above.begin(), above.end());
    return stack;
  };
  const std::vector<std::string> numpy = with(
      {"Tensor.numpy (tensor.py:31)", "mgb::Handle::wait", "pthread_cond_wait", "futex_wait_[k]"});
  maker.Add(main, numpy,
            {.weight_ns = 7'980'000'000,
             .state = v1::STATE_BLOCKED,
             .wait = v1::WAIT_LOCK,
             .count = 790});
  const std::vector<std::string> add =
      with({"Tensor.add (tensor.py:12)", "mgb::opr::Elemwise::scn_do_execute",
            "mgb::kernel<float, 4>::loop_[i]", "add_kernel_avx2"});
  maker.Add(main, add, {.weight_ns = 940'000'000, .count = 93});
  maker.Add(main, add, Runnable(90));
  maker.Add(main, with({"DataLoader.next (data.py:204)", "read", "vfs_read_[k]"}),
            Blocked(v1::WAIT_IO, 50));
  maker.Add(main, with({"DataLoader.next (data.py:204)", "take_gil"}), Blocked(v1::WAIT_GIL, 160));
  maker.Add(main, with({"DataLoader.decode (data.py:77)", "decode_jpeg_fast_[j]"}), Running(380));
  maker.Add(main, with({"DataLoader.decode (data.py:91)", "libjpeg.so.62+0x1234"}),
            {.weight_ns = 400'000'000, .count = 40});
  maker.Add(native, {"clone3", "start_thread", "topk::Worker::run", "ioctl", "my_driver_ioctl_[k]"},
            {.weight_ns = 8'520'000'000,
             .state = v1::STATE_BLOCKED,
             .wait = v1::WAIT_DRIVER,
             .count = 840});
  maker.Add(native, {"clone3", "start_thread", "topk::Worker::run", "std::sort<float*>"},
            {.weight_ns = 1'410'000'000, .count = 140});
  maker.Add(native, {"clone3", "start_thread", "topk::Worker::run"}, Runnable(70));
  v1::NamedCount* lost = maker.profile().add_lost();
  lost->set_name("on_cpu_ring_full");
  lost->set_text("on-CPU samples lost: ring full");
  lost->set_count(3);
  maker.profile().mutable_threads(0)->set_closure_error(0.00012);
  return maker.Make();
}

v1::Profile OperatorProfile() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "train");
  maker.Add(thread, {"step", "linear", "gemm"}, Running(60, 6));
  maker.Add(thread, {"step", "linear"}, Blocked(v1::WAIT_LOCK, 10, 1));
  maker.Add(thread, {"step"}, Running(30, 3));
  v1::Profile profile = maker.Make();
  profile.add_operators()->set_name("aten::linear");
  profile.mutable_operators(0)->set_rank(1);
  for (v1::Frame& frame : *profile.mutable_frames()) {
    if (frame.name() != "linear") continue;
    frame.set_op(1);
    frame.set_phase(v1::PHASE_FORWARD);
  }
  return profile;
}

v1::Profile SteppedProfile() {
  constexpr std::uint64_t kMs = 1'000'000;
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "train");
  for (int step = 0; step < 8; ++step) {
    maker.Add(thread, {"train", "next"}, Running(1));
    maker.Add(thread, {"train", "load"}, Blocked(v1::WAIT_SLEEP, step == 5 ? 52 : 2));
    maker.Add(thread, {"train", "forward"}, Running(5));
    maker.Add(thread, {"train", "update"}, Running(2));
  }
  v1::Profile profile = maker.Make();
  profile.mutable_samples()->mutable_edges()->Resize(profile.samples().node_size(), 0);
  v1::StepSource& source = *profile.add_step_sources();
  source.set_text("record_function");
  source.set_names(true);
  source.set_ends(true);
  for (const char* name : {"", "enumerate(DataLoader)#_Iter.__next__", "Optimizer.step#Adam.step"})
    profile.add_step_names(name);
  const auto add = [&](std::uint64_t at_ns, std::uint32_t name) {
    v1::StepEvents& events = *profile.mutable_step_events();
    events.add_time_ns(profile.start_ns() + at_ns);
    events.add_thread(thread);
    events.add_source(0);
    events.add_name(name);
    events.add_end(name == 0);
  };
  std::uint64_t begin_ns = 0;
  for (int step = 0; step < 8; ++step) {
    const std::uint64_t data_ns = (step == 5 ? 52 : 2) * kMs;
    add(begin_ns + 1 * kMs, 1);
    add(begin_ns + 1 * kMs + data_ns, 0);
    add(begin_ns + 6 * kMs + data_ns, 2);
    add(begin_ns + 8 * kMs + data_ns, 0);
    begin_ns += 8 * kMs + data_ns;
  }
  for (v1::Frame& frame : *profile.mutable_frames()) {
    if (frame.name() == "load") frame.set_phase(v1::PHASE_DATA);
    if (frame.name() == "forward") frame.set_phase(v1::PHASE_FORWARD);
    if (frame.name() == "update") frame.set_phase(v1::PHASE_OPTIMIZER);
  }
  return profile;
}

v1::Profile LabelledProfile() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "train");
  maker.Add(thread, {"step"}, Running(20, 2));
  maker.Add(thread, {"step"}, Running(20, 2));
  maker.Add(thread, {"step", "load"}, Blocked(v1::WAIT_SLEEP, 10, 1));
  maker.Add(thread, {"rest"}, Running(50, 5));
  v1::Profile profile = maker.Make();
  for (const std::uint32_t labels : {1u, 2u, 3u, 0u}) profile.mutable_samples()->add_labels(labels);
  const auto add = [](v1::LabelSet& set, const char* name, const char* value) {
    auto& label = *set.add_labels();
    label.set_name(name);
    label.set_value(value);
  };
  add(*profile.add_label_sets(), "step", "1");
  add(*profile.add_label_sets(), "step", "2");
  auto& loading = *profile.add_label_sets();
  add(loading, "phase", "load");
  add(loading, "step", "2");
  return profile;
}

v1::Profile EmptyProfile() {
  ProfileMaker maker;
  maker.AddThread(4242, "demo");
  return maker.Make();
}

v1::Profile TowerProfile() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "wide"}, {.weight_ns = 10'000'000'000, .count = 1000});
  std::vector<std::string> tower{"main"};
  for (int i = 0; i < 50; ++i) tower.push_back("tower_" + std::to_string(i));
  maker.Add(thread, tower, {.weight_ns = 1'000'000});
  return maker.Make();
}

v1::Profile ManyThreadsProfile(int threads) {
  ProfileMaker maker;
  for (int i = 0; i < threads; ++i) {
    const auto thread =
        maker.AddThread(5000 + static_cast<std::uint32_t>(i), "pool-" + std::to_string(i));
    maker.Add(thread, {"start_thread", "run", "task_" + std::to_string(i)}, Running(10));
    maker.Add(thread, {"start_thread", "run", "pop", "futex_wait_[k]"},
              Blocked(v1::WAIT_LOCK, 990));
  }
  return maker.Make();
}

v1::Profile LargeProfile(int frames) {
  ProfileMaker maker;
  // mt19937 and its arithmetic are fixed by the standard; distributions are not.
  std::mt19937 random(20'000);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
  const std::uint32_t threads[] = {maker.AddThread(4242, "main"), maker.AddThread(4243, "io"),
                                   maker.AddThread(4244, "worker")};
  constexpr const char* kWords[] = {"parse", "hash",   "insert",  "lookup",  "visit", "encode",
                                    "flush", "rehash", "compare", "resolve", "emit",  "walk"};
  constexpr const char* kScopes[] = {"", "db::Table::", "net::http::Connection::",
                                     "std::_Hashtable<std::string, db::Row, true>::", "util::"};
  std::vector<std::string> stack;
  while (maker.profile().nodes_size() < frames) {
    // Go back some way, then up again: neighbours share their callers.
    const std::size_t keep = stack.empty() ? 0 : stack.size() - std::min(stack.size(), below(12));
    stack.resize(std::max<std::size_t>(keep, 1), "main");
    const std::size_t depth = std::min<std::size_t>(stack.size() + 1 + below(10), 58);
    while (stack.size() < depth) {
      // Few choices near the root and many further up, as in programs.
      const std::size_t choices = 2 + stack.size() * 2;
      const std::size_t pick = below(choices) * below(choices) / choices;
      stack.push_back(std::string(kScopes[pick % 5]) + kWords[(pick / 2 + stack.size()) % 12] +
                      (pick > 6 ? std::to_string(pick) : ""));
    }
    const std::uint32_t thread = threads[below(3)];
    const auto count = static_cast<std::uint32_t>(1 + below(100) / (1 + below(20)));
    const SampleSpec spec{.weight_ns = count * 10'000'000ull + below(1000), .count = count};
    if (below(4) != 0) {
      maker.Add(thread, stack, spec);
      continue;
    }
    std::vector<std::string> waiting = stack;
    waiting.insert(waiting.end(), {"do_syscall_64_[k]", "schedule_[k]"});
    const auto wait = static_cast<v1::WaitReason>(1 + below(v1::WaitReason_ARRAYSIZE - 1));
    maker.Add(thread, waiting,
              {.weight_ns = spec.weight_ns,
               .state = below(5) == 0 ? v1::STATE_RUNNABLE : v1::STATE_BLOCKED,
               .wait = wait,
               .count = count});
  }
  return maker.Make();
}

std::vector<std::string> HostileNames() {
  return {"<script>alert(1)</script>",
          "</script><script>document.title='owned'</script>",
          "]]><script>document.title='owned'</script>",
          "</text><image href=\"x\" onerror=\"document.title='owned'\"/>",
          "--><!-- <?xml ?> <!DOCTYPE x [<!ENTITY y \"z\">]> &y; &amp; &#0;",
          "\"'`\\ \\u003c \\n ${document.title='owned'} {{1+1}} %s %n",
          "semi;colon;name",
          "line\nfeed\rreturn\ttab",
          "escape \x1b[31mred\x1b[0m bell \x07 delete \x7f",
          std::string("zero \0 byte", 11),
          "line separator \xE2\x80\xA8 paragraph \xE2\x80\xA9 next line \xC2\x85",
          "right to left \xE2\x80\xAEgnp.exe isolate \xE2\x81\xA6",
          "nonchar \xEF\xBF\xBE \xEF\xBF\xBF bom \xEF\xBB\xBF",
          "number at the end 12345",
          "grüße 統計 \xF0\x9F\x94\xA5",
          " leading and trailing ",
          std::string(5000, 'x')};
}

v1::Profile HostileProfile() {
  ProfileMaker maker;
  std::uint32_t process = 0;
  std::uint32_t tid = 100;
  for (const std::string& name : HostileNames()) {
    process = maker.AddProcess(tid, name, name + " --flag");
    const auto thread = maker.AddThread(tid++, name, process);
    std::vector<v1::Frame> stack;
    for (int kind = 0; kind < v1::FrameKind_ARRAYSIZE; ++kind) {
      v1::Frame frame;
      frame.set_kind(static_cast<v1::FrameKind>(kind));
      frame.set_name(name);
      frame.set_full_name(name + "(int)");
      frame.set_module("/lib/" + name);
      frame.set_offset(0x1234);
      frame.set_file("/src/" + name);
      frame.set_line(7);
      stack.push_back(frame);
      frame.clear_name();
      frame.clear_full_name();
      frame.set_reason(name);
      stack.push_back(frame);
    }
    maker.AddFrames(thread, stack, Running(10));
  }
  v1::Profile& profile = maker.profile();
  const std::string all = HostileNames()[0] + HostileNames()[2];
  profile.set_target(all);
  profile.set_host(all);
  profile.set_kernel(all);
  profile.set_hook(all);
  profile.set_profd_version(all);
  return maker.Make();
}

v1::Profile FramePointerProfile(std::uint32_t certain, std::uint32_t uncertain) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto add = [&](const char* leaf, std::uint32_t count, std::uint32_t flags) {
    maker.Add(thread, {"main", leaf}, {.count = count});
    auto& all = *maker.profile().mutable_samples()->mutable_stack_flags();
    all.Set(all.size() - 1, flags);
  };
  add("f", certain, PROFD_STACK_COMPLETE);
  add("g", uncertain, PROFD_STACK_COMPLETE | PROFD_STACK_UNCERTAIN);
  add("kthread_[k]", 1'000, PROFD_STACK_NO_USER);
  return maker.Make();
}

v1::Profile CountedProfile() {
  ProfileMaker maker;
  const auto fast = maker.AddThread(4242, "fast");
  const auto chaser = maker.AddThread(4243, "chaser");
  maker.Add(fast, {"main", "multiply"}, Running(500, 50));
  maker.Add(fast, {"main", "allocate"}, Running(100, 10));
  maker.Add(fast, {"main", "wait"}, Blocked(v1::WAIT_LOCK, 400, 40));
  maker.Add(chaser, {"main", "chase"}, Running(300, 30));
  maker.Add(chaser, {"main", "allocate"}, Running(100, 9));
  maker.Add(chaser, {"main", "wait"}, Blocked(v1::WAIT_LOCK, 600, 60));
  v1::Profile profile = maker.Make();
  v1::HardwareCounters& counters = *profile.mutable_hardware_counters();
  counters.set_cycles(true);
  counters.set_instructions(true);
  counters.set_cache_misses(true);
  v1::Samples& samples = *profile.mutable_samples();
  for (int i = 0; i < samples.thread_size(); ++i) {
    const v1::StackNode& leaf = profile.nodes(static_cast<int>(samples.node(i)) - 1);
    const std::string& name = profile.frames(static_cast<int>(leaf.frame())).name();
    const bool ran = samples.state(i) == v1::STATE_ON_CPU;
    const std::uint64_t cycles = ran ? 3 * samples.weight_ns(i) : 0;
    const std::uint64_t instructions = name == "multiply" ? cycles * 2
                                       : name == "chase"  ? cycles / 8
                                                          : cycles;
    const std::uint64_t misses = name == "chase" ? instructions / 5 : 0;
    samples.add_counted_ns(ran ? samples.weight_ns(i) : 0);
    samples.add_cycles(cycles);
    samples.add_instructions(instructions);
    samples.add_cache_misses(misses);
    v1::HardwareCounts& sum =
        *profile.mutable_threads(static_cast<int>(samples.thread(i)))->mutable_counters();
    sum.set_counted_ns(sum.counted_ns() + samples.counted_ns(i));
    sum.set_cycles(sum.cycles() + cycles);
    sum.set_instructions(sum.instructions() + instructions);
    sum.set_cache_misses(sum.cache_misses() + misses);
  }
  return profile;
}

v1::Profile SwitchesProfile() {
  constexpr std::uint64_t kMs = 1'000'000;
  ProfileMaker maker;
  const auto giver = maker.AddThread(1, "giver");
  const auto taker = maker.AddThread(2, "taker");
  maker.Add(giver, {"give"}, Running(60));
  maker.Add(giver, {"give"}, Running(40));
  maker.Add(taker, {"take", "read"}, Blocked(v1::WAIT_PIPE, 100));
  v1::Profile profile = maker.Make();
  v1::Samples& samples = *profile.mutable_samples();
  for (int i = 0; i < samples.thread_size(); ++i)
    samples.add_cpu(samples.state(i) != v1::STATE_ON_CPU ? 0
                    : samples.weight_ns(i) == 60 * kMs   ? 4
                                                         : 1);
  v1::Switches& switches = *profile.mutable_switches();
  const std::uint64_t start_ns = profile.start_ns();
  const auto add = [&](std::uint32_t thread, std::uint64_t out, std::uint64_t ready,
                       std::uint64_t in, v1::LeaveReason reason) {
    switches.add_thread(thread);
    switches.add_out_ns(start_ns + out * kMs);
    switches.add_ready_ns(start_ns + ready * kMs);
    switches.add_in_ns(in == 0 ? 0 : start_ns + in * kMs);
    switches.add_reason(reason);
    switches.add_cpu(3);
    switches.add_woken_ns(0);
    switches.add_waker_pid(0);
    switches.add_waker_tid(0);
    switches.add_by_interrupt(false);
  };
  add(giver, 20, 20, 30, v1::LEAVE_PREEMPTED);
  add(giver, 90, 90, 95, v1::LEAVE_YIELDED);
  add(taker, 10, 50, 60, v1::LEAVE_SLEEP);
  switches.set_woken_ns(2, start_ns + 49 * kMs);
  switches.set_waker_pid(2, 4242);
  switches.set_waker_tid(2, 1);
  add(taker, 70, 100, 0, v1::LEAVE_IO);
  return profile;
}

}  // namespace profd::testing
