// StepAttacher: attaches the program that sees steps, in a process of its own, and holds it
// attached.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/reader/message.h"
#include "daemon/reader/zygote.h"
#include "daemon/source/steps/step_place.h"

namespace profd::source {

// What a request says. Its one descriptor is the program.
struct AttachRequest {
  ExecutableFile file{};  // its path is not sent
  std::uint64_t offset = 0;
  std::uint64_t semaphore = 0;
  std::uint64_t cookie = 0;      // profd_step_cookie
  std::uint32_t event_type = 0;  // of uprobes, as the kernel numbers its perf events
};
[[nodiscard]] std::string PackAttach(const AttachRequest& request);

// Job: attaches the program to a place in the file of one process. Thread: that of an expendable
// process, which is its own opener. Whatever it has attached ends with it: it has the only
// descriptors, so all of a session is withdrawn when its process is killed, or profd dies. See
// README.md for why no thread of profd may do this.
class StepAttacher : public reader::Parser {
 public:
  // The answer is empty.
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;

 private:
  std::vector<UniqueFd> attached_;
};

}  // namespace profd::source
