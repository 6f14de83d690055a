// SyntheticStatus: the status of a pipeline behind a synthetic kernel.
#pragma once

#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/status.h"
#include "tests/rpc/synthetic_kernel.h"

namespace profd::test {

// The counters of a synthetic kernel and of the stages behind it; there is nothing else that
// counts.
class SyntheticStatus : public pipeline::StatusSource {
 public:
  SyntheticStatus(const SyntheticKernel& kernel, const pipeline::LivePipeline& pipeline)
      : kernel_(kernel), pipeline_(pipeline) {}
  [[nodiscard]] pipeline::BackendStatus Status() const override {
    auto status = pipeline::DescribeCounters(kernel_.Status(), pipeline_.counters(), {});
    status.memory.emplace();
    return status;
  }

 private:
  const SyntheticKernel& kernel_;
  const pipeline::LivePipeline& pipeline_;
};

}  // namespace profd::test
