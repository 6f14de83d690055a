// operators: a training loop whose functions have the names of a framework's, and which says at the
// end how much CPU time each operator had in each phase. Or a pool of one worker, which works for
// regions of one operator and never beside the other one.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <string>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/spin.h"
#include "tests/testprogs/thread_truth.h"

namespace {

using profd::testprog::ThreadTruth;

constexpr double kRegionMs = 30;  // of a leader and of its worker

const profd::testprog::Counter* counter = nullptr;  // made before any thread
thread_local ThreadTruth* own_truth = nullptr;      // of an operator that calls another one

PROFD_INLINE void Spin(double ms) {
  profd::testprog::SpinUntil(counter->After(static_cast<std::int64_t>(ms * 1e6)));
}

// Hands one region after another to a worker.
struct Pool {
  profd::testprog::FutexGate begun;
  profd::testprog::FutexGate ended;
  std::uint32_t regions = 0;

  void Lead(double ms) {
    begun.Open();
    Spin(ms);
    ended.WaitBeyond(regions++);
  }
};

}  // namespace

// Libraries: what they do counts for the operator above them.
extern "C" {
PROFD_NAMED void mkl_blas_def_sgemm_kernel_0_zen(double ms) { Spin(ms); }
PROFD_NAMED void cblas_sgemv(double ms) { Spin(ms); }
PROFD_NAMED void user_code(double ms) { Spin(ms); }
}

namespace at::native {
namespace {
PROFD_NAMED void mul_kernel(double ms) { Spin(ms); }
}  // namespace
struct structured_mm_out_cpu {
  PROFD_NAMED static void impl(double ms) { mkl_blas_def_sgemm_kernel_0_zen(ms); }
};
}  // namespace at::native

namespace at::_ops {
struct mm {
  PROFD_NAMED static void redispatch(double ms) { at::native::structured_mm_out_cpu::impl(ms); }
  PROFD_NAMED static void call(double ms) { redispatch(ms); }
};
// Part of its time is that of the operator that it calls.
struct linear {
  PROFD_NAMED static void call(double ms) {
    own_truth->Phase("forward aten::mm", [ms] { mm::call(ms / 2); });
    Spin(ms / 2);
  }
};
struct mul__Tensor {
  PROFD_NAMED static void call(double ms) { at::native::mul_kernel(ms); }
};
}  // namespace at::_ops

namespace torch::autograd {
namespace generated {
struct MmBackward0 {
  PROFD_NAMED static void apply(double ms) { at::_ops::mm::call(ms); }
};
struct GeluBackward0 {
  PROFD_NAMED static void apply(double ms) { Spin(ms); }
};
}  // namespace generated
struct Engine {
  PROFD_NAMED static void thread_main(void (*node)(double), double ms) { node(ms); }
};
}  // namespace torch::autograd

namespace torch::nn {
struct Model {
  PROFD_NAMED static void forward(void (*op)(double), double ms) { op(ms); }
};
}  // namespace torch::nn

namespace torch::optim {
struct SGD {
  PROFD_NAMED static void step(void (*op)(double), double ms) { op(ms); }
};
}  // namespace torch::optim

namespace tensorflow::data {
struct MapIterator {
  PROFD_NAMED static void GetNext(double ms) { user_code(ms); }
};
}  // namespace tensorflow::data

// A region that another thread works for, and which ends when that one is done.
extern "C" PROFD_NAMED void GOMP_parallel(Pool& pool, double ms) { pool.Lead(ms); }

namespace at::_ops {
struct addmm {
  PROFD_NAMED static void call(Pool& pool, double ms) { GOMP_parallel(pool, ms); }
};
}  // namespace at::_ops

// A thread of a pool, which says by its frames only that it works.
extern "C" PROFD_NAMED void gomp_thread_start(void (*work)(double), double ms) { work(ms); }

namespace {

// Names of phases: "PHASE OPERATOR", "-" for none. The time of "forward aten::linear" has that of
// "forward aten::mm" in it.
void Train(ThreadTruth& truth, const std::atomic<bool>& done) {
  own_truth = &truth;
  while (!done) {
    truth.Phase("data -", [] { tensorflow::data::MapIterator::GetNext(3); });
    truth.Phase("- -", [] { user_code(2); });
    truth.Phase("forward aten::linear",
                [] { torch::nn::Model::forward(at::_ops::linear::call, 8); });
    truth.Phase("forward blas.sgemv", [] { torch::nn::Model::forward(cblas_sgemv, 4); });
    truth.Phase("optimizer aten::mul_",
                [] { torch::optim::SGD::step(at::_ops::mul__Tensor::call, 5); });
    truth.Phase("optimizer -", [] { torch::optim::SGD::step(user_code, 2); });
  }
}

void Differentiate(ThreadTruth& truth, const std::atomic<bool>& done) {
  using torch::autograd::Engine;
  while (!done) {
    truth.Phase("backward aten::mm",
                [] { Engine::thread_main(torch::autograd::generated::MmBackward0::apply, 6); });
    truth.Phase("backward GeluBackward0",
                [] { Engine::thread_main(torch::autograd::generated::GeluBackward0::apply, 3); });
  }
}

void WorkInParallel(ThreadTruth& truth, const std::atomic<bool>& done) {
  while (!done) {
    truth.Phase("- aten::mul", [] { gomp_thread_start(at::native::mul_kernel, 4); });
    truth.Phase("- (parallel worker)", [] { gomp_thread_start(user_code, 3); });
  }
}

void LeadRegions(ThreadTruth& truth, Pool& pool, const std::atomic<bool>& done) {
  while (!done) {
    truth.Phase("- aten::addmm", [&] { at::_ops::addmm::call(pool, kRegionMs); });
    truth.Phase("- aten::mul_", [] { at::_ops::mul__Tensor::call(kRegionMs); });
  }
  pool.begun.Open();
}

void WorkForRegions(ThreadTruth& truth, Pool& pool, const std::atomic<bool>& done) {
  for (std::uint32_t region = 0;; ++region) {
    pool.begun.WaitBeyond(region);
    if (done) break;
    truth.Phase("- (parallel worker)", [] { gomp_thread_start(user_code, kRegionMs); });
    pool.ended.Open();
  }
  pool.ended.Open();
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 5;
  CLI::App app{"Operators and phases in named functions; prints how long each took as JSON"};
  app.add_option("--seconds", seconds, "how long to run")->capture_default_str();
  bool regions = false;
  app.add_flag("--regions", regions, "one thread leads regions that another one works for");
  CLI11_PARSE(app, argc, argv);
  const profd::testprog::Counter made;
  counter = &made;
  std::atomic<bool> done{false};
  profd::testprog::Report report("operators");
  Pool pool;
  if (regions) {
    report.Start("leader", [&](ThreadTruth& truth) { LeadRegions(truth, pool, done); });
    report.Start("worker", [&](ThreadTruth& truth) { WorkForRegions(truth, pool, done); });
  } else {
    report.Start("trainer", [&](ThreadTruth& truth) { Train(truth, done); });
    report.Start("autograd", [&](ThreadTruth& truth) { Differentiate(truth, done); });
    report.Start("worker", [&](ThreadTruth& truth) { WorkInParallel(truth, done); });
  }
  profd::testprog::RawSleep(static_cast<std::int64_t>(seconds * 1e9));
  done = true;
  report.Join();
  report.Print();
  return 0;
}
