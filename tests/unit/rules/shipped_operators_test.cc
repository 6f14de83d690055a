// The shipped rules for operators and phases, held against names of frames that real programs had.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "daemon/rules/rule_set.h"

namespace profd::rules {
namespace {

constexpr const char* kPackages = "/usr/lib/python3/site-packages/";

class ShippedOperators : public testing::Test {
 protected:
  // "aten::mm", "2 phi.Conv" of another rank than the best, "" where no rule matches.
  [[nodiscard]] std::string Of(const std::string& name,
                               const std::string& module = "/usr/lib/libx.so") const {
    symbolize::Frame frame;
    frame.name = name;
    frame.module = module;
    return TextOf(set_->FindOperator(frame));
  }
  [[nodiscard]] std::string OfPython(const std::string& name, const std::string& file) const {
    return TextOf(set_->FindOperator(Python(name, file)));
  }
  [[nodiscard]] std::string_view Phase(const std::string& name) const {
    symbolize::Frame frame;
    frame.name = name;
    frame.module = "/usr/lib/libx.so";
    return NameOf(set_->FindPhase(frame));
  }
  [[nodiscard]] std::string_view PhaseOfPython(const std::string& name,
                                               const std::string& file) const {
    return NameOf(set_->FindPhase(Python(name, file)));
  }

 private:
  static std::string TextOf(const std::optional<FrameOperator>& found) {
    if (!found) return "";
    return (found->rank == kBestRank ? "" : std::to_string(found->rank) + " ") + found->name;
  }
  static symbolize::Frame Python(const std::string& name, const std::string& file) {
    symbolize::Frame frame;
    frame.kind = symbolize::FrameKind::kPython;
    frame.name = name;
    frame.file = kPackages + file;
    return frame;
  }

