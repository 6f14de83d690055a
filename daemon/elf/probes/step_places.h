// StepPlaces: where steps begin in a mapped file: what PyTorch and PaddlePaddle call for that,
// functions, static probes.
#pragma once

#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/probes/probe_remote.h"
#include "daemon/source/steps/step_place.h"

namespace profd::elf {

// Used by one thread. Names of PyTorch's functions are those of its releases since 1.12; its ends
// of steps are in .symtab alone, and left out where the file has none. PaddlePaddle's are those of
// version 3.
class StepPlaces {
 public:
  // `readers` answer by ProbeParsers, and outlive this.
  explicit StepPlaces(reader::Readers& readers) : client_(readers) {}

  // As source::FindStepPlaces.
  [[nodiscard]] Result<std::vector<source::StepPlace>> Find(const source::ExecutableFile& file,
                                                            const session::StepSpec& spec);

 private:
  ProbeClient client_;
};

}  // namespace profd::elf
