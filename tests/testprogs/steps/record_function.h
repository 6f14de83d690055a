// The functions that PyTorch calls where a step, or a part of one, begins and ends, with the same
// symbols and the same arguments; a plain function; a static probe. They do nothing.
#pragma once

#include <optional>
#include <string>

namespace c10 {
namespace detail {
template <typename T>
struct intrusive_target_default_null_type {};
}  // namespace detail

// Not trivial, so that it is returned through a hidden argument, as PyTorch's own.
template <typename T, typename Null = detail::intrusive_target_default_null_type<T>>
class intrusive_ptr {
 public:
  intrusive_ptr() = default;
  intrusive_ptr(const intrusive_ptr& other) : count_(other.count_ + 1) {}
  intrusive_ptr& operator=(const intrusive_ptr&) = default;
  ~intrusive_ptr() { --count_; }

 private:
  int count_ = 1;
};
}  // namespace c10

namespace torch::autograd::profiler {
class PythonRecordFunction {};
c10::intrusive_ptr<PythonRecordFunction> record_function_enter_new(
    const std::string& name, const std::optional<std::string>& arguments = std::nullopt);
}  // namespace torch::autograd::profiler

namespace profd::steps {
using Record = c10::intrusive_ptr<torch::autograd::profiler::PythonRecordFunction>;
// Calls what PyTorch calls at the end, which is a local function.
void Leave(const Record& record);
}  // namespace profd::steps

extern "C" {
void work_step();              // for uprobe:libtorch_cpu.so:work_step
void pass_static_probe();      // for usdt:libtorch_cpu.so:trainer:step, twice
unsigned short probe_users();  // of the semaphore of usdt:libtorch_cpu.so:trainer:counted
void pass_counted_probe();
}