  const RuleSetRef set_ = *RuleSet::Load("");
};

TEST_F(ShippedOperators, TheDispatcherOfPyTorchNamesTheSchemaWithoutItsOverload) {
  for (const auto& [symbol, op] : std::initializer_list<std::pair<const char*, const char*>>{
           {"addmm", "addmm"},
           {"mm", "mm"},
           {"mul_Tensor", "mul"},
           {"add__Tensor", "add_"},
           {"div_Tensor_mode", "div"},
           {"bernoulli__float", "bernoulli_"},
           {"bernoulli_p", "bernoulli"},
           {"log_softmax_int", "log_softmax"},
           {"_log_softmax_backward_data", "_log_softmax_backward_data"},
           {"_log_softmax_backward_data_out", "_log_softmax_backward_data"},
           {"sum_dim_IntList", "sum"},
           {"sum_to_size", "sum_to_size"},
           {"mean_dim", "mean"},
           {"max_pool2d_with_indices", "max_pool2d_with_indices"},
           {"max_pool2d_with_indices_backward_grad_input", "max_pool2d_with_indices_backward"},
           {"_foreach_addcdiv__ScalarList", "_foreach_addcdiv_"},
           {"_foreach_lerp__Scalar", "_foreach_lerp_"},
           {"convolution_backward", "convolution_backward"},
           {"native_layer_norm_backward", "native_layer_norm_backward"},
           {"to_dtype_layout", "to"},
           {"to_device", "to"},
           {"sparse_dim", "sparse_dim"},
           {"index_put_", "index_put_"},
           {"slice_Tensor", "slice"},
           {"empty_memory_format", "empty"},
           {"pow_Tensor_Scalar", "pow"},
           {"threshold_backward_grad_input", "threshold_backward"},
           {"nll_loss_forward", "nll_loss_forward"},
           {"embedding_dense_backward", "embedding_dense_backward"},
           {"split_with_sizes", "split_with_sizes"},
           {"scaled_dot_product_attention", "scaled_dot_product_attention"},
           {"linalg_vector_norm_out", "linalg_vector_norm"},
           {"__and___Scalar", "__and__"}}) {
    EXPECT_EQ(Of("at::_ops::" + std::string(symbol) + "::call"), "aten::" + std::string(op));
    EXPECT_EQ(Of("at::_ops::" + std::string(symbol) + "::redispatch"), "aten::" + std::string(op));
  }
  EXPECT_EQ(Of("at::_ops::create_gelu_typed_handle"), "");
}

TEST_F(ShippedOperators, NodesOfAutogradAreOperators) {
  EXPECT_EQ(Of("torch::autograd::generated::AddmmBackward0::apply"), "AddmmBackward0");
  EXPECT_EQ(Of("torch::autograd::generated::MulBackward0::apply_with_saved"), "MulBackward0");
  EXPECT_EQ(Of("torch::autograd::AccumulateGrad::apply"), "AccumulateGrad");
  EXPECT_EQ(Of("torch::autograd::Engine::evaluate_function"), "");
}

TEST_F(ShippedOperators, KernelsOfPyTorchAreOfTheSecondRank) {
  EXPECT_EQ(Of("at::native::structured_addmm_out_cpu::impl"), "2 aten::addmm");
  EXPECT_EQ(Of("at::native::layer_norm_cpu"), "2 aten::layer_norm");
  EXPECT_EQ(Of("at::native::masked_fill_"), "2 aten::masked_fill_");
  EXPECT_EQ(Of("at::native::convolution_overrideable"), "2 aten::convolution_overrideable");
  EXPECT_EQ(Of("at::native::mm_out_symint"), "2 aten::mm");
  EXPECT_EQ(Of("at::native::(anonymous namespace)::div_true_kernel"), "2 aten::div");
  EXPECT_EQ(Of("at::native::(anonymous namespace)::GeluKernelImpl"), "");
  EXPECT_EQ(Of("at::native::logical_xor_stub"), "");
  EXPECT_EQ(Of("at::TensorIteratorBase::for_each"), "");
}

TEST_F(ShippedOperators, ModulesInPythonAreOfTheThirdRank) {
  EXPECT_EQ(OfPython("Linear.forward", "torch/nn/modules/linear.py"), "3 nn.Linear");
  EXPECT_EQ(OfPython("_BatchNorm.forward", "torch/nn/modules/batchnorm.py"), "");
  EXPECT_EQ(OfPython("Sequential.forward", "torch/nn/modules/container.py"), "");
  EXPECT_EQ(OfPython("relu", "torch/nn/functional.py"), "3 nn.functional.relu");
  EXPECT_EQ(OfPython("Adam.step", "torch/optim/adam.py"), "3 optim.Adam");
  EXPECT_EQ(OfPython("Linear.forward", "model.py"), "") << "a model of the user";
}

TEST_F(ShippedOperators, OperatorsOfPaddle) {
  EXPECT_EQ(Of("paddle::experimental::conv2d"), "conv2d");
  EXPECT_EQ(Of("paddle::experimental::conv2d_grad"), "conv2d_grad");
  EXPECT_EQ(Of("conv2d_ad_func"), "conv2d");
  EXPECT_EQ(Of("paddle::pybind::eager_api_conv2d"), "conv2d");
  EXPECT_EQ(Of("Conv2dGradNode::operator()"), "Conv2dGradNode");
  EXPECT_EQ(Of("phi::ConvGradKernel<float, phi::CPUContext>"), "2 phi.ConvGrad");
  EXPECT_EQ(Of("phi::ConvKernelImpl<float, phi::CPUContext>"), "2 phi.Conv");
  EXPECT_EQ(Of("phi::MatmulKernel<double, phi::CPUContext>"), "2 phi.Matmul");
  EXPECT_EQ(Of("phi::KernelFactory::Instance"), "");
}

TEST_F(ShippedOperators, OperatorsOfMindSporeHaveTheNamesOfTheirClasses) {
  EXPECT_EQ(Of("mindspore::kernel::pyboost::MatMulCPU::(virtual 3)"), "MatMul");
  EXPECT_EQ(Of("mindspore::kernel::pyboost::ReluGradCPU::(virtual 3)"), "ReluGrad");
  EXPECT_EQ(Of("mindspore::kernel::MatMulCpuKernelFunc::(virtual 5)"), "2 MatMul");
  EXPECT_EQ(Of("mindspore::kernel::ArithmeticSelfCpuKernelFuncCommon::(virtual 5)"),
            "2 ArithmeticSelf");
  EXPECT_EQ(OfPython("BiasAdd.__call__", "mindspore/ops/auto_generate/gen_ops_prim.py"),
            "3 BiasAdd");
  EXPECT_EQ(OfPython("Dense.construct", "mindspore/nn/layer/basic.py"), "3 nn.Dense");
  EXPECT_EQ(OfPython("Adam.construct", "mindspore/nn/optim/adam.py"), "3 optim.Adam");
  EXPECT_EQ(Of("mindspore::kernel::KernelTensor::(virtual 2)"), "");
  EXPECT_EQ(Of("mindspore::kernel::pyboost::PyBoostUtils::Call"), "");
}

TEST_F(ShippedOperators, KernelsOfOnnxRuntimeHaveTheNamesOfTheirClasses) {
  EXPECT_EQ(Of("onnxruntime::Conv<float>::(virtual 2)"), "Conv");
  EXPECT_EQ(Of("onnxruntime::contrib::NchwcConv::(virtual 2)"), "NchwcConv");
  EXPECT_EQ(Of("onnxruntime::contrib::QuickGelu<float>::(virtual 2)"), "QuickGelu");
  EXPECT_EQ(Of("onnxruntime::MatMul<float>::Compute"), "MatMul");
  EXPECT_EQ(Of("onnxruntime::Conv<float>::(virtual 3)"), "");
  EXPECT_EQ(Of("onnxruntime::InferenceSession::(virtual 2)"), "");
  EXPECT_EQ(Of("onnxruntime::LaunchKernelStep::(virtual 2)"), "");
  EXPECT_EQ(Of("onnxruntime::CPUExecutionProvider::(virtual 2)"), "");
}

TEST_F(ShippedOperators, KernelsOfTensorFlowAreOperatorsButDevicesAreNot) {
  EXPECT_EQ(Of("tensorflow::MatMulOp<Eigen::ThreadPoolDevice, float, false>::Compute"), "MatMul");
  EXPECT_EQ(Of("tensorflow::(anonymous namespace)::SoftmaxXentWithLogitsOp<float>::Compute"),
            "SoftmaxXentWithLogits");
  EXPECT_EQ(OfPython("mat_mul", "tensorflow/python/ops/gen_math_ops.py"), "3 tf.mat_mul");
  EXPECT_EQ(OfPython("mat_mul_eager_fallback", "tensorflow/python/ops/gen_math_ops.py"),
            "3 tf.mat_mul");
  EXPECT_EQ(Of("tensorflow::BinaryOp<Eigen::ThreadPoolDevice, tensorflow::functor::sub<float> >"
               "::Compute"),
            "")
      << "the frame in Python says which one";
  EXPECT_EQ(Of("tensorflow::ThreadPoolDevice::Compute"), "");
  EXPECT_EQ(Of("tensorflow::Device::Compute"), "");
}

TEST_F(ShippedOperators, OperatorsOfMegEngine) {
  EXPECT_EQ(Of("mgb::opr::ConvolutionForward::scn_do_execute"), "ConvolutionForward");
  EXPECT_EQ(Of("mgb::opr::Elemwise::do_execute"), "Elemwise");
  EXPECT_EQ(Of("megdnn::naive::ConvolutionForwardImpl::exec"), "2 megdnn.ConvolutionForward");
}

TEST_F(ShippedOperators, LibrariesAreOfTheFourthRank) {
  EXPECT_EQ(Of("cblas_dgemm"), "4 blas.dgemm");
  EXPECT_EQ(Of("scipy_cblas_dgemm64_"), "4 blas.dgemm");
  EXPECT_EQ(Of("mkl_blas_def_sgemm_kernel_0_zen"), "4 blas.sgemm");
  EXPECT_EQ(Of("dgemm_kernel_SKYLAKEX"), "4 blas.dgemm");
  EXPECT_EQ(Of("sgemv_"), "4 blas.sgemv");
  EXPECT_EQ(Of("inner_thread", "/x/numpy.libs/libscipy_openblas64_-32a4b2a6.so"), "4 blas");
  EXPECT_EQ(Of("MlasGemmBatch"), "4 mlas.GemmBatch");
  EXPECT_EQ(Of("mkl_vml_kernel_sExp_E2HAynn"), "4 vml.sExp");
  EXPECT_EQ(Of("dnnl::impl::cpu::x64::brgemm_convolution_fwd_t<"
               "(dnnl::impl::cpu::x64::cpu_isa_t)879, false>::execute_forward_all"),
            "4 dnnl.brgemm_convolution_fwd");
  EXPECT_EQ(Of("dnnl::impl::cpu::x64::jit_uni_eltwise_fwd_t<float>::(virtual 5)"),
            "4 dnnl.jit_uni_eltwise_fwd");
  EXPECT_EQ(Of("DOUBLE_add", "/x/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"),
            "2 numpy.add");
  EXPECT_EQ(Of("DOUBLE_add"), "");
}

TEST_F(ShippedOperators, ThreadsOfPoolsSayOnlyThatTheyWork) {
  for (const char* name : {"gomp_thread_start", "__kmp_launch_worker", "__kmp_invoke_microtask",
                           "c10::ThreadPool::main_loop",
                           "Eigen::ThreadPoolTempl<tsl::thread::EigenEnvironment>::WorkerLoop",
                           "mindspore::Worker::(virtual 3)"})
    EXPECT_EQ(Of(name), "5 (parallel worker)") << name;
  const char* stripped = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0";
  EXPECT_EQ(Of("libgomp.so.1.0.0!fn_1d3a0", stripped), "5 (parallel worker)");
  EXPECT_EQ(Of("omp_get_num_threads", stripped), "");
  EXPECT_EQ(Of("libx.so!fn_1d3a0", "/usr/lib/libx.so"), "");
}

TEST_F(ShippedOperators, ThreadsThatLeadRegionsSayOnlyThat) {
  for (const char* name :
       {"GOMP_parallel", "GOMP_parallel_loop_dynamic", "__kmpc_fork_call", "__kmp_fork_call",
        "Eigen::ThreadPoolDevice::parallelFor",
        "onnxruntime::concurrency::ThreadPool::TryParallelFor",
        "onnxruntime::concurrency::ThreadPoolTempl<onnxruntime::Env>::RunInParallel",
        "tsl::thread::ThreadPool::ParallelFor"})
    EXPECT_EQ(Of(name), "6 (parallel region)") << name;
}

TEST_F(ShippedOperators, OrdinaryProgramsHaveNone) {
  for (const char* name : {"main", "compute", "PyObject_Call", "start_thread",
                           "std::vector<int>::"
                           "push_back",
                           "call", "redispatch", "apply", "Compute", "exec", "memcpy"})
    EXPECT_EQ(Of(name), "") << name;
  for (const char* name : {"main", "step", "backward", "forward", "MPI_Init", "c10::Storage::data"})
    EXPECT_EQ(Phase(name), "") << name;
  EXPECT_EQ(PhaseOfPython("step", "game.py"), "");
}

TEST_F(ShippedOperators, PhasesOfPyTorch) {
  EXPECT_EQ(PhaseOfPython("DataLoader.__iter__", "torch/utils/data/dataloader.py"), "data");
  EXPECT_EQ(PhaseOfPython("_MapDatasetFetcher.fetch", "torch/utils/data/_utils/fetch.py"), "data");
  EXPECT_EQ(PhaseOfPython("Module._call_impl", "torch/nn/modules/module.py"), "forward");
  EXPECT_EQ(PhaseOfPython("Module._wrapped_call_impl", "torch/nn/modules/module.py"), "forward");
  EXPECT_EQ(PhaseOfPython("Module.zero_grad", "torch/nn/modules/module.py"), "");
  EXPECT_EQ(PhaseOfPython("Tensor.backward", "torch/_tensor.py"), "backward");
  EXPECT_EQ(PhaseOfPython("backward", "torch/autograd/__init__.py"), "backward");
  EXPECT_EQ(PhaseOfPython("_engine_run_backward", "torch/autograd/graph.py"), "backward");
  EXPECT_EQ(PhaseOfPython("Adam.step", "torch/optim/adam.py"), "optimizer");
  EXPECT_EQ(PhaseOfPython("Optimizer.zero_grad", "torch/optim/optimizer.py"), "optimizer");
  EXPECT_EQ(
      PhaseOfPython("Optimizer.profile_hook_step.<locals>.wrapper", "torch/optim/optimizer.py"),
      "optimizer");
  EXPECT_EQ(PhaseOfPython("all_reduce", "torch/distributed/distributed_c10d.py"), "communication");
  for (const char* name : {"execute", "evaluate_function", "thread_main"})
    EXPECT_EQ(Phase("torch::autograd::Engine::" + std::string(name)), "backward");
  EXPECT_EQ(Phase("c10d::ProcessGroupGloo::runLoop"), "communication");
}

TEST_F(ShippedOperators, PhasesOfOtherFrameworks) {
  EXPECT_EQ(PhaseOfPython("Layer.__call__", "paddle/nn/layer/layers.py"), "forward");
  EXPECT_EQ(PhaseOfPython("Adam.step", "paddle/optimizer/adam.py"), "optimizer");
  EXPECT_EQ(PhaseOfPython("DataLoader.__iter__", "paddle/io/reader.py"), "data");
  EXPECT_EQ(Phase("egr::RunBackward"), "backward");
  EXPECT_EQ(PhaseOfPython("monkey_patch_tensor.<locals>.backward",
                          "paddle/base/dygraph/tensor_patch_methods.py"),
            "backward");
  EXPECT_EQ(PhaseOfPython("_PyNativeExecutor.grad", "mindspore/graph/api.py"), "backward");
  EXPECT_EQ(PhaseOfPython("_pynative_func_grad_forward", "mindspore/ops/composite/base.py"), "");
  EXPECT_EQ(PhaseOfPython("Cell.__call__", "mindspore/nn/cell.py"), "forward");
  EXPECT_EQ(PhaseOfPython("Momentum.construct", "mindspore/nn/optim/momentum.py"), "optimizer");
  EXPECT_EQ(Phase("mindspore::pynative::PyNativeExecutor::RunGrad"), "backward");
  EXPECT_EQ(Phase("mindspore::dataset::MapOp::WorkerEntry"), "data");
  EXPECT_EQ(Phase("tensorflow::data::ParallelMapIterator::RunnerThread"), "data");
  EXPECT_EQ(PhaseOfPython("GradientTape.gradient", "tensorflow/python/eager/backprop.py"),
            "backward");
  EXPECT_EQ(Phase("onnxruntime::InferenceSession::Run"), "forward");
  EXPECT_EQ(PhaseOfPython("GradManager.backward", "megengine/autodiff/grad_manager.py"),
            "backward");
  EXPECT_EQ(Phase("ncclAllReduce"), "communication");
  EXPECT_EQ(Phase("MPI_Allreduce"), "communication");
  EXPECT_EQ(Phase("PMPI_Wait"), "communication");
}

}  // namespace
}  // namespace profd::rules
