// TruthProgram: truth.py, run by one interpreter, waiting; and what it said of itself.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/python/code/process_memory.h"
#include "daemon/python/find/attachment.h"
#include "tests/support/subprocess.h"

namespace profd::test {

class TruthProgram {
 public:
  [[nodiscard]] static Result<TruthProgram> Start(const std::string& interpreter);

  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(process_.pid()); }
  [[nodiscard]] const nlohmann::json& truth() const { return truth_; }
  [[nodiscard]] python::ProcessMemory memory() const {
    return python::ProcessMemory(memory_.get());
  }
  // The one interpreter among the files that it maps.
  [[nodiscard]] Result<python::Attachment> Attach() const;

 private:
  TruthProgram(testing::Subprocess process, UniqueFd memory, nlohmann::json truth)
      : process_(std::move(process)), memory_(std::move(memory)), truth_(std::move(truth)) {}
  testing::Subprocess process_;
  UniqueFd memory_;
  nlohmann::json truth_;
};

}  // namespace profd::test
