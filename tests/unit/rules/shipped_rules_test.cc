#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "daemon/rules/rule_set.h"

namespace profd::rules {
namespace {

class ShippedRules : public testing::Test {
 protected:
  // "spin", "leaf spin" of a rule for leaves only, "" where no rule matches.
  std::string Of(const std::string& name, const std::string& module = "/usr/lib/libx.so") const {
    symbolize::Frame frame;
    frame.name = name;
    frame.module = module;
    const FrameRules found = set_->Find(frame);
    if (!found.as_leaf) return "";
    return (found.as_caller ? "" : "leaf ") +
           std::string(NameOf(set_->rules()[*found.as_leaf].frame_class));
  }

  std::string AsCaller(const std::string& name) const {
    symbolize::Frame frame;
    frame.name = name;
    return std::string(NameOf(set_->rules()[set_->Find(frame).as_caller.value()].frame_class));
  }

  const RuleSetRef set_ = *RuleSet::Load("");
};

TEST_F(ShippedRules, WaitingInOpenMpIsSpinning) {
  const std::string gomp = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0";
  for (const char* name :
       {"gomp_barrier_wait_end", "gomp_team_barrier_wait_end", "do_spin",
        "gomp_team_barrier_wait_final", "gomp_simple_barrier_wait", "gomp_mutex_lock_slow"})
    EXPECT_EQ(Of(name, gomp), "spin") << name;
  EXPECT_EQ(Of("gomp_barrier_wait_end", "/x/torch/lib/libgomp-a34b3233.so.1"), "spin");
  EXPECT_EQ(Of("do_wait", "/bin/shell"), "") << "a name that others have, too";
  for (const char* name :
       {"__kmp_hyper_barrier_release", "__kmp_fork_barrier", "__kmp_wait_yield_4",
        "__kmp_wait_template<kmp_flag_64<false, true>, true, false, true>",
        "kmp_flag_64<false, true>::wait", "kmp_flag_native<unsigned long long>::wait",
        "__kmp_acquire_queuing_lock"})
    EXPECT_EQ(Of(name), "spin") << name;
  for (const char* name : {"__kmp_api_GOMP_taskyield", "__kmp_stg_parse_use_yield"})
    EXPECT_EQ(Of(name), "") << name;
  for (const char* name : {"GOMP_barrier", "__kmpc_barrier", "__kmp_wait_64"})
    EXPECT_EQ(Of(name), "leaf spin") << name << " runs tasks, too";
  EXPECT_EQ(Of("", gomp), "leaf spin");
  EXPECT_EQ(Of("", "/usr/lib/llvm-16/lib/libomp.so.5"), "leaf spin");
  EXPECT_EQ(Of("libgomp.so.1.0.0!fn_1f7da", gomp), "leaf spin");
  EXPECT_EQ(Of("", "/opt/libcompute.so"), "");
}

TEST_F(ShippedRules, TasksInABarrierAreWork) {
  EXPECT_EQ(Of("__kmp_invoke_task"), "work");
  // By itself it looks for a task.
  for (const char* name : {"gomp_barrier_handle_tasks", "__kmp_execute_tasks_64<false, true>"}) {
    EXPECT_EQ(Of(name), "spin") << name;
    EXPECT_EQ(AsCaller(name), "work") << name;
  }
  EXPECT_EQ(Of("__kmp_steal_task"), "leaf spin");
}

TEST_F(ShippedRules, PoolsSpinWhileTheyDoNotRunTasks) {
  EXPECT_EQ(Of("blas_thread_server"), "leaf spin");
  EXPECT_EQ(Of("exec_blas_async_wait"), "leaf spin");
  EXPECT_EQ(Of("inner_thread", "/x/numpy.libs/libscipy_openblas64_-32a4b2a6.so"), "leaf spin");
  EXPECT_EQ(Of("inner_thread"), "");
  EXPECT_EQ(Of("Eigen::ThreadPoolTempl<tsl::thread::EigenEnvironment>::WaitForWork"), "spin");
  EXPECT_EQ(Of("onnxruntime::concurrency::ThreadPoolTempl<onnxruntime::Env>::WorkerLoop"),
            "leaf spin");
  EXPECT_EQ(Of("onnxruntime::concurrency::SpinPause"), "spin");
  EXPECT_EQ(Of("mindspore::runtime::AsyncRQueue::Wait"), "spin");
  EXPECT_EQ(Of("mindspore::runtime::AsyncRQueue::WorkerLoop"), "leaf spin");
  EXPECT_EQ(Of("tbb::detail::r1::stealing_loop_backoff::pause"), "spin");
  EXPECT_EQ(Of("tbb::detail::r1::outermost_worker_waiter::pause"), "spin");
  EXPECT_EQ(Of("tbb::detail::r1::rtm_rw_mutex_impl::acquire_writer"), "spin");
  EXPECT_EQ(Of("tbb::detail::r1::task_dispatcher::local_wait_for_all<false, "
               "tbb::detail::r1::outermost_worker_waiter>"),
            "leaf spin")
      << "it runs the tasks";
}

TEST_F(ShippedRules, LocksSpin) {
  EXPECT_EQ(Of("pthread_spin_lock"), "spin");
  EXPECT_EQ(Of("sched_yield"), "spin");
  EXPECT_EQ(Of("AbslInternalSpinLockDelay_lts_20220623"), "spin");
  EXPECT_EQ(Of("absl::lts_20220623::base_internal::SpinLock::SpinLoop"), "spin");
  EXPECT_EQ(Of("absl::base_internal::SpinLock::SlowLock"), "spin");
}

TEST_F(ShippedRules, TheKernelSpinsOnlyInTheKernel) {
  for (const char* name :
       {"native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath", "_raw_spin_lock",
        "_raw_spin_lock_irqsave", "_raw_read_lock", "queued_write_lock_slowpath", "osq_lock",
        "mutex_spin_on_owner", "rwsem_spin_on_owner", "rwsem_optimistic_spin", "do_sched_yield"}) {
    EXPECT_EQ(Of(name, "[kernel]"), "spin") << name;
    EXPECT_EQ(Of(name), "") << name;
  }
  for (const char* name : {"_raw_spin_unlock_irqrestore", "_raw_spin_trylock", "mutex_lock",
                           "finish_task_switch.isra.0"})
    EXPECT_EQ(Of(name, "[kernel]"), "") << name;
}

TEST_F(ShippedRules, SynchronizingCallsWaitForTheGpu) {
  for (const char* name :
       {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
        "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuStreamSynchronize_ptsz",
        "hipStreamSynchronize", "hipDeviceSynchronize", "cudart::cudaApiStreamSynchronize",
        "aclrtSynchronizeStreamWithTimeout"})
    EXPECT_EQ(Of(name), "gpu-wait") << name;
  EXPECT_EQ(Of("cudaMemcpyAsync"), "");
}

TEST_F(ShippedRules, AllocatorsAndCopiesAreWorkOfTheirOwnClass) {
  for (const char* name : {"malloc", "_int_malloc", "__libc_free", "operator new", "tc_malloc",
                           "operator delete[]", "je_malloc", "mi_malloc", "_mi_page_malloc"})
    EXPECT_EQ(Of(name), "runtime") << name;
  EXPECT_EQ(Of("c10::Dispatcher::callBoxed"), "leaf runtime");
  for (const char* name :
       {"memcpy", "__memmove_avx_unaligned_erms", "__memmove_evex_unaligned_erms", "__memcpy_ssse3",
        "__mempcpy_avx512_no_vzeroupper"})
    EXPECT_EQ(Of(name), "copy") << name;
  for (const char* name : {"rep_movs_alternative", "copy_user_enhanced_fast_string",
                           "_copy_to_iter", "_copy_from_user"})
    EXPECT_EQ(Of(name, "[kernel]"), "copy") << name;
  for (const char* name :
       {"main", "compute", "memcpy_benchmark", "free_list", "malloc_me", "time_sleep"})
    EXPECT_EQ(Of(name), "") << name;
}

// A kernel that renames them would no longer be judged.
TEST_F(ShippedRules, ThisKernelHasTheLocksOfTheRules) {
  std::ifstream file("/proc/kallsyms");
  std::set<std::string> spinning;
  std::string address, kind, name, rest;
  while (file >> address >> kind >> name && std::getline(file, rest))
    if (Of(name, "[kernel]") == "spin") spinning.insert(name);
  if (address.empty()) GTEST_SKIP() << "/proc/kallsyms cannot be read";
  for (const char* lock : {"native_queued_spin_lock_slowpath", "_raw_spin_lock",
                           "_raw_spin_lock_irqsave", "rwsem_spin_on_owner"})
    EXPECT_TRUE(spinning.contains(lock)) << lock;
  EXPECT_LT(spinning.size(), 100u) << "the patterns match too much";
}

}  // namespace
}  // namespace profd::rules
