// StepPlace: a place in a mapped file at which a step, or a part of one, begins or ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bpf/shared/steps.h"
#include "daemon/base/result.h"
#include "daemon/session/step_spec.h"

namespace profd::source {

// A file as a process has mapped it executable.
struct ExecutableFile {
  std::uint32_t pid = 0;
  std::uint64_t begin = 0;  // of one such mapping
  std::uint64_t end = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::string path{};
};

struct StepPlace {
  std::uint64_t offset = 0;     // in the file
  std::uint64_t semaphore = 0;  // the same, of a static probe; 0: none
  profd_step_naming naming = PROFD_STEP_NO_NAME;
  bool end = false;
  bool object = false;  // the first argument is the object that begins or ends
};

// Reads the file in a reader process. kNotFound: it has no such place. Called by one thread.
using FindStepPlaces = std::function<Result<std::vector<StepPlace>>(const ExecutableFile& file,
                                                                    const session::StepSpec& spec)>;

}  // namespace profd::source
