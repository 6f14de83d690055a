// WhomView: on whom a thread waits in one function, by a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"
#include "tests/accuracy/statistics.h"

namespace profd::accuracy {

// A sample of a wait, and its path from the waiter outwards.
struct WhomSample {
  int index = 0;  // in the profile
  std::vector<const v1::PathNode*> steps;
};

class WhomView {
 public:
  // Of the blocked samples of a thread that have `function` on their stack ("": all).
  WhomView(const v1::Profile& profile, std::uint32_t tid, const std::string& function);
  // Of those that wait for the GIL.
  [[nodiscard]] static WhomView OfGil(const v1::Profile& profile, std::uint32_t tid);

  // Leaves out what began before.
  void DropBefore(std::uint64_t time_ns);

  [[nodiscard]] const std::vector<WhomSample>& samples() const { return samples_; }
  // What a path says in words: the names of the threads on it, then "runs" (with a CPU or while it
  // waits for one), "timer", "disk", "net", "device", or the reason why it is not known: "?lost".
  [[nodiscard]] std::string Text(const WhomSample& sample) const;
  // The name of the thread of a step; "": none.
  [[nodiscard]] std::string Name(const v1::PathNode& step) const;
  // Whether the stack of a step has a function.
  [[nodiscard]] bool Has(const v1::PathNode& step, const std::string& function) const;

  struct Part {
    double ns = 0;  // of the scaled weights
    Weights weights;
  };
  using Key = std::function<std::string(const WhomSample&)>;
  // The samples in parts, by any key.
  [[nodiscard]] std::map<std::string, Part> By(const Key& key) const;
  [[nodiscard]] std::map<std::string, Part> ByText() const;
  [[nodiscard]] Part Whole() const;

 private:
  void AddTo(Part& part, int sample) const;

  const v1::Profile& profile_;
  std::vector<WhomSample> samples_;
};

}  // namespace profd::accuracy
