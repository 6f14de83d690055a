// TimedSymbolizer: what finding names costs.
#pragma once

#include <vector>

#include "daemon/base/counter.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::symbolize {

// Passes every question on, and counts the CPU time until its answer. Stands behind the caches, so
// that it is asked only for what is not known yet. Threads as those of the other one.
class TimedSymbolizer : public Symbolizer {
 public:
  // `other` must outlive this.
  explicit TimedSymbolizer(Symbolizer& other) : other_(other) {}

  void Resolve(const process::AddressFrame& address, Detail detail,
               std::vector<Frame>& frames) override;
  void Prepare() override;
  [[nodiscard]] std::uint64_t improvements() const override { return other_.improvements(); }

  // CPU time of the asking thread, since the beginning; from any thread.
  [[nodiscard]] std::uint64_t spent_ns() const { return spent_ns_.value(); }

 private:
  Symbolizer& other_;
  Counter spent_ns_;
};

}  // namespace profd::symbolize
