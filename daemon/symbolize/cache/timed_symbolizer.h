// TimedSymbolizer: what finding names costs.
#pragma once

#include <vector>

#include "daemon/base/counter.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::symbolize {

// Passes every call on and counts the CPU time that it takes. It stands behind the caches, so only
// addresses that are not known yet reach it. Has the same threads as the other symbolizer.
class TimedSymbolizer : public Symbolizer {
 public:
  // `other` must outlive this.
  explicit TimedSymbolizer(Symbolizer& other) : other_(other) {}

  void Resolve(const process::AddressFrame& address, Detail detail,
               std::vector<Frame>& frames) override;
  void Prepare() override;
  [[nodiscard]] std::uint64_t improvements() const override { return other_.improvements(); }

  // CPU time of the calling thread, since the beginning; any thread may read it.
  [[nodiscard]] std::uint64_t spent_ns() const { return spent_ns_.value(); }

 private:
  Symbolizer& other_;
  Counter spent_ns_;
};

}  // namespace profd::symbolize
